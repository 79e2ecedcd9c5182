/** Entities that the server does not list: requested one by one. */

import { Missing, Refused } from '../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import { mapConcurrent } from '../../reading/map-concurrent.ts';
import { idBy } from '../../reading/offset-list.ts';
import type { Ads } from './ads.ts';
import { failures, isOfOne, named } from './failures.ts';
import { entityOf } from './lists.ts';

export interface Wanted {
  /** Each once. */
  readonly ids: readonly string[];
  /** The route as the contract writes it. */
  readonly endpoint: string;
  readonly path: (id: string) => string;
  /** Whether an entity that is not there (404, 410) was there before. Absent: each was. */
  readonly known?: (id: string) => boolean;
}

/**
 * One page an entity. One that is not there (404, 410) keeps its row, with a note; one that never was there fails. What can be
 * read is read before a failure is thrown. Where nothing can be read, the first 404 is thrown: it may be the endpoint. The
 * receipt expects as many records as there are ids, less those that the source says it does not have (guarantee G13).
 */
export const byId = (ads: Ads, wanted: Wanted, signal: AbortSignal): Reading => ({
  pages: pagesOf(ads, wanted, signal),
  id: idBy('id'),
  bytes: (_, { raw }) => raw,
});

async function* pagesOf(
  { http, concurrency, note }: Ads,
  { ids, endpoint, path, known = () => true }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<Page, WalkEnd, void> {
  const absent = new Map<string, Missing>();
  const failed = failures(endpoint, ids.length);
  const pageOf = async (id: string, until: AbortSignal): Promise<Page | undefined> => {
    try {
      const { raw, date, receivedAt, body } = await http.send(
        { method: 'GET', path: path(id), endpoint },
        until,
      );
      const records = [entityOf(endpoint, id, body)];
      failed.answered();
      return { records, raw, date, receivedAt, total: ids.length, offset: undefined };
    } catch (cause) {
      const isAbsent = cause instanceof Missing && (cause.status === 404 || cause.status === 410);
      if (isAbsent && known(id)) {
        absent.set(id, cause);
        failed.answered();
      } else if (isAbsent) {
        const message = `${cause.message}; it was never there: is its id right?`;
        failed.keep(id, new Refused(message, cause.status, [], { cause }));
      } else if (isOfOne(cause)) failed.keep(id, cause);
      else throw cause;
      return undefined;
    }
  };
  let fetched = 0;
  for await (const page of mapConcurrent(ids, concurrency, pageOf, signal))
    if (page !== undefined) {
      fetched++;
      yield page;
    }
  const failure = failed.asOne();
  const [first] = absent.values();
  if (failure === undefined && first !== undefined && fetched === 0) throw first;
  if (first !== undefined)
    note(`${endpoint}: ${absent.size} of ${ids.length} are not there and keep their rows: ${named(absent)}`);
  if (failure !== undefined) throw failure;
  const expected = ids.length - absent.size;
  const passes = ids.length === 0 ? 0 : 1;
  return { expected, fetched, passes, matched: true, ...(absent.size > 0 && { lacks: true }) };
}
