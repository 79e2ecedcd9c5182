/** Read-only questions about the past: everything here only selects. */
import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely';

/** Whatever can run a query: the warehouse's Kysely, or a transaction of it. */
export type Db = QueryExecutorProvider;

/** The rows of a query. */
export const rowsOf = async <R>(query: RawBuilder<R>, db: Db): Promise<readonly R[]> =>
  (await query.execute(db)).rows;

/** The counters of a run or a stream, as numbers. */
export const countColumns = (alias: string): RawBuilder<unknown> =>
  sql.join(
    counters.map((name) => sql`${sql.ref(`${alias}.${name}`)}::float8 as ${sql.ref(name)}`),
    sql`, `,
  );

/** What of records is counted, as the columns of `ops.runs` and `ops.run_streams` are called. */
export const counters = [
  'received',
  'inserted',
  'updated',
  'unchanged',
  'deduplicated',
  'superseded',
  'rejected',
  'deleted',
] as const;

/** What `countColumns` selects. */
export type Counters = Readonly<Record<(typeof counters)[number], number>>;

/** The counters alone, out of a wider row. */
export const pickCounters = (row: Counters): Counters => ({
  received: row.received,
  inserted: row.inserted,
  updated: row.updated,
  unchanged: row.unchanged,
  deduplicated: row.deduplicated,
  superseded: row.superseded,
  rejected: row.rejected,
  deleted: row.deleted,
});
