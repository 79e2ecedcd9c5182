/** The rows of `bi`, `bi_pii` and `ops` as TypeScript, for programs that read the warehouse with Kysely: docs/bi/database.d.ts. */
import type { Pool } from 'pg';
import { views } from './declared.ts';

interface Column {
  readonly schema: string;
  readonly relation: string;
  readonly about: string;
  readonly name: string;
  /** Of an array, that of its elements. */
  readonly type: string;
  readonly isArray: boolean;
  /** False for every column of a view: Postgres does not know. */
  readonly isRequired: boolean;
}

/** Partitions are left out: their parent shows their rows. */
const catalog = `
  select n.nspname as schema, c.relname as relation, coalesce(obj_description(c.oid, 'pg_class'), '') as about, a.attname as name,
    format_type(case when t.typcategory = 'A' then t.typelem else t.oid end, null) as type, t.typcategory = 'A' as "isArray", a.attnotnull as "isRequired"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  where n.nspname in ('bi', 'bi_pii', 'ops') and c.relkind in ('r', 'v', 'm', 'p') and not c.relispartition
  order by n.nspname collate "C", c.relname collate "C", a.attnum`;

/** What the warehouse's own connections, and pg with the parsers on docs/bi/readers.md, make of each type. */
export const typeOf: Readonly<Record<string, string>> = {
  bigint: 'string',
  boolean: 'boolean',
  bytea: 'Buffer',
  character: 'string',
  '"char"': 'string',
  date: 'string',
  'double precision': 'number',
  integer: 'number',
  interval: 'string',
  json: 'unknown',
  jsonb: 'unknown',
  name: 'string',
  numeric: 'string',
  oid: 'number',
  real: 'number',
  smallint: 'number',
  text: 'string',
  'time without time zone': 'string',
  'timestamp with time zone': 'Date',
  tstzmultirange: 'string',
  uuid: 'string',
  xid8: 'string',
};

/** Arrays of these have elements as above. pg has a parser of its own for each kind of array: it makes dates of date[]. */
const likeElements: readonly string[] = ['text', 'integer', 'timestamp with time zone'];

const head = `/**
 * The rows of \`bi\`, \`bi_pii\` and \`ops\`, for Kysely: \`new Kysely<TidemarkDatabase>(…)\`. Days, amounts and large numbers are text, exact as
 * Postgres has them; docs/bi/readers.md shows the parsers to set. A column of a view may be null unless it is in the view's key.
 * The views \`bi.issues_wide_…\` are made for a site and are not here. Written by \`npm run docs\` from a migrated warehouse; do not edit it by hand.
 */`;

/** The file. Throws where a type has no line in \`typeOf\`. */
export async function databaseFile(pool: Pick<Pool, 'query'>): Promise<string> {
  const { rows } = await pool.query<Column>(catalog);
  const relations = [...Map.groupBy(rows, ({ schema, relation }) => `${schema}.${relation}`)];
  const entries = relations.map(([name]) => `  '${name}': ${interfaceName(name)};`);
  return [
    head,
    `export interface TidemarkDatabase {\n${entries.join('\n')}\n}`,
    ...relations.map(([name, columns]) => interfaceOf(name, columns)),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}

/** `bi.ad_sets` is BiAdSets. */
const interfaceName = (relation: string): string =>
  relation.replaceAll(/(?:^|[._])([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

function interfaceOf(name: string, columns: readonly Column[]): string {
  const about = columns[0]?.about ?? '';
  const lines = columns.map((column) => `  ${column.name}: ${columnType(name, column)};`);
  return [
    ...(about === '' ? [] : [`/** ${about.replaceAll('*/', '* /')} */`]),
    `export interface ${interfaceName(name)} {`,
    ...lines,
    '}',
  ].join('\n');
}

function columnType(relation: string, { name, type, isArray, isRequired }: Column): string {
  const one = typeOf[type];
  if (one === undefined || (isArray && !likeElements.includes(type)))
    throw new Error(
      `${relation}.${name} is ${type}${isArray ? '[]' : ''}: say in docs/bi/row-types.ts what pg makes of it`,
    );
  const view = views[relation.replace(/^bi\./, '')];
  const isKey = view?.key.includes(name) && !view.nullable?.includes(name);
  const nullable = isRequired || isKey || one === 'unknown' ? '' : ' | null';
  return `${one}${isArray ? '[]' : ''}${nullable}`;
}
