import { type Kysely, sql } from 'kysely';

/** What people watch a run by: how its source held it up, and how large each table was at its end. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const columns: Readonly<Record<string, { readonly type: string; readonly about: string }>> = {
  'runs.throttled': {
    type: 'bigint not null default 0',
    about: 'Requests that the source answered with a wish for patience (429); they were sent again later.',
  },
  'runs.quiet': {
    type: `tstzmultirange not null default '{}'`,
    about: 'When no request left because the source had asked for quiet.',
  },
  'run_streams.rows': {
    type: 'bigint',
    about:
      "Live rows of the stream's table when the run was done with it; beyond a million by the planner's estimate; null where it was not counted.",
  },
};

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const statements: readonly string[] = [
  'create index on ops.slices (run_id)',
  ...Object.entries(columns).flatMap(([name, { type, about }]) => {
    const [table, column] = name.split('.');
    return [
      `alter table ops.${table} add column ${column} ${type}`,
      `comment on column ops.${table}.${column} is ${quoted(about)}`,
    ];
  }),
];
