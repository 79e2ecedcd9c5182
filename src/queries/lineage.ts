/** Where one row comes from: the run and slice that wrote it, its children, its rejects, and where it is read. */
import { type RawBuilder, sql } from 'kysely';
import { parseJson } from '../core/json.ts';
import { type Db, query } from './db.ts';
import { type ListedReject, rejects } from './reject-list.ts';
import { type BadSlice, type RunLine, run } from './run-history.ts';
import { type ColumnLine, columns, type TableName } from './stream-history.ts';

export interface Lineage {
  readonly table: string;
  /** The row as it is, by column. */
  readonly row: Readonly<Record<string, unknown>>;
  /** Set when the given key is a former one: the row's own key is another. */
  readonly foundByFormerKey: string | null;
  readonly formerKeys: readonly string[];
  readonly deletedAt: string | null;
  readonly syncedAt: string | null;
  /** The run that wrote this content; null if it was deleted from the history. */
  readonly run: RunLine | null;
  /** The part of the source that run read it in; null for a row that other rows made, and once the slice was forgotten. */
  readonly slice: LineageSlice | null;
  readonly source: LineageSource | null;
  readonly children: readonly { readonly table: string; readonly rows: number }[];
  readonly rejects: readonly ListedReject[];
}

interface LineageSlice extends Omit<BadSlice, 'status' | 'error'> {
  readonly walk: string;
  /** The field the window is on; null where the stream is listed whole. */
  readonly field: string | null;
  readonly finishedAt: Date | null;
}

type LineageSource = Readonly<Record<'name' | 'stream' | 'endpoint' | 'baseUrl', string>>;

type LineageRow = Lineage['row'];

/** The rows of one source in a table. */
interface SourceTable extends TableName {
  readonly sourceId: number;
  readonly columns: readonly ColumnLine[];
}

/** `issues` or `tracker.issues` → the synced table; undefined if there is none, or if several schemas have one of that name. */
export async function syncedTable(db: Db, text: string): Promise<TableName | undefined> {
  const [name, schema] = text.split('.', 2).reverse();
  const found = await query(db)<TableName>`
    select n.nspname as schema, c.relname as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relname = ${name} and n.nspname = coalesce(${schema ?? null}, n.nspname)
      and n.nspname in (select split_part(target, '.', 1) from ops.streams) and c.relkind in ('r', 'p')`;
  return found.length === 1 ? found[0] : undefined;
}

/**
 * The lineage of the rows with this key (the parts of a composite one joined by `/`), this human key (`PROJ-7`) or this former one: at most one
 * of each pipeline, or of the named one only. `table` comes from `syncedTable`.
 */
export async function lineage(db: Db, name: TableName, key: string, pipeline?: string) {
  const table = { ...name, columns: await columns(db, name) };
  const sources = await query(db)<Pick<SourceTable, 'sourceId'>>`
    select source_id from ops.sources where name = coalesce(${pipeline ?? null}, name) order by source_id`;
  const all = sources.map((each) => lineageIn(db, { ...table, ...each }, key));
  return (await Promise.all(all)).filter((each) => each !== undefined);
}

async function lineageIn(db: Db, table: SourceTable, key: string): Promise<Lineage | undefined> {
  const formerKeys = await formerKeysOf(db, table);
  const [former] = await formerKeys(sql`key in (${key}, ${key.toUpperCase()})`);
  const row = (await find(db, table, key)) ?? (former && (await find(db, table, former.id)));
  if (!row) return undefined;
  const ids = keyColumns(table).map(({ column }) => text(row[column]));
  const id = ids.length === 1 ? ids[0] : undefined;
  const slice = await sliceOf(db, row);
  const source = await sourceOf(db, table, slice?.stream);
  const runId = text(row._run_id);
  const names = [...new Set([...ids, ids.join('/'), text(row.key), key])].filter((each) => each !== '');
  const isFormer = sql`${sql.ref(pointer(table))}::text = ${id ?? null} and key <> ${text(row.key)}`;
  const where = source && { pipeline: source.name, stream: source.stream, key: names, all: true, limit: 20 };
  return {
    table: `${table.schema}.${table.name}`,
    row,
    foundByFormerKey: text(row.key) !== key && former !== undefined ? key : null,
    formerKeys: (await formerKeys(isFormer)).map((each) => each.key),
    deletedAt: text(row._deleted_at) || null,
    syncedAt: text(row._synced_at) || null,
    run: runId === '' ? null : ((await run(db, runId)) ?? null),
    slice,
    source,
    children: id === undefined ? [] : await childrenOf(db, table, id),
    rejects: where === null ? [] : await rejects(db, where),
  };
}

const keyColumns = ({ columns: all }: SourceTable): readonly ColumnLine[] =>
  all.filter((column) => column.key && column.column !== 'source_id');

const has = ({ columns: all }: SourceTable, name: string): boolean =>
  all.some(({ column }) => column === name);

async function find(db: Db, table: SourceTable, key: string): Promise<LineageRow | undefined> {
  const keyed = keyColumns(table);
  const parts = keyed.length === 1 ? [key] : key.split('/');
  const byId = sql.join(
    parts.length === keyed.length ? keyed.map((column, at) => equals(column, parts[at] ?? '')) : [sql`false`],
    sql` and `,
  );
  const isNamed = has(table, 'key') && !keyed.some(({ column }) => column === 'key');
  const byName = isNamed ? sql`key in (${key}, ${key.toUpperCase()})` : sql`false`;
  // A key may have been given to another issue after its first one was deleted: the living row first.
  const order = has(table, '_deleted_at') ? sql`order by _deleted_at is not null` : sql``;
  const [found] = await query(db)<{ readonly row: string }>`
    select to_jsonb(t)::text as row from ${sql.id(table.schema, table.name)} t
    where source_id = ${table.sourceId}::smallint and (${byId} or ${byName}) ${order} limit 1`;
  if (found === undefined) return undefined;
  // In the order of the table's columns, which jsonb forgets; numbers that a double cannot hold stay exact.
  const value = new Map(Object.entries(parseJson(Buffer.from(found.row)) ?? {}));
  return Object.fromEntries(table.columns.map(({ column }) => [column, value.get(column)]));
}

/** `column = value` so that the index is used; false if the value cannot be one of the column's type. */
function equals({ column, type }: Pick<ColumnLine, 'column' | 'type'>, value: string): RawBuilder<unknown> {
  const form = forms[type];
  if (form === undefined) return sql`${sql.ref(column)}::text = ${value}`;
  return form.test(value) ? sql`${sql.ref(column)} = ${value}::${sql.raw(type)}` : sql`false`;
}

const forms: Readonly<Record<string, RegExp>> = {
  text: /^/,
  bigint: /^-?\d{1,18}$/,
  integer: /^-?\d{1,9}$/,
  smallint: /^-?\d{1,4}$/,
};

const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value));

/** `issues` → `issue`, `statuses` → `status`, `priorities` → `priority`: how a column that points to the table begins. */
const singular = (plural: string): string =>
  plural.endsWith('ies') ? `${plural.slice(0, -3)}y` : plural.replace(/(?<=s|x|ch|sh)es$|s$/, '');

const pointer = ({ name }: TableName): string => `${singular(name)}_id`;

/** Asks the table of former keys of a table, e.g. `issue_keys` of `issues`; nothing comes where the schema has none. */
async function formerKeysOf(db: Db, table: SourceTable) {
  const name = { schema: table.schema, name: `${singular(table.name)}_keys` };
  const keys: SourceTable = { ...table, ...name, columns: await columns(db, name) };
  const id = sql.ref(pointer(table));
  const isThere = has(table, 'key') && has(keys, 'key') && has(keys, pointer(table));
  return async (where: RawBuilder<unknown>) =>
    isThere
      ? query(db)<{ readonly id: string; readonly key: string }>`
        select ${id}::text as id, key from ${sql.id(name.schema, name.name)}
        where source_id = ${table.sourceId}::smallint and ${where} order by key`
      : [];
}

async function childrenOf(db: Db, table: SourceTable, id: string): Promise<Lineage['children']> {
  const column = pointer(table);
  const found = await query(db)<TableName & { readonly type: string }>`
    select n.nspname as schema, c.relname as name, format_type(a.atttypid, a.atttypmod) as type
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${table.schema} and a.attname = ${column} and c.relkind in ('r', 'p')
      and c.relname <> ${table.name} and not a.attisdropped order by c.relname`;
  return Promise.all(
    found.map(async ({ schema, name, type }) => {
      const [counted] = await query(db)<{ readonly rows: number }>`
        select count(*)::float8 as rows from ${sql.id(schema, name)}
        where source_id = ${table.sourceId}::smallint and ${equals({ column, type }, id)}`;
      return { table: `${schema}.${name}`, rows: counted?.rows ?? 0 };
    }),
  );
}

/** The stream that wrote, else the one that lands in the table, else the one that lands in the table this one's rows belong to. */
async function sourceOf(db: Db, table: SourceTable, wrote: string | undefined) {
  const found = await query(db)<LineageSource & { readonly target: string }>`
    select src.name, s.stream, s.target, s.endpoint, src.base_url
    from ops.streams s join ops.sources src using (source_id)
    where s.source_id = ${table.sourceId}::smallint order by s.stream`;
  /** 0 for the table's own stream, then by the place of the column that points to the stream's table; -1 for the others. */
  const rank = (target: string): number => {
    if (target === `${table.schema}.${table.name}`) return 0;
    const [schema = '', name = ''] = target.split('.', 2);
    const at = table.columns.findIndex(({ column }) => column === pointer({ schema, name }));
    return schema === table.schema ? at + (at < 0 ? 0 : 1) : -1;
  };
  const [first] = found
    .filter(({ stream, target }) => stream === wrote || rank(target) >= 0)
    .sort(
      (a, b) => Number(b.stream === wrote) - Number(a.stream === wrote) || rank(a.target) - rank(b.target),
    );
  if (first === undefined) return null;
  const { target: _, ...source } = first;
  return source;
}

/** The slice whose batch brought the content of the row: a row has the moment of its reading, or of the commit that removed it. */
async function sliceOf(db: Db, { _run_id, _synced_at }: LineageRow) {
  const found = await query(db)<LineageSlice>`
    select w.stream, w.kind as walk, w.field, s.partition, s.window_from as "from", s.window_to as "to",
      s.expected::float8, s.read::float8, s.stored::float8, s.finished_at
    from ops.slices s join ops.walks w using (walk_id)
    where s.slice_id in (select slice_id from ops.batches
      where run_id = ${text(_run_id) || null}::bigint and ${text(_synced_at) || null}::timestamptz = any (moments))`;
  return found.length === 1 ? (found[0] ?? null) : null;
}
