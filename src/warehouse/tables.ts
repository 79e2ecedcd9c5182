/** The DDL of declared tables: made from their declarations, and only ever added to. */
import {
  bigint,
  type Column,
  type Columns,
  type ColumnType,
  type DeclaredTable,
  numeric,
  smallint,
  text,
  timestamptz,
} from '../core/table.ts';

/** A table as Postgres is to have it: a declared one with its metadata columns, or one of versions or revisions. */
export interface TableDefinition {
  readonly schema: string;
  readonly name: string;
  readonly about: string;
  readonly columns: Columns;
  readonly key: readonly string[];
  /** Columns and condition by the name of the index. */
  readonly indexes: Readonly<Record<string, string>>;
  readonly partitions?: DeclaredTable['options']['partitions'];
  readonly wide?: true | undefined;
}

const sourceId = { source_id: smallint('The source, see ops.sources.') };
const runId = { _run_id: bigint('The run that wrote this content, see ops.runs.').nullable() };
const bookkeeping = {
  _synced_at: timestamptz("When this row's content last changed here (not: last seen).").default('now()'),
  ...runId,
};
const entityBookkeeping = {
  ...bookkeeping,
  _deleted_at: timestamptz('When it was found to be gone at the source; null while it lives.').nullable(),
  _row_hash: bigint('64-bit hash of the content; an equal hash means that nothing is written.').nullable(),
};
const validity = {
  valid_from: timestamptz(
    'Since when it holds (UTC): when the platform says that it was last changed, else when the change was seen here.',
  ),
  valid_to: timestamptz('Until when they held (UTC), exclusive; null for the current ones.').nullable(),
};
const revision = {
  metric: text('The column that changed, or the name of a metric in extra_metrics.'),
  old_value: numeric('What the warehouse held; null if nothing.').nullable(),
  new_value: numeric('What the source says now; null if the number went away.').nullable(),
  seen_at: timestamptz('When the change was seen here (UTC).'),
};

/** The tables that a declaration stands for: itself, and those of its versions and revisions. */
export function tablesOf(table: DeclaredTable): readonly TableDefinition[] {
  const { schema, name, about, declared, key, entity, options } = table;
  const { firstSynced, afterLoad, versions, revisions, partitions, wide } = options;
  const keyed = ['source_id', ...key];
  const columnsOf = (names: readonly string[]): Columns =>
    Object.fromEntries(Object.entries(declared).filter(([column]) => names.includes(column)));
  const beside = (into: string) => ({ schema, name: into.slice(schema.length + 1) });
  const tombstones = { [`${name}_tombstones`]: '(source_id) where _deleted_at is not null' };
  return [
    {
      schema,
      name,
      about,
      columns: {
        ...sourceId,
        ...declared,
        ...afterLoad,
        ...(firstSynced !== undefined && { _first_synced_at: timestamptz(firstSynced).default('now()') }),
        ...(entity ? entityBookkeeping : bookkeeping),
      },
      key: keyed,
      indexes: {
        ...Object.fromEntries((options.indexes ?? []).map((on) => [indexName(name, on), on])),
        ...(entity && tombstones),
      },
      ...(partitions && { partitions }),
      wide,
    },
    ...(versions
      ? [
          {
            ...beside(versions.into),
            about: versions.about,
            columns: { ...sourceId, ...columnsOf([...key, ...versions.columns]), ...validity, ...runId },
            key: [...keyed, 'valid_from'],
            // Only the open version of a row is looked for when a new one is written.
            indexes: {
              [`${beside(versions.into).name}_open`]: `(${keyed.join(', ')}) where valid_to is null`,
            },
          },
        ]
      : []),
    ...(revisions
      ? [
          {
            ...beside(revisions.into),
            about: revisions.about,
            columns: { ...sourceId, ...columnsOf(key), ...revision, ...runId },
            key: [...keyed, 'metric', 'seen_at'],
            indexes: {
              [indexName(beside(revisions.into).name, '(source_id, seen_at)')]: '(source_id, seen_at)',
            },
          },
        ]
      : []),
  ];
}

/** The name that Postgres itself would give: names have at most 63 bytes. */
const indexName = (table: string, on: string): string =>
  `${[table, ...(/\((.*?)\)/.exec(on)?.[1] ?? '').split(', ')].join('_').slice(0, 59)}_idx`;

/** The statements that make a table with its indexes, partitions and comments. */
export function createTable(table: TableDefinition): string {
  const { columns, key, indexes, partitions, wide } = table;
  const lines = Object.entries(columns).map(([name, column]) => `${quoted(name)} ${columnSql(column, name)}`);
  const by = partitions ? ` partition by range (${quoted(partitions.by)})` : '';
  return [
    `create table ${nameOf(table)} (${[...lines, `primary key (${key.map(quoted).join(', ')})`].join(', ')})${by}`,
    ...(wide ? [`alter table ${nameOf(table)} set (toast_tuple_target = 8160)`] : []),
    ...Object.entries(indexes).map(([name, on]) => createIndex(table, name, on)),
    ...partitionsOf(table),
    ...commentsOn(table),
  ].join(';\n');
}

/**
 * The statements that add what an existing table lacks, and renew its comments. A column that may not be null and has no default is added
 * as one that may: the rows that exist have no value for it until they are read again.
 */
export function extendTable(table: TableDefinition, existing: ReadonlySet<string>): string {
  const missing = Object.entries(table.columns).filter(([name]) => !existing.has(name));
  return [
    ...missing.map(([name, column]) => {
      const added = column.defaultSql === undefined ? column.nullable() : column;
      return `alter table ${nameOf(table)} add column ${quoted(name)} ${columnSql(added, name)}`;
    }),
    ...Object.entries(table.indexes).map(([name, on]) => createIndex(table, name, on, 'if not exists ')),
    ...partitionsOf(table),
    ...commentsOn(table),
  ].join(';\n');
}

const createIndex = (table: TableDefinition, name: string, on: string, how = ''): string =>
  `create index ${how}${quoted(name)} on ${nameOf(table)} ${on}`;

const postgresTypes: Partial<Record<ColumnType, string>> = { bool: 'boolean', int: 'integer' };

function columnSql({ type, digits, isNullable, defaultSql, values }: Column, name: string): string {
  return [
    `${postgresTypes[type] ?? type}${digits ? `(${digits.join(', ')})` : ''}`,
    isNullable ? '' : 'not null',
    defaultSql === undefined ? '' : `default ${defaultSql}`,
    values ? `check (${quoted(name)} in (${values.map(literal).join(', ')}))` : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/** The partitions by name and bounds; rows outside of them go to the default one. Few, because each costs at every planning. */
function partitionsOf({ partitions, ...table }: TableDefinition): readonly string[] {
  if (!partitions) return [];
  const { by, each, from, to } = partitions;
  const starts = Array.from({ length: to - from + 1 }, (_, i) => from + i).flatMap((year) =>
    each === 'year' ? [[year, 1]] : Array.from({ length: 12 }, (_, month) => [year, month + 1]),
  );
  const bound = ([year = 0, month = 1]: readonly number[]): string => {
    const first = new Date(Date.UTC(year, month - 1, 1)).toISOString().slice(0, 10);
    return table.columns[by]?.type === 'date' ? first : `${first} 00:00:00+00`;
  };
  const ranges = starts.map((start) => {
    const [year = 0, month = 1] = start;
    const suffix = each === 'year' ? `${year}` : `${year}_${String(month).padStart(2, '0')}`;
    const next = each === 'year' ? [year + 1, 1] : [year, month + 1];
    return { part: { ...table, name: `${table.name}_${suffix}` }, from: bound(start), to: bound(next) };
  });
  const other = { ...table, name: `${table.name}_default` };
  const make = `create table if not exists`;
  return [
    ...ranges.flatMap(({ part, from, to }) => [
      `${make} ${nameOf(part)} partition of ${nameOf(table)} for values from (${literal(from)}) to (${literal(to)})`,
      commentOn(
        'table',
        nameOf(part),
        `Part of ${table.schema}.${table.name}: ${by} from ${from} to before ${to}.`,
      ),
    ]),
    `${make} ${nameOf(other)} partition of ${nameOf(table)} default`,
    commentOn(
      'table',
      nameOf(other),
      `Rows of ${table.schema}.${table.name} outside of every other partition. ${table.about}`,
    ),
  ];
}

const commentsOn = (table: TableDefinition): readonly string[] => [
  commentOn('table', nameOf(table), table.about),
  ...Object.entries(table.columns).map(([name, { about }]) =>
    commentOn('column', `${nameOf(table)}.${quoted(name)}`, about),
  ),
];

const commentOn = (what: 'table' | 'column', name: string, about: string): string =>
  `comment on ${what} ${name} is ${literal(about)}`;

const nameOf = ({ schema, name }: Pick<TableDefinition, 'schema' | 'name'>): string =>
  `${quoted(schema)}.${quoted(name)}`;
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const literal = (value: string): string => `'${value.replaceAll("'", "''")}'`;
