import type { Fallback } from '../core/stream.ts';

/**
 * What the issues call something that no list tells of: for each of its ids the words of the live issue that the source changed last, which are
 * those of today where it was renamed. A row that a list gave has a hash and stays as it was listed.
 */
const wordsOf = (table: string, id: string, name: string, more: Readonly<Record<string, string>> = {}): string => {
  const words = Object.entries({ name, ...more });
  const columns = (prefix: string): string => words.map(([column]) => `${prefix}${column}`).join(', ');
  return `
    with told as (
      select distinct on (${id}) ${id} as id, ${words.map(([column, expression]) => `${expression} as ${column}`).join(', ')}
      from tracker.issues
      where source_id = $1::smallint and _deleted_at is null and ${id} is not null and ${name} is not null
      order by ${id}, updated_at desc, _synced_at desc, id desc
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
  wordsOf('statuses', 'status_id', 'status', { category: `coalesce(status_category, 'unknown')` }),
);

export const issueTypesFromIssues: Fallback = fromIssues(
  'types of issues',
  wordsOf('issue_types', 'issue_type_id', 'issue_type', { subtask: 'coalesce(is_subtask, false)' }),
);

/** Without their order, of which issues say nothing. */
export const prioritiesFromIssues: Fallback = fromIssues(
  'priorities',
  wordsOf('priorities', 'priority_id', 'priority'),
);
