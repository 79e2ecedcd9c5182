import type { Fallback } from '../../../core/stream.ts';

/** What is told of something besides its name. */
interface Meaning {
  readonly column: string;
  /** As an issue tells it; null where it does not. */
  readonly told: string;
  /** Where no issue tells it. */
  readonly otherwise: string;
}

/** The issue that the source changed last is the first. */
const newestFirst = 'updated_at desc, _synced_at desc, issues.id desc';

/**
 * What the issues call something that no list tells of: for each of its ids the words of the live issue that the source changed last, which are
 * those of today where it was renamed. What it means is told by the last one that says so: one issue that does not must not make done undone. A row that
 * a list gave has a hash and stays as it was listed.
 */
const wordsOf = (table: string, id: string, name: string, meaning?: Meaning): string => {
  const columns = (prefix: string): string =>
    ['name', ...(meaning === undefined ? [] : [meaning.column])]
      .map((column) => `${prefix}${column}`)
      .join(', ');
  const lastOf = (expression: string, as: string): string => `
      select distinct on (${id}) ${id} as id, ${expression} as ${as}
      from tracker.issues
      where source_id = $1::smallint and _deleted_at is null and ${id} is not null and ${expression} is not null
      order by ${id}, ${newestFirst}`;
  return `
    with named as (${lastOf(name, 'name')}
    ), told as (
      select named.id, named.name${
        meaning === undefined
          ? ' from named'
          : `, coalesce(meant.meaning, ${meaning.otherwise}) as ${meaning.column}
      from named left join (${lastOf(meaning.told, 'meaning')}
      ) meant using (id)`
      }
    ), written as (
      insert into tracker.${table} as t (source_id, id, ${columns('')}, _synced_at, _run_id)
      select $1::smallint, id, ${columns('')}, now(), $2::bigint from told
      on conflict (source_id, id) do update set
        (${columns('')}, _deleted_at, _synced_at, _run_id) = row(${columns('excluded.')}, null, excluded._synced_at, excluded._run_id)
      where t._row_hash is null and (t._deleted_at is not null or row(${columns('t.')}) is distinct from row(${columns('excluded.')}))
      returning xmax = 0 as is_new
    )
    select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as updated from written`;
};

const fromIssues = (what: string, sql: string): Fallback => ({
  reason: `the server does not list its ${what}; they are taken from the issues that are in one now`,
  after: ['issues'],
  sql,
});

export const statusesFromIssues: Fallback = fromIssues(
  'statuses',
  wordsOf('statuses', 'status_id', 'status', {
    column: 'category',
    told: `nullif(status_category, 'unknown')`,
    otherwise: `'unknown'`,
  }),
);

export const issueTypesFromIssues: Fallback = fromIssues(
  'types of issues',
  wordsOf('issue_types', 'issue_type_id', 'issue_type', {
    column: 'subtask',
    told: 'is_subtask',
    otherwise: 'false',
  }),
);

/** Without their order, of which issues say nothing. */
export const prioritiesFromIssues: Fallback = fromIssues(
  'priorities',
  wordsOf('priorities', 'priority_id', 'priority'),
);
