/** One opened engine, as its streams see it, and what they share. */

import { Forbidden, Refused, TidemarkError, UnexpectedContent } from '../../core/errors.ts';
import type { Http, Json, Page, SliceReading, WalkEnd } from '../../core/stream.ts';
import { mapConcurrent } from '../../reading/map-concurrent.ts';
import { ofOneRequest } from './client.ts';
import type { DaguDialect } from './dialects/dialect.ts';

export interface Workflow {
  readonly http: Http;
  /** DAGs to read, by name or file name; empty: all that the engine has. */
  readonly dags: readonly string[];
  /** Names of DAGs whose runs are not read. */
  readonly leftOut?: ReadonlySet<string>;
  /** Reports a warning of the run. */
  readonly note: (message: string) => void;
  /** The dialect, and the engine's clock where it sends one; the engine is asked once. */
  readonly found: (signal: AbortSignal) => Promise<{ dialect: DaguDialect; clock: Date | undefined }>;
}

/** Records are made of several answers, so a reject keeps the record as it was made: a replay maps the same. */
export const readingOf = (pages: SliceReading['pages'], id: SliceReading['id']): SliceReading => ({
  pages,
  id,
  bytes: (record) => Buffer.from(JSON.stringify(record)),
});

/** A page for each record. */
export async function* pagesOf(records: AsyncIterable<Json>): AsyncGenerator<Page, WalkEnd, void> {
  const raw = Buffer.alloc(0);
  let count = 0;
  for await (const record of records) {
    yield { records: [record], raw };
    count += 1;
  }
  return { expected: count, read: count, matched: true, passes: 1 };
}

/**
 * The results of `work`, four at once. An item whose work fails keeps no other out: the first failure is thrown at the
 * end, with the name of the item.
 */
export async function* each<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  nameOf: (item: T) => string,
  work: (item: T, signal: AbortSignal) => Promise<R>,
  signal: AbortSignal,
): AsyncGenerator<R, void, void> {
  const settled = (item: T, until: AbortSignal): Promise<R | TidemarkError> =>
    work(item, until).catch((error: unknown) => {
      const cause = ofOneRequest(error);
      const message = `${nameOf(item)}: ${cause.message}`;
      const next = `or add dags:${nameOf(item).split('/')[0]} to WORKFLOW_EXCLUDE`;
      // A DAG that is closed stays closed: no retry, and no second reading of everything.
      if (cause instanceof Forbidden) return new Refused(`${message}; ${next}`, 403, []);
      return new UnexpectedContent(message, { cause });
    });
  let failure: TidemarkError | undefined;
  for await (const result of mapConcurrent(items, 4, settled, signal))
    if (result instanceof TidemarkError) failure ??= result;
    else yield result;
  if (failure !== undefined) throw failure;
}
