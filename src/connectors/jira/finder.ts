/** Finds issues by JQL, for `tidemark compare`. */

import { Misconfigured, Refused, Transient } from '../../core/errors.ts';
import type { Finder, FoundRecord, Http, Json } from '../../core/stream.ts';
import { instantToDate } from '../../core/time.ts';
import { readWhole } from '../../reading/pages.ts';
import { oneAt } from '../../reading/requests.ts';
import { askAccount } from './account.ts';
import { filterOf } from './jql.ts';
import { textAt } from './lists.ts';
import { instantOf, reasonOf, type Search } from './search.ts';

const look = (issue: Json): FoundRecord => {
  const changed = instantOf(issue, 'updated');
  const changedAt = changed === undefined ? undefined : instantToDate(changed);
  return { name: textAt(issue, 'key') ?? '', changedAt };
};

/** An order in which people look at issues. Text after it in quotes means that it is text itself. */
const order = /\border\s+by\b[^"']*$/i;

export const finderOf = (http: Http, search: Search): Finder => ({
  stream: 'issues',
  view: { table: 'bi.issues', id: 'issue_id', name: 'issue_key' },
  async find(query, isOurs, signal) {
    const jql = filterOf(query.replace(order, ''), 'the JQL');
    if (jql === undefined) throw new Misconfigured('the JQL is empty · write for example project = WEB');
    const walk = await search.matching(jql, isOurs, signal);
    const { records, end } = await readWhole(http, walk, signal).catch((cause: unknown) => {
      if (!(cause instanceof Refused)) throw cause;
      throw new Misconfigured(`the tracker refuses the JQL (${query}): ${reasonOf(cause)}`, { cause });
    });
    if (!end.matched)
      throw new Transient('the issues of the JQL kept changing while they were read · try again');
    return new Map(records.map((issue) => [walk.id(issue), look(issue)]));
  },
  async look(id, signal) {
    const how = { query: () => ({ fields: 'updated' }), confirm: (at: AbortSignal) => askAccount(http, at) };
    const answer = await oneAt(http, '/rest/api/3/issue/{id}', how)(id, signal);
    return answer && look(answer.body);
  },
});
