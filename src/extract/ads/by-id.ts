/** A list that the server does not have, made of its entities, asked for one by one. */

import { Forbidden, Missing } from '../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import type { Answer, Json } from '../../core/request.ts';
import { idBy } from '../lists.ts';
import { several } from '../several.ts';
import type { Ads } from './ads.ts';
import { entityOf } from './lists.ts';

export interface Wanted {
  /** Each once. */
  readonly ids: readonly string[];
  /** The route as the contract writes it. */
  readonly endpoint: string;
  readonly path: (id: string) => string;
  /**
   * For entities that are closed (403) each for itself: what stands for one, undefined where nothing does. Absent: a 403 ends the reading,
   * because all entities have one owner.
   */
  readonly closed?: (id: string) => Json | undefined;
}

/**
 * One page an entity, several asked for at once. One that is not there (404, 410), or closed each for itself, is no failure: its row stays as
 * it is, and a note at the end tells of it. Where none can be read, the first refusal is thrown. The
 * receipt expects as many as there are ids, less those: of them the source itself says that it has nothing for us (guarantee G13).
 */
export const byId = ({ http, concurrency, note }: Ads, wanted: Wanted, signal: AbortSignal): Reading => {
  const { ids, endpoint, path, closed } = wanted;
  const ask = async (id: string, until: AbortSignal): Promise<Asked> => {
    try {
      return { id, answer: await http.send({ method: 'GET', path: path(id), endpoint }, until) };
    } catch (cause) {
      const absent = cause instanceof Missing && (cause.status === 404 || cause.status === 410);
      if (!absent && !(cause instanceof Forbidden && closed !== undefined)) throw cause;
      return { id, refusal: cause };
    }
  };
  const pages = async function* (): AsyncGenerator<Page, WalkEnd, void> {
    let fetched = 0;
    let passed = 0;
    const refusals = new Map<string, Missing | Forbidden>();
    for await (const { id, answer, refusal } of several(ids, concurrency, ask, signal)) {
      if (answer !== undefined) {
        fetched++;
        const { raw, date, receivedAt, body } = answer;
        yield page(entityOf(endpoint, id, body), { raw, date, receivedAt }, ids.length);
        continue;
      }
      refusals.set(id, refusal);
      const stand = refusal instanceof Forbidden ? closed?.(id) : undefined;
      if (stand === undefined) {
        passed++;
        continue;
      }
      fetched++;
      const raw = Buffer.from(JSON.stringify(stand));
      yield page(stand, { raw, date: undefined, receivedAt: performance.now() }, ids.length);
    }
    const [first] = refusals;
    if (first !== undefined && fetched === 0) throw first[1];
    if (first !== undefined) note(passedBy(endpoint, refusals, ids.length));
    const lacks = refusals.size > 0 && ({ lacks: true } as const);
    const passes = ids.length === 0 ? 0 : 1;
    return { expected: ids.length - passed, fetched, passes, moved: 0, matched: true, ...lacks };
  };
  return { pages: pages(), id: idBy('id'), bytes: (_, { raw }) => raw };
};

type Asked =
  | { readonly id: string; readonly answer: Answer; readonly refusal?: undefined }
  | { readonly id: string; readonly answer?: undefined; readonly refusal: Missing | Forbidden };

const page = (record: Json, arrived: Pick<Page, 'raw' | 'date' | 'receivedAt'>, total: number): Page => ({
  records: [record],
  ...arrived,
  total,
  offset: undefined,
  last: false,
});

const passedBy = (endpoint: string, refusals: ReadonlyMap<string, Missing | Forbidden>, of: number): string => {
  const [first] = refusals.values();
  const named = [...refusals.keys()].slice(0, 5).join(', ');
  const more = refusals.size > 5 ? ` and ${refusals.size - 5} more` : '';
  return `${endpoint}: ${refusals.size} of ${of} cannot be read and stay as they are: ${named}${more} (${first?.message ?? ''})`;
};
