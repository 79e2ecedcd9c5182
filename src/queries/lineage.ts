/** Where one row comes from: the run and slice that wrote it, what hangs on it, what was rejected of it, where it is read. */
import { type RawBuilder, sql } from 'kysely';
import { parseJson } from '../core/json.ts';
import { type Db, rowsOf } from './db.ts';
import { type Reject, rejects } from './reject-list.ts';
import { type RunLine, run } from './run-history.ts';
import { type ColumnLine, columns, type TableName } from './stream-history.ts';

export interface Lineage {
  readonly table: string;
  /** The row as it stands, by column. */
  readonly row: Readonly<Record<string, unknown>>;
  /** Set when the asked key is a former one: the row's own key is another. */
  readonly foundByFormerKey: string | null;
  readonly formerKeys: readonly string[];
  readonly deletedAt: string | null;
  readonly syncedAt: string | null;
  /** The run that wrote this content; null if it has been forgotten. */
  readonly run: RunLine | null;
  /** The part of the source that run read it in. */
  readonly slice: LineageSlice | null;
  readonly source: {
    readonly name: string;
    readonly stream: string;
    readonly endpoint: string;
    readonly baseUrl: string;
  } | null;
  readonly children: readonly { readonly table: string; readonly rows: number }[];
  readonly rejects: readonly Reject[];
}

export interface LineageSlice {
  readonly walk: string;
  /** The field the window is on; null where the stream is listed whole. */
  readonly field: string | null;
  readonly partition: unknown;
  readonly from: Date | null;
  readonly to: Date | null;
  readonly expected: number | null;
  readonly fetched: number | null;
  readonly landed: number | null;
  readonly finishedAt: Date | null;
}

/** `issues` or `tracker.issues` → the synced table; undefined if there is none, or if several schemas have one of that name. */
export async function syncedTable(db: Db, text: string): Promise<TableName | undefined> {
  const [schema, name] = text.includes('.') ? text.split('.', 2) : [undefined, text];
  const found = await rowsOf(
    sql<TableName>`
      select n.nspname as schema, c.relname as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relname = ${name} and n.nspname = any (${schema === undefined ? [...synced] : [schema]}::text[])
        and n.nspname = any (${[...synced]}::text[]) and c.relkind in ('r', 'p')`,
    db,
  );
  return found.length === 1 ? found[0] : undefined;
}

const synced = ['tracker', 'ads', 'workflow'] as const;

/**
 * The lineage of the row with this key (the parts of a composite one joined by `/`), its human key (`PROJ-7`) or a former one.
 * Undefined if the table has no such row. `table` comes from `syncedTable`.
 */
export async function lineage(db: Db, table: TableName, key: string): Promise<Lineage | undefined> {
  const shape = await columns(db, table);
  const former = await byFormerKey(db, table, shape, key);
  const row =
    (await find(db, table, shape, key)) ??
    (former === undefined ? undefined : await find(db, table, shape, former));
  if (!row) return undefined;
  const ids = shape
    .filter((column) => column.key && column.column !== 'source_id')
    .map((column) => text(row[column.column]));
  const id = ids.length === 1 ? ids[0] : undefined;
  const source = await sourceOf(db, table, shape, row);
  const runId = text(row._run_id);
  const names = [...new Set([...ids, ids.join('/'), text(row.key), key])].filter((each) => each !== '');
  return {
    table: `${table.schema}.${table.name}`,
    row,
    foundByFormerKey: text(row.key) !== key && former !== undefined ? key : null,
    formerKeys: id === undefined ? [] : await formerKeys(db, table, row, id),
    deletedAt: text(row._deleted_at) || null,
    syncedAt: text(row._synced_at) || null,
    run: runId === '' ? null : ((await run(db, runId)) ?? null),
    slice: source === null || runId === '' ? null : await sliceOf(db, source.stream, row, runId),
    source,
    children: id === undefined ? [] : await childrenOf(db, table, row, id),
    rejects:
      source === null
        ? []
        : await rejects(db, {
            pipeline: source.name,
            stream: source.stream,
            key: names,
            all: true,
            limit: 20,
          }),
  };
}

type Found = Readonly<Record<string, unknown>>;

async function find(
  db: Db,
  table: TableName,
  shape: readonly ColumnLine[],
  key: string,
): Promise<Found | undefined> {
  const keyed = shape.filter((column) => column.key && column.column !== 'source_id');
  const parts = keyed.length === 1 ? [key] : key.split('/');
  const byId =
    parts.length === keyed.length ? keyed.map((column, at) => equals(column, parts[at] ?? '')) : [undefined];
  const named = shape.some((column) => column.column === 'key' && !column.key);
  const ways = [
    byId.every((each) => each !== undefined) ? sql`(${sql.join(byId, sql` and `)})` : undefined,
    named ? sql`key in (${key}, ${key.toUpperCase()})` : undefined,
  ].filter((each) => each !== undefined);
  if (ways.length === 0) return undefined;
  // A key may have been given anew after its first issue was deleted: the living row first.
  const dead = shape.some((column) => column.column === '_deleted_at')
    ? sql`_deleted_at is not null,`
    : sql``;
  const [found] = await rowsOf(
    sql<{ readonly row: string }>`
      select to_jsonb(t)::text as row from ${sql.id(table.schema, table.name)} t
      where ${sql.join(ways, sql` or `)} order by ${dead} source_id limit 1`,
    db,
  );
  return found === undefined ? undefined : parsed(found.row, shape);
}

/** `column = value` so that the index is used; undefined if the value cannot be one of the column's type. */
function equals({ column, type }: ColumnLine, value: string): RawBuilder<unknown> | undefined {
  const form = forms[type];
  if (form === undefined) return sql`${sql.ref(column)}::text = ${value}`;
  return form.test(value) ? sql`${sql.ref(column)} = ${value}::${sql.raw(type)}` : undefined;
}

const forms: Readonly<Record<string, RegExp>> = {
  text: /^/,
  bigint: /^-?\d{1,18}$/,
  integer: /^-?\d{1,9}$/,
  smallint: /^-?\d{1,4}$/,
};

/** In the order of the table's columns, which jsonb forgets; numbers that a double cannot hold stay exact. */
function parsed(json: string, shape: readonly ColumnLine[]): Found {
  const value = new Map(Object.entries(parseJson(Buffer.from(json)) ?? {}));
  return Object.fromEntries(shape.map(({ column }) => [column, value.get(column)]));
}

const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value));

/** `issues` → `issue`, `statuses` → `status`, `priorities` → `priority`: how a column that points to the table begins. */
export const singular = (plural: string): string =>
  plural.endsWith('ies') ? `${plural.slice(0, -3)}y` : plural.replace(/(?<=s|x|ch|sh)es$|s$/, '');

const pointer = (table: TableName): string => `${singular(table.name)}_id`;

/** The table of former keys beside a table, e.g. `issue_keys` beside `issues`, if the schema has one. */
const keysTable = async (db: Db, table: TableName): Promise<TableName | undefined> => {
  const name = { schema: table.schema, name: `${singular(table.name)}_keys` };
  const shape = new Set((await columns(db, name)).map((each) => each.column));
  return shape.has('key') && shape.has(pointer(table)) ? name : undefined;
};

async function byFormerKey(
  db: Db,
  table: TableName,
  shape: readonly ColumnLine[],
  key: string,
): Promise<string | undefined> {
  const keys = shape.some((column) => column.column === 'key') ? await keysTable(db, table) : undefined;
  if (keys === undefined) return undefined;
  const [found] = await rowsOf(
    sql<{ readonly id: string }>`
      select ${sql.ref(pointer(table))}::text as id from ${sql.id(keys.schema, keys.name)}
      where key in (${key}, ${key.toUpperCase()}) order by source_id limit 1`,
    db,
  );
  return found?.id;
}

async function formerKeys(db: Db, table: TableName, row: Found, id: string): Promise<readonly string[]> {
  const keys = await keysTable(db, table);
  if (keys === undefined) return [];
  const found = await rowsOf(
    sql<{ readonly key: string }>`
      select key from ${sql.id(keys.schema, keys.name)}
      where source_id = ${text(row.source_id)}::smallint and ${sql.ref(pointer(table))}::text = ${id}
        and key <> ${text(row.key)} order by key`,
    db,
  );
  return found.map((each) => each.key);
}

async function childrenOf(db: Db, table: TableName, row: Found, id: string): Promise<Lineage['children']> {
  const found = await rowsOf(
    sql<TableName & { readonly type: string }>`
      select n.nspname as schema, c.relname as name, format_type(a.atttypid, a.atttypmod) as type
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${table.schema} and a.attname = ${pointer(table)} and c.relkind in ('r', 'p')
        and c.relname <> ${table.name} and not a.attisdropped order by c.relname`,
    db,
  );
  const counted = found.map(async (child) => {
    const match = equals({ column: pointer(table), type: child.type, key: false, comment: null }, id);
    const [rows] =
      match === undefined
        ? []
        : await rowsOf(
            sql<{ readonly rows: number }>`
        select count(*)::float8 as rows from ${sql.id(child.schema, child.name)}
        where source_id = ${text(row.source_id)}::smallint and ${match}`,
            db,
          );
    return { table: `${child.schema}.${child.name}`, rows: rows?.rows ?? 0 };
  });
  return Promise.all(counted);
}

interface StreamRow {
  readonly name: string;
  readonly stream: string;
  readonly target: string;
  readonly endpoint: string;
  readonly base_url: string;
}

/** The stream that lands in the table, or else the one that lands in the table this one's rows belong to. */
async function sourceOf(
  db: Db,
  table: TableName,
  shape: readonly ColumnLine[],
  row: Found,
): Promise<Lineage['source']> {
  const found = await rowsOf(
    sql<StreamRow>`
      select src.name, s.stream, s.target, s.endpoint, src.base_url
      from ops.streams s join ops.sources src using (source_id)
      where s.source_id = ${text(row.source_id)}::smallint order by s.stream`,
    db,
  );
  const own = found.find((each) => each.target === `${table.schema}.${table.name}`);
  const owner = (each: StreamRow): number => {
    const [schema = '', name = ''] = each.target.split('.', 2);
    return schema === table.schema
      ? shape.findIndex((column) => column.column === pointer({ schema, name }))
      : -1;
  };
  const owners = found.filter((each) => owner(each) >= 0).sort((a, b) => owner(a) - owner(b));
  const chosen = own ?? owners[0];
  return chosen === undefined
    ? null
    : { name: chosen.name, stream: chosen.stream, endpoint: chosen.endpoint, baseUrl: chosen.base_url };
}

interface SliceRow {
  readonly walk: string;
  readonly field: string | null;
  readonly partition: unknown;
  readonly window_from: Date | null;
  readonly window_to: Date | null;
  readonly expected: number | null;
  readonly fetched: number | null;
  readonly landed: number | null;
  readonly finished_at: Date | null;
}

async function sliceOf(db: Db, stream: string, row: Found, runId: string): Promise<LineageSlice | null> {
  const [found] = await rowsOf(
    sql<SliceRow>`
      select w.kind as walk, w.field, s.partition, s.window_from, s.window_to, s.expected::float8 as expected,
        s.fetched::float8 as fetched, s.landed::float8 as landed, s.finished_at
      from ops.slices s
      join ops.walks w using (walk_id)
      cross join (select ${JSON.stringify(row)}::jsonb as content) r
      cross join lateral (select (r.content ->> (w.field || '_at'))::timestamptz as at) instant
      where s.run_id = ${runId}::bigint and w.stream = ${stream} and w.source_id = ${text(row.source_id)}::smallint
        and s.status <> 'split'
        and (instant.at is null or (instant.at >= s.window_from) is not false and (instant.at < s.window_to) is not false)
        and not exists (
          select from jsonb_each_text(case jsonb_typeof(s.partition) when 'object' then s.partition else '{}' end) p
          where r.content ->> p.key is distinct from p.value)
      order by s.finished_at desc nulls last limit 1`,
    db,
  );
  return found === undefined
    ? null
    : {
        walk: found.walk,
        field: found.field,
        partition: found.partition,
        from: found.window_from,
        to: found.window_to,
        expected: found.expected,
        fetched: found.fetched,
        landed: found.landed,
        finishedAt: found.finished_at,
      };
}
