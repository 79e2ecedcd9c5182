/** Lists that the dashboard shows as they come: each column of a view is a column of the table. */
import { sql } from 'kysely';
import { type Db, every, rowsOf } from './db.ts';

export type ListRow = Readonly<Record<string, unknown>>;

/** Keeps the settings of pipelines that are others than when they were last kept. `known`: as `ops.note_settings` takes it. */
export const noteSettings = (db: Db, known: object) =>
  sql`select ops.note_settings(${JSON.stringify(known)}::jsonb)`.execute(db);

/** What columns hold; undefined: anything. */
type ListFilter = Readonly<Record<string, string | undefined>>;

/** Rows of one page of a list. */
export const perPage = 100;

/** Rows of a view of `ops` in its order; one more than a page has, where there are more. */
export function listed(db: Db, view: string, filter: ListFilter = {}, page = 1): Promise<readonly ListRow[]> {
  const conditions = Object.entries(filter).map(
    ([name, value]) => value !== undefined && sql`${sql.id(name)} = ${value}`,
  );
  const part = sql`limit ${perPage + 1} offset ${(page - 1) * perPage}`;
  return rowsOf(sql<ListRow>`select * from ${sql.id('ops', view)} where ${every(...conditions)} ${part}`, db);
}
