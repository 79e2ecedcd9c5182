/**
 * Lists that the contract does not have: statuses, types, priorities and the sprints of boards, as the issues tell
 * them.
 */

import type { Fallback } from '../../../core/stream.ts';
import { columnsOf, isKanban, removeFromKanban, sprintsOfIssues } from '../streams/unlisted-sprints.ts';

/** The value of the live issue that the source changed last, of those that have one. */
const lastOf = (value: string): string =>
  `(array_agg(${value} order by updated_at desc, _synced_at desc, issues.id desc) filter (where ${value} is not null))[1]`;

/**
 * Rows that no list gives, from the issues: for each id the values of the issue that the source changed last,
 * which are those of today where something was renamed. `columns`: column of the table → its value by SQL. A
 * row that a list gave has a hash and stays as it was listed.
 */
const fromIssues = (
  what: string,
  table: string,
  id: string,
  columns: Readonly<Record<string, string>>,
): Fallback => {
  const names = Object.keys(columns).join(', ');
  const values = Object.entries(columns).map(([name, value]) => `${value} as ${name}`);
  return {
    reason: `the server does not list its ${what}; they are taken from the issues that are in one now`,
    after: ['issues'],
    sql: `
      with found as (
        select ${id} as id, ${values.join(', ')} from tracker.issues
        where source_id = $1::smallint and _deleted_at is null and ${id} is not null
        group by ${id}
      ), written as (
        insert into tracker.${table} as t (source_id, id, ${names}, _synced_at, _run_id)
        select $1::smallint, id, ${names}, now(), $2::bigint from found where name is not null
        on conflict (source_id, id) do update set
          (${names}, _deleted_at, _synced_at, _run_id) = row(${columnsOf('excluded', names)}, null, excluded._synced_at, excluded._run_id)
        where t._row_hash is null
          and (t._deleted_at is not null or row(${columnsOf('t', names)}) is distinct from row(${columnsOf('excluded', names)}))
        returning xmax = 0 as is_new
      )
      select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as updated from written`,
  };
};

/**
 * One issue that does not say what its status means must not make done undone: the last one that says so
 * counts.
 */
export const statusesFromIssues = fromIssues('statuses', 'statuses', 'status_id', {
  name: lastOf('status'),
  category: `coalesce(${lastOf("nullif(status_category, 'unknown')")}, 'unknown')`,
});

export const issueTypesFromIssues = fromIssues('types of issues', 'issue_types', 'issue_type_id', {
  name: lastOf('issue_type'),
  subtask: `coalesce(${lastOf('is_subtask')}, false)`,
});

/** Without their order, which issues do not state. */
export const prioritiesFromIssues = fromIssues('priorities', 'priorities', 'priority_id', {
  name: lastOf('priority'),
});

/** Where no board lists its sprints at all. */
export const sprintsFromIssues: Fallback = {
  reason: "the server does not list the sprints of its boards; they are taken from the issues' sprint field",
  after: ['issues'],
  sql: sprintsOfIssues('true', 'true'),
};

/**
 * Where no board lists its sprints, a sprint shows on the board on which it was created, unless that is a
 * Kanban board.
 */
export const boardSprintsFromSprints: Fallback = {
  reason:
    'the server does not list the sprints of its boards; each is taken to show on the board it was created on',
  after: ['sprints'],
  sql: `
    with found as (
      select s.board_id, s.id as sprint_id from tracker.sprints s
      left join tracker.boards b on b.source_id = s.source_id and b.id = s.board_id
      where s.source_id = $1::smallint and s.board_id is not null and s._deleted_at is null and not (${isKanban('b')})
    ), removed as (${removeFromKanban}
      returning 1
    ), written as (
      insert into tracker.board_sprints (source_id, board_id, sprint_id, _synced_at, _run_id)
      select $1::smallint, board_id, sprint_id, now(), $2::bigint from found
      on conflict (source_id, board_id, sprint_id) do nothing
      returning 1
    )
    select count(*) as inserted, 0::bigint as updated, (select count(*) from removed) as deleted from written`,
};
