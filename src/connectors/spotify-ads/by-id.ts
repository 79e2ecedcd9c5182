/** A list that the server does not have, made of its entities, asked for one by one. */

import { Forbidden, Missing, Refused } from '../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import type { Answer, Json } from '../../core/request.ts';
import { several } from '../../reading/map-concurrent.ts';
import { idBy } from '../../reading/offset-list.ts';
import type { Ads } from './ads.ts';
import { type Failure, failures, isOfOne, named } from './failures.ts';
import { entityOf } from './lists.ts';

export interface Wanted {
  /** Each once. */
  readonly ids: readonly string[];
  /** The route as the contract writes it. */
  readonly endpoint: string;
  readonly path: (id: string) => string;
  /** For entities that are closed (403) each for itself: what stands for one, undefined where nothing does. Absent: a 403 is a failure. */
  readonly closed?: (id: string) => Json | undefined;
  /** For entities that somebody has named: whether one that is not there (404, 410) was there before. Absent: each was. */
  readonly known?: (id: string) => boolean;
  /** Why there may be more ids than these: thrown when these have been read. */
  readonly owed?: Failure;
}

/**
 * One page an entity, several asked for at once. One that is not there (404, 410), or closed each for itself, is no failure: its row stays as
 * it is, and a note at the end tells of it; one that never was there fails. Where none can be read, the first refusal is thrown. One that
 * fails is thrown at the end, too: what can be read is read, and the run says that this was not all. The receipt expects as many as there are
 * ids, less the refused: of those the source itself says that it has nothing for us (guarantee G13).
 */
export const byId = ({ http, concurrency, note }: Ads, wanted: Wanted, signal: AbortSignal): Reading => {
  const { ids, endpoint, path, closed, known = () => true, owed } = wanted;
  const ask = async (id: string, until: AbortSignal): Promise<Asked> => {
    try {
      const answer = await http.send({ method: 'GET', path: path(id), endpoint }, until);
      return { id, is: 'read', answer, entity: entityOf(endpoint, id, answer.body) };
    } catch (cause) {
      const absent = cause instanceof Missing && (cause.status === 404 || cause.status === 410);
      if (absent && !known(id)) {
        const message = `${cause.message}; it was never there: is its id right?`;
        return { id, is: 'failed', failure: new Refused(message, cause.status, [], { cause }) };
      }
      if (absent || (cause instanceof Forbidden && closed !== undefined))
        return { id, is: 'refused', refusal: cause };
      if (!isOfOne(cause)) throw cause;
      return { id, is: 'failed', failure: cause };
    }
  };
  const pages = async function* (): AsyncGenerator<Page, WalkEnd, void> {
    let fetched = 0;
    let passed = 0;
    const refusals = new Map<string, Missing | Forbidden>();
    const failed = failures(endpoint, ids.length);
    for await (const one of several(ids, concurrency, ask, signal)) {
      if (one.is === 'failed') {
        failed.keep(one.id, one.failure);
        continue;
      }
      failed.answered();
      if (one.is === 'read') {
        fetched++;
        const { raw, date, receivedAt } = one.answer;
        yield page(one.entity, { raw, date, receivedAt }, ids.length);
        continue;
      }
      const { id, refusal } = one;
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
    const [first] = refusals.values();
    const failure = failed.asOne() ?? owed;
    if (failure === undefined && first !== undefined && fetched === 0) throw first;
    if (first !== undefined)
      note(
        `${endpoint}: ${refusals.size} of ${ids.length} cannot be read and stay as they are: ${named(refusals)}`,
      );
    if (failure !== undefined) throw failure;
    const lacks = refusals.size > 0 && ({ lacks: true } as const);
    const passes = ids.length === 0 ? 0 : 1;
    return { expected: ids.length - passed, fetched, passes, moved: 0, matched: true, ...lacks };
  };
  return { pages: pages(), id: idBy('id'), bytes: (_, { raw }) => raw };
};

type Asked = { readonly id: string } & (
  | { readonly is: 'read'; readonly answer: Answer; readonly entity: Json }
  | { readonly is: 'refused'; readonly refusal: Missing | Forbidden }
  | { readonly is: 'failed'; readonly failure: Failure }
);

const page = (record: Json, arrived: Pick<Page, 'raw' | 'date' | 'receivedAt'>, total: number): Page => ({
  records: [record],
  ...arrived,
  total,
  offset: undefined,
  last: false,
});
