import type { Afterwards, Fallback } from '../../../core/stream.ts';

/** A board that is not asked for its sprints: it has none. */
const isKanban = (board: string): string => `${board}.type is not distinct from 'kanban'`;

/**
 * Sprints as the issues' own sprint field names them: of each the telling of a live issue that reached us last. When it reached us says the row
 * of the issue, which is written whenever anything of the issue has changed: what it tells of a sprint may be what it told before. A reconciliation that
 * lifts a tombstone writes that row, too, and has read nothing. `state` and `name` are never null in tracker.sprints; a server that tells
 * neither gets 'unknown' and the id. Looks each sprint up by the index, however many issues name it; `which` leaves out sprints before that.
 * No board lists those in `gone` any more: all that are known to show them, or where none is, the one they were created on, are tombstones or boards of
 * kanban. What a board told stands until an issue that was read later tells otherwise; the hash is then one that no record has, so that a board that
 * lists the sprint again is believed.
 */
const sprintsNamed = (which: string, written: string): string => `
    with recursive named (id) as (
      select min(sprint_id) from tracker.issue_sprints where source_id = $1::smallint
      union all
      select (select min(s.sprint_id) from tracker.issue_sprints s where s.source_id = $1::smallint and s.sprint_id > n.id)
      from named n where n.id is not null
    ), gone as materialized (
      select l.id from tracker.sprints l
      left join tracker.board_sprints s on s.source_id = l.source_id and s.sprint_id = l.id
      join tracker.boards b on b.source_id = l.source_id and b.id = coalesce(s.board_id, l.board_id)
      where l.source_id = $1::smallint group by l.id having bool_and(b._deleted_at is not null or ${isKanban('b')})
    ), wanted as materialized (
      select n.id from named n where n.id is not null and ${which}
    ), told as (
      select w.id, coalesce(last.name, w.id::text) as name, coalesce(last.state, 'unknown') as state,
        last.board_id, last.goal, last.start_at, last.end_at, last.completed_at, last.told_at
      from wanted w cross join lateral (
        select s.*, case when r.kind = 'reconcile' then s._synced_at else coalesce(i._synced_at, s._synced_at) end as told_at
        from tracker.issue_sprints s
        left join tracker.issues i on i.source_id = s.source_id and i.id = s.issue_id
        left join ops.runs r on r.run_id = i._run_id
        where s.source_id = $1::smallint and s.sprint_id = w.id and i._deleted_at is null
        order by told_at desc, i.updated_at desc nulls last, s.issue_id desc limit 1
      ) last
    ), written as (
      insert into tracker.sprints as t
        (source_id, id, name, state, board_id, goal, start_at, end_at, completed_at, _synced_at, _run_id)
      select $1::smallint, id, name, state, board_id, goal, start_at, end_at, completed_at, now(), $2::bigint
      from told
      on conflict (source_id, id) do update set
        name = excluded.name, state = excluded.state, board_id = excluded.board_id, goal = excluded.goal, start_at = excluded.start_at,
        end_at = excluded.end_at, completed_at = excluded.completed_at,
        _deleted_at = null, _row_hash = case when t._row_hash is not null then 0 end, _synced_at = excluded._synced_at, _run_id = excluded._run_id
      where (t._row_hash is null or t._deleted_at is not null
          or ${written} and t._synced_at < (select told_at from told where told.id = t.id))
        and (t._deleted_at is not null or
        (t.name, t.state, t.board_id, t.goal, t.start_at, t.end_at, t.completed_at) is distinct from
        (excluded.name, excluded.state, excluded.board_id, excluded.goal, excluded.start_at, excluded.end_at, excluded.completed_at))
      returning xmax = 0 as is_new
    )
    select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as updated from written`;

/** Where no board lists its sprints at all. */
export const sprintsFromIssues: Fallback = {
  reason: "the server does not list the sprints of its boards; they are taken from the issues' sprint field",
  after: ['issues'],
  sql: sprintsNamed('true', 'true'),
};

/**
 * Sprints of boards that the account may not see, though it sees issues in them, and of boards that are gone. A row that no list gave has no
 * hash: a sprint that a board lists, now or later, is the board's to tell of.
 */
export const unlistedSprints: Afterwards = {
  about: "Sprints that no board lists are taken from the issues' sprint field.",
  after: ['issues'],
  evenInPart: true,
  sql: sprintsNamed(
    `$3::timestamptz is not null and not exists (
        select from tracker.sprints l where l.source_id = $1::smallint and l.id = n.id and l._row_hash is not null
          and l.id not in (select id from gone))`,
    't.id in (select id from gone)',
  ),
};

/**
 * The vendor may list a sprint without the board it was created on. Several boards can list it, so none of them is taken at its word: the
 * issues in it may know, else it is the first of those that show it. Leaves the hash: to the merge the row stays as it was listed.
 */
export const boardsOfSprints: Afterwards = {
  about:
    "Sprints that are listed without their board have it from the issues' sprint field, else from the boards that show them.",
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

/** Their lists are not read, which would have said the same: the vendor answers that the board does not support sprints. */
const leavingKanban = `
      delete from tracker.board_sprints s using tracker.boards b
      where s.source_id = $1::smallint and b.source_id = s.source_id and b.id = s.board_id and b._deleted_at is null and ${isKanban('b')}`;

export const kanbanBoardsShowNone: Afterwards = {
  about: 'A board that has become one of kanban shows no sprints any more.',
  evenInPart: true,
  sql: `
    with gone as (${leavingKanban}
        and $2::bigint is not null and $3::timestamptz is not null
      returning 1
    )
    select count(*) as deleted from gone`,
};

/** Where no board lists its sprints, a sprint shows on the board it was created on, as far as anyone says, unless that is one of kanban. */
export const boardSprintsFromSprints: Fallback = {
  reason:
    'the server does not list the sprints of its boards; each is taken to show on the board it was created on',
  after: ['sprints'],
  sql: `
    with told as (
      select s.board_id, s.id as sprint_id from tracker.sprints s
      left join tracker.boards b on b.source_id = s.source_id and b.id = s.board_id
      where s.source_id = $1::smallint and s.board_id is not null and s._deleted_at is null and not (${isKanban('b')})
    ), gone as (${leavingKanban}
      returning 1
    ), written as (
      insert into tracker.board_sprints (source_id, board_id, sprint_id, _synced_at, _run_id)
      select $1::smallint, board_id, sprint_id, now(), $2::bigint from told
      on conflict (source_id, board_id, sprint_id) do nothing
      returning 1
    )
    select count(*) as inserted, 0::bigint as updated, (select count(*) from gone) as deleted from written`,
};
