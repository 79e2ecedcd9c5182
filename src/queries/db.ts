/** Read-only questions about the past: everything in this room only selects. Rows come in the shape in which they are handed out. */
import { CamelCasePlugin, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely';
import { type Counts, noCounts } from '../core/run.ts';

/** Whatever can run a query: the warehouse's Kysely, or a transaction of it. */
export type Db = QueryExecutorProvider;

const camelCase = new CamelCasePlugin({ maintainNestedObjectKeys: true });

/** Runs the query that follows it, written in place: `` query(db)<Row>`select …` ``. Gives its rows; a column `run_id` is the property `runId`. */
export const query =
  (db: Db) =>
  <R>(text: TemplateStringsArray, ...values: readonly unknown[]): Promise<readonly R[]> =>
    rowsOf(sql<R>(text, ...values).withPlugin(camelCase), db);

/** The rows of a query. */
export const rowsOf = async <R>(query: RawBuilder<R>, db: Db): Promise<readonly R[]> =>
  (await query.execute(db)).rows;

export type Counters = Counts & { readonly deleted: number };

/** What of records is counted, as the columns of `ops.runs` and `ops.run_streams` are called. */
export const counters = [...Object.keys(noCounts), 'deleted'] as (keyof Counters)[];

/** The conditions that are not false, all of them together. */
export const every = (...conditions: readonly (RawBuilder<unknown> | false)[]): RawBuilder<unknown> =>
  sql.join([sql`true`, ...conditions.filter((condition) => condition !== false)], sql` and `);

/** What went wrong: the class of the failure, and one line. */
export type FailureText = { readonly code: string; readonly message: string } | null;

/** The counters of a row of `ops.runs` or `ops.run_streams` as the object `counts`. */
export const countsOf = (alias: string): RawBuilder<unknown> => {
  const pairs = counters.map((name) => sql`${sql.lit(name)}, ${sql.ref(`${alias}.${name}`)}`);
  return sql`jsonb_build_object(${sql.join(pairs)}) as counts`;
};

/** The receipt of a row of `ops.run_streams` as the object `receipt`. */
export const receiptOf = (alias: string): RawBuilder<unknown> => {
  const row = sql.ref(alias);
  return sql`jsonb_build_object('expected', ${row}.expected, 'read', ${row}.read,
    'stored', ${row}.stored) as receipt`;
};

/** The columns `error_code` and `error_message` of the only row that has them as the object `error`. */
export const errorOf = sql`case when coalesce(error_code, error_message) is not null then
  jsonb_build_object('code', coalesce(error_code, 'internal'), 'message', coalesce(error_message, '')) end as error`;
