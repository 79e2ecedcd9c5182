/** Sprints that no board lists and boards that list none, as the issues and the boards tell. */

import type { Afterwards } from '../../../core/stream.ts';

/** A board that is not asked for its sprints, because it has none. */
export const isKanban = (board: string): string => `${board}.type is not distinct from 'kanban'`;

const columns = 'name, state, board_id, goal, start_at, end_at, completed_at';
/** Names of columns, those of `alias`. */
export const columnsOf = (alias: string, names = columns): string => names.replace(/\w+/g, `${alias}.$&`);

/**
 * Sprints by the issues' own sprint field: each as the live issue has it that was read last. An issue was
 * read last when its row was written, because any change of an issue writes its row. A reconciliation that
 * lifts a tombstone also writes the row, and has read nothing: then the time of the sprint's own row counts.
 * `name` and `state` are never null in tracker.sprints: missing ones are the id and 'unknown'.
 *
 * `unlisted` has the sprints that no board lists any more: all boards that show them, or the one on which
 * they were created, are deleted or Kanban boards. A row that a board listed stays until an issue that was
 * read later says otherwise. It then gets a hash that no record has, so that a board that lists the sprint
 * again overwrites it.
 *
 * `which`: condition on `n.id`, the sprints to look at; each is looked up by the index. `isOverwritten`:
 * condition on the row `t` that a board listed.
 */
export const sprintsOfIssues = (which: string, isOverwritten: string): string => `
    with recursive named (id) as (
      select min(sprint_id) from tracker.issue_sprints where source_id = $1::smallint
      union all
      select (select min(s.sprint_id) from tracker.issue_sprints s where s.source_id = $1::smallint and s.sprint_id > n.id)
      from named n where n.id is not null
    ), unlisted as materialized (
      select l.id from tracker.sprints l
      left join tracker.board_sprints s on s.source_id = l.source_id and s.sprint_id = l.id
      join tracker.boards b on b.source_id = l.source_id and b.id = coalesce(s.board_id, l.board_id)
      where l.source_id = $1::smallint group by l.id having bool_and(b._deleted_at is not null or ${isKanban('b')})
    ), wanted as materialized (
      select n.id from named n where n.id is not null and ${which}
    ), found as (
      select w.id, coalesce(last.name, w.id::text) as name, coalesce(last.state, 'unknown') as state,
        last.board_id, last.goal, last.start_at, last.end_at, last.completed_at, last.read_at
      from wanted w cross join lateral (
        select s.*, case when r.kind = 'reconcile' then s._synced_at else coalesce(i._synced_at, s._synced_at) end as read_at
        from tracker.issue_sprints s
        left join tracker.issues i on i.source_id = s.source_id and i.id = s.issue_id
        left join ops.runs r on r.run_id = i._run_id
        where s.source_id = $1::smallint and s.sprint_id = w.id and i._deleted_at is null
        order by read_at desc, i.updated_at desc nulls last, s.issue_id desc limit 1
      ) last
    ), written as (
      insert into tracker.sprints as t (source_id, id, ${columns}, _synced_at, _run_id)
      select $1::smallint, id, ${columns}, now(), $2::bigint from found
      on conflict (source_id, id) do update set
        (${columns}, _deleted_at, _row_hash, _synced_at, _run_id) = row(${columnsOf('excluded')},
          null, case when t._row_hash is not null then 0 end, excluded._synced_at, excluded._run_id)
      where (t._deleted_at is not null or row(${columnsOf('t')}) is distinct from row(${columnsOf('excluded')}))
        and (t._row_hash is null or t._deleted_at is not null
          or ${isOverwritten} and t._synced_at < (select read_at from found where found.id = t.id))
      returning xmax = 0 as is_new
    )
    select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as updated from written`;

/**
 * Sprints of boards that were deleted, or that the account may not see although it sees issues in them. A row
 * from issues has no hash.
 */
export const unlistedSprints: Afterwards = {
  after: ['issues'],
  evenInPart: true,
  sql: sprintsOfIssues(
    `$3::timestamptz is not null and not exists (
        select from tracker.sprints l where l.source_id = $1::smallint and l.id = n.id and l._row_hash is not null
          and l.id not in (select id from unlisted))`,
    't.id in (select id from unlisted)',
  ),
};

/**
 * The vendor may list a sprint without the board on which it was created, and several boards may list it:
 * then that of its issues counts, else the first board that shows it. Leaves the hash: for the merge the row
 * stays as it was listed.
 */
export const boardsOfSprints: Afterwards = {
  after: ['sprints'],
  evenInPart: true,
  sql: `
    with found as (
      select s.id, coalesce(
        (select min(i.board_id) from tracker.issue_sprints i where i.source_id = $1::smallint and i.sprint_id = s.id),
        (select min(b.board_id) from tracker.board_sprints b where b.source_id = $1::smallint and b.sprint_id = s.id)) as board_id
      from tracker.sprints s
      where s.source_id = $1::smallint and s.board_id is null and s._row_hash is not null and $3::timestamptz is not null
    ), written as (
      update tracker.sprints s set board_id = found.board_id, _synced_at = now(), _run_id = $2::bigint
      from found where s.source_id = $1::smallint and s.id = found.id and found.board_id is not null
      returning 1
    )
    select 0::bigint as inserted, count(*) as updated from written`,
};

/** The sprints of Kanban boards are not read: the vendor answers that the board does not support sprints. */
export const removeFromKanban = `
      delete from tracker.board_sprints s using tracker.boards b
      where s.source_id = $1::smallint and b.source_id = s.source_id and b.id = s.board_id and b._deleted_at is null and ${isKanban('b')}`;

/** A board that has become a Kanban board shows no sprints any more. */
export const kanbanBoardsShowNone: Afterwards = {
  evenInPart: true,
  sql: `
    with removed as (${removeFromKanban}
        and $2::bigint is not null and $3::timestamptz is not null
      returning 1
    )
    select count(*) as deleted from removed`,
};
