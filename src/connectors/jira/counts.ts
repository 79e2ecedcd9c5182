/** How many issues a query finds. */

import { Forbidden, Missing, Refused } from '../../core/errors.ts';
import { once } from '../../core/memoize-async.ts';
import type { Http, Request } from '../../core/request.ts';
import type { Tongue } from './dialect.ts';
import { at, textAt } from './list-pages.ts';
import { ask, idsPage, totalOf } from './search-requests.ts';

/** Totals by query, each asked for once: the contract says that computing one can be costly. */
export const countsBy = (http: Http) => {
  const asked = new Map<string, (signal: AbortSignal) => Promise<number | undefined>>();
  let approximates = true;
  const approximately = async (jql: string, signal: AbortSignal): Promise<number | undefined> => {
    if (!approximates) return undefined;
    try {
      const { body } = await http.send(approximateCount(jql), signal);
      const count = at(body, 'count');
      return typeof count === 'number' ? count : undefined;
    } catch (cause) {
      if (!(cause instanceof Missing || cause instanceof Forbidden || cause instanceof Refused)) throw cause;
      approximates = false;
      return undefined;
    }
  };
  const byIds = async (jql: string, signal: AbortSignal): Promise<number> => {
    const { body, issues } = await ask(http, { jql, maxResults: idsPage.token, fields: ['id'] }, signal);
    const last = at(body, 'isLast') === true || !textAt(body, 'nextPageToken');
    return last ? issues.length : moreThanAPage;
  };
  return (tongue: Tongue, jql: string, bounds: string, signal: AbortSignal): Promise<number | undefined> => {
    const known = asked.get(jql);
    if (known !== undefined) return known(signal);
    const fresh = once(async (signal) =>
      tongue === 'offset'
        ? totalOf((await ask(http, { jql, maxResults: 1, fields: ['id'] }, signal)).body)
        : ((await approximately(bounds, signal)) ?? (await byIds(jql, signal))),
    );
    asked.set(jql, fresh);
    return fresh(signal);
  };
};

/** What is said of a window whose ids do not fit a page of the vendor's: enough to have it halved. */
const moreThanAPage = idsPage.token + 1;

const approximateCount = (jql: string): Request => ({
  method: 'POST',
  path: '/rest/api/3/search/approximate-count',
  endpoint: '/rest/api/3/search/approximate-count',
  body: { jql },
});
