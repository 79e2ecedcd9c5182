/** Entities that the server does not list: requested one by one. */

import { Missing, Refused } from '../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import type { Answer, Json } from '../../core/request.ts';
import { mapConcurrent } from '../../reading/map-concurrent.ts';
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
  /** Whether an entity that is not there (404, 410) was there before. Absent: each was. */
  readonly known?: (id: string) => boolean;
  /** Why there may be more ids than these: thrown after these have been read. */
  readonly incomplete?: Failure | undefined;
}

type Asked = { readonly id: string } & (
  | { readonly answer: Answer; readonly entity: Json; readonly failure?: undefined }
  | { readonly absent: Missing; readonly answer?: undefined; readonly failure?: undefined }
  | { readonly failure: Failure }
);

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

async function* pagesOf(ads: Ads, wanted: Wanted, signal: AbortSignal): AsyncGenerator<Page, WalkEnd, void> {
  const { ids, endpoint, incomplete } = wanted;
  let fetched = 0;
  const absent = new Map<string, Missing>();
  const failed = failures(endpoint, ids.length);
  const ask = (id: string, until: AbortSignal) => request(ads, wanted, id, until);
  for await (const one of mapConcurrent(ids, ads.concurrency, ask, signal)) {
    if (one.failure !== undefined) {
      failed.keep(one.id, one.failure);
      continue;
    }
    failed.answered();
    if (one.answer === undefined) {
      absent.set(one.id, one.absent);
      continue;
    }
    fetched++;
    const { raw, date, receivedAt } = one.answer;
    yield { records: [one.entity], raw, date, receivedAt, total: ids.length, offset: undefined, last: false };
  }
  const failure = failed.asOne() ?? incomplete;
  const [first] = absent.values();
  if (failure === undefined && first !== undefined && fetched === 0) throw first;
  if (first !== undefined)
    ads.note(
      `${endpoint}: ${absent.size} of ${ids.length} are not there and keep their rows: ${named(absent)}`,
    );
  if (failure !== undefined) throw failure;
  return {
    expected: ids.length - absent.size,
    fetched,
    passes: ids.length === 0 ? 0 : 1,
    moved: 0,
    matched: true,
    ...(absent.size > 0 && { lacks: true }),
  };
}

const request = async (
  { http }: Ads,
  { endpoint, path, known = () => true }: Wanted,
  id: string,
  signal: AbortSignal,
): Promise<Asked> => {
  try {
    const answer = await http.send({ method: 'GET', path: path(id), endpoint }, signal);
    return { id, answer, entity: entityOf(endpoint, id, answer.body) };
  } catch (cause) {
    if (cause instanceof Missing && (cause.status === 404 || cause.status === 410)) {
      if (known(id)) return { id, absent: cause };
      const message = `${cause.message}; it was never there: is its id right?`;
      return { id, failure: new Refused(message, cause.status, [], { cause }) };
    }
    if (!isOfOne(cause)) throw cause;
    return { id, failure: cause };
  }
};
