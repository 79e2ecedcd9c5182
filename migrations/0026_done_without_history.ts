import { type Kysely, sql } from 'kysely';

/**
 * An issue that is done and of which no change of its status is told, as of a server that gives no history: it passed for done since its creation,
 * with a lead time of 0. It says itself when it was resolved: since then it is done, and what was before that nobody told. Columns and comments stay.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const utcDay = (instant: string): string => `(${instant} at time zone 'UTC')::date`;
const utcWeek = (instant: string): string => `date_trunc('week', ${instant} at time zone 'UTC')::date`;
const today = utcDay('now()');
/** Seconds, never negative (imports bring changes from before the creation of their issue), and never null: greatest() passes nulls over. */
const elapsed = (from: string, to: string): string => `greatest(0, extract(epoch from ${to} - ${from}))`;
const ratio = (part: string, whole: string): string =>
  `round(${part} / nullif(${whole}, 0), 4)::numeric(28,4)`;
/** Points are whatever people enter: one absurd entry must not make every query overflow. */
const points = (column: string): string =>
  `(case when abs(${column}) < 1e13 then ${column} end)::numeric(18,4)`;

const sourceOf = (row: string): string => `join ops.sources s on s.source_id = ${row}.source_id`;
/** For names only, and therefore of tombstoned rows, too: what is gone keeps its name. */
const label = (table: string, alias: string, row: string, id: string): string =>
  `left join tracker.${table} ${alias} on ${alias}.source_id = ${row}.source_id and ${alias}.id = ${id}`;

/** Since when issue `i`, of whose status no change `c` is told, is done: `cs` is its status now. */
const resolvedUntold = `case when c.history_id is null and cs.category = 'done' and i.resolved_at > i.created_at then i.resolved_at end`;

/**
 * Every stay of every live issue in a status, in one pass over the status changes: each change begins a stay, and the first one also
 * tells, by what it changed from, of the stay that began with the issue. Where no change is told, an issue that is done says itself since when;
 * what was before that nobody told.
 *
 * All that is shown of the issue stands in PARTITION BY although its id would do: a filter reaches the tables only on such columns.
 */
const stays = `(
  select x.source, x.source_id, x.issue_id, x.issue_key, x.project_id, x.project_key, x.issue_type_id, x.story_points, x.created_at,
    y.sequence, y.entered_at, y.left_at, y.entered_by, coalesce(st.category, 'unknown') as category,
    coalesce(st.name, y.status_text, '(status ' || y.status_ref || ')', '(unknown)') as status, y.status_ref,
    case when y.sequence > 0 then coalesce(ps.category, 'unknown') end as previous_category
  from (
    select s.name as source, i.source_id, i.id as issue_id, i.key as issue_key, i.project_id, p.key as project_key, i.issue_type_id,
      i.status_id, i.story_points, i.created_at, i.creator_id,
      ${resolvedUntold} as done_since, c.history_id, c.changed_at, c.author_id, c.from_id, c.from_text, c.to_id,
      c.to_text, row_number() over changes as change_number, lead(c.changed_at) over changes as next_changed_at,
      lag(c.to_id) over changes as previous_to_id
    from tracker.issues i
    ${sourceOf('i')}
    ${label('projects', 'p', 'i', 'i.project_id')}
    left join tracker.issue_changelog c on c.source_id = i.source_id and c.issue_id = i.id and c.field_id = 'status'
    ${label('statuses', 'cs', 'i', 'i.status_id')}
    where i._deleted_at is null
    window changes as (
      partition by i.source_id, i.id, i.key, i.project_id, p.key, s.name order by c.changed_at, c.history_id, c.item)
  ) x
  cross join (values (false), (true)) as part (is_after)
  cross join lateral (
    select
      case when part.is_after then x.change_number else 0 end as sequence,
      case when x.history_id is null then case when part.is_after or x.done_since is null then x.status_id::text end
        when part.is_after then x.to_id else x.from_id end as status_ref,
      case when part.is_after then x.to_text else x.from_text end as status_text,
      case when x.change_number > 1 then x.previous_to_id else x.from_id end as previous_ref,
      case when part.is_after then coalesce(x.changed_at, x.done_since) else x.created_at end as entered_at,
      case when part.is_after then x.next_changed_at else coalesce(x.changed_at, x.done_since) end as left_at,
      case when part.is_after then x.author_id else x.creator_id end as entered_by
  ) y
  left join tracker.statuses st on st.source_id = x.source_id and st.id::text = y.status_ref
  left join tracker.statuses ps on ps.source_id = x.source_id and ps.id::text = y.previous_ref
  where case when part.is_after then coalesce(x.changed_at, x.done_since) is not null else x.change_number = 1 end
)`;

/** From one done status to another is no second arrival. */
const arrives = `h.category = 'done' and h.previous_category is distinct from 'done'`;
const reopens = `h.previous_category = 'done' and h.category <> 'done'`;

/** Nothing counts before its issue was created: what a change from before says holds from the creation on. */
const sinceCreated = (instant: string): string =>
  utcDay(`case when ${instant} is not null then greatest(${instant}, h.created_at) end`);

/** The ids of a list as the changelog writes it: `3, 14`. */
const ids = (text: string): string => `string_to_array(replace(coalesce(${text}, ''), ' ', ''), ',')`;

const sprintFields = `from tracker.fields f where f.schema_custom = 'com.pyxis.greenhopper.jira:gh-sprint'`;

/**
 * What is known of issue `i` in sprints: +1 came, -1 left, 0 is in it as the issue or the sprint says now. The sprint field is known by
 * its type; by its English name where the source does not list its fields. Issue by issue: over all at once the planner, which knows
 * nothing of the sum of three tables, compares every one of them with every sprint.
 */
const moves = `(
  select source_id, sprint_id, 0 as delta, null::timestamptz as moved_at, null::bigint as history_id
  from tracker.issue_sprints
  where source_id = i.source_id and issue_id = i.id
  union all
  select source_id, sprint_id, 0, null, null from tracker.sprint_issues where source_id = i.source_id and issue_id = i.id
  union all
  select c.source_id, case when part.ref ~ '^[0-9]{1,18}$' then part.ref::bigint end, part.delta, c.changed_at, c.history_id
  from tracker.issue_changelog c
  cross join lateral (
    select came as ref, 1 as delta from unnest(${ids('c.to_id')}) came where came <> all (${ids('c.from_id')})
    union all
    select gone, -1 from unnest(${ids('c.from_id')}) gone where gone <> all (${ids('c.to_id')})
  ) part
  where c.source_id = i.source_id and c.issue_id = i.id
    and ((c.source_id, c.field_id) in (select f.source_id, f.id ${sprintFields})
      or (c.field_name = 'Sprint' and c.source_id not in (select f.source_id ${sprintFields})))
)`;

/** A sprint that is open has not ended, whatever was planned and whenever it was closed before. */
const isOpen = `sp.state in ('active', 'future')`;
const sprintEnd = `case when ${isOpen} then now() else coalesce(sp.completed_at, case sp.state when 'closed' then sp.end_at end, now()) end`;

const statusOf = (column: string, filter: string, order: 'asc' | 'desc'): string =>
  `(select c.${column} from tracker.issue_changelog c
    where c.source_id = i.source_id and c.issue_id = i.id and c.field_id = 'status' ${filter}
    order by c.changed_at ${order}, c.history_id ${order}, c.item ${order} limit 1)`;

/** One row per sprint and live issue that is or ever was in it. An issue that no change put there was created in it. */
const memberships = `(
  select m.*, coalesce(st.category, 'unknown') as category_at_end,
    m.began_inside::int + coalesce(m.net_moves, 0) > 0 as is_member,
    coalesce(m.has_started and (m.began_inside and m.created_at <= m.start_at)::int + coalesce(m.net_until_start, 0) > 0, false)
      as is_committed,
    coalesce(m.has_started and (m.came_meanwhile or (m.began_inside and m.created_at > m.start_at and m.created_at < m.ends_at)), false)
      as came_late,
    m.has_started and (m.began_inside and m.created_at < m.ends_at)::int + coalesce(m.net_until_end, 0) > 0 as is_in_at_end
  from (
    select s.name as source, sp.source_id, sp.id::text as sprint_id, sp.name as sprint_name, sp.state, sp.board_id, sp.start_at,
      sp.state <> 'future' as has_started, ${sprintEnd} as ends_at, i.id as issue_id, i.key as issue_key, i.project_id,
      p.key as project_key, i.issue_type_id, i.status_id, i.created_at, i.story_points,
      coalesce((array_agg(e.delta order by e.moved_at, e.history_id) filter (where e.delta <> 0))[1] = -1, true) as began_inside,
      sum(e.delta) as net_moves,
      sum(e.delta) filter (where e.moved_at <= sp.start_at) as net_until_start,
      sum(e.delta) filter (where e.moved_at < ${sprintEnd}) as net_until_end,
      bool_or(e.delta = 1 and e.moved_at > sp.start_at and e.moved_at < ${sprintEnd}) as came_meanwhile,
      min(e.moved_at) filter (where e.delta = 1) as first_came_at,
      max(e.moved_at) filter (where e.delta = -1) as last_left_at,
      coalesce(${statusOf('to_id', `and c.changed_at <= ${sprintEnd}`, 'desc')}, ${statusOf('from_id', '', 'asc')},
        case when not exists (
          select from tracker.statuses d where d.source_id = i.source_id and d.id = i.status_id and d.category = 'done'
            and i.resolved_at > i.created_at and i.resolved_at > ${sprintEnd}) then i.status_id::text end)
        as status_at_end
    from tracker.issues i
    ${sourceOf('i')}
    ${label('projects', 'p', 'i', 'i.project_id')}
    cross join lateral ${moves} e
    join tracker.sprints sp on sp.source_id = e.source_id and sp.id = e.sprint_id and sp._deleted_at is null
    where i._deleted_at is null
    group by s.name, sp.source_id, sp.id, i.source_id, i.id, p.key
  ) m
  left join tracker.statuses st on st.source_id = m.source_id and st.id::text = m.status_at_end
)`;

const isDoneInSprint = `m.is_in_at_end and m.category_at_end = 'done'`;
const isCarriedOver = `m.is_in_at_end and m.category_at_end <> 'done'`;
const isRemoved = `(m.is_committed or m.came_late) and not m.is_in_at_end`;
const issuesWhere = (condition: string): string => `coalesce(a.${condition}_issues, 0)`;
const pointsWhere = (condition: string): string => `coalesce(a.${condition}_points, 0)::numeric(28,4)`;
const countedMemberships = Object.entries({
  member: 'm.is_member',
  committed: 'm.is_committed',
  added: 'm.came_late and not m.is_committed',
  removed: isRemoved,
  done: isDoneInSprint,
  carried_over: isCarriedOver,
})
  .map(
    ([name, condition]) => `count(*) filter (where ${condition}) as ${name}_issues,
      sum(${points('m.story_points')}) filter (where ${condition}) as ${name}_points`,
  )
  .join(',\n      ');

interface View {
  /** In the order of the view as it is: only what a column is computed from may change. */
  readonly columns: Readonly<Record<string, string>>;
  readonly from: string;
}

const views: Readonly<Record<string, View>> = {
  issue_status_history: {
    columns: {
      source: 'h.source',
      issue_id: 'h.issue_id::text',
      issue_key: 'h.issue_key',
      project_id: 'h.project_id::text',
      project_key: 'h.project_key',
      issue_type: 't.name',
      status_sequence: 'h.sequence',
      status: 'h.status',
      status_id: 'h.status_ref',
      status_category: 'h.category',
      previous_status_category: 'h.previous_category',
      transition: `case when h.previous_category is null then 'new'
          when h.previous_category = 'done' and h.category <> 'done' then 'reopened'
          when h.previous_category = h.category then 'lateral'
          when h.category = 'done' then 'forward'
          when h.previous_category = 'unknown' or h.category = 'unknown' then 'unknown'
          when h.category = 'todo' then 'backward' else 'forward' end`,
      entered_at: 'h.entered_at',
      left_at: 'h.left_at',
      entered_date: `(h.entered_at at time zone 'UTC')::date`,
      entered_by_id: 'h.entered_by',
      entered_by_name: 'u.display_name',
      is_current: 'h.left_at is null',
      seconds_in_status: 'greatest(0, extract(epoch from coalesce(h.left_at, now()) - h.entered_at))::bigint',
      days_in_status:
        'round(greatest(0, extract(epoch from coalesce(h.left_at, now()) - h.entered_at)) / 86400, 3)::numeric(18,3)',
    },
    from: `${stays} h
      ${label('issue_types', 't', 'h', 'h.issue_type_id')}
      ${label('users', 'u', 'h', 'h.entered_by')}`,
  },
  issue_cycle_times: {
    columns: {
      source: 'c.source',
      issue_id: 'c.issue_id::text',
      issue_key: 'c.issue_key',
      project_id: 'c.project_id::text',
      project_key: 'c.project_key',
      issue_type: 't.name',
      story_points: '(case when abs(c.story_points) < 1e13 then c.story_points end)::numeric(18,4)',
      created_at: 'c.created_at',
      first_started_at: 'c.first_started_at',
      first_done_at: 'c.first_done_at',
      done_at: 'case when c.is_done then c.last_done_at end',
      done_date: `(case when c.is_done then c.last_done_at end at time zone 'UTC')::date`,
      lead_time_days:
        'round(case when c.is_done then greatest(0, extract(epoch from c.last_done_at - c.created_at)) end / 86400, 3)::numeric(18,3)',
      cycle_time_days:
        'round(case when c.is_done and c.first_started_at is not null then greatest(0, extract(epoch from c.last_done_at - c.first_started_at)) end / 86400, 3)::numeric(18,3)',
      todo_days: 'round(c.todo_seconds / 86400, 3)::numeric(18,3)',
      in_progress_days: 'round(c.in_progress_seconds / 86400, 3)::numeric(18,3)',
      reopen_count: 'c.reopen_count',
      status_changes: 'c.status_changes',
      is_done: 'c.is_done',
    },
    from: `(
      select h.source, h.source_id, h.issue_id, h.issue_key, h.project_id, h.project_key, h.issue_type_id, h.story_points, h.created_at,
        min(h.entered_at) filter (where h.category = 'in_progress') as first_started_at,
        min(h.entered_at) filter (where h.category = 'done') as first_done_at,
        max(h.entered_at) filter (where ${arrives}) as last_done_at,
        bool_or(h.left_at is null and h.category = 'done') as is_done,
        coalesce(sum(${elapsed('h.entered_at', 'coalesce(h.left_at, now())')}) filter (where h.category = 'todo'), 0) as todo_seconds,
        coalesce(sum(${elapsed('h.entered_at', 'coalesce(h.left_at, now())')}) filter (where h.category = 'in_progress'), 0)
          as in_progress_seconds,
        count(*) filter (where ${reopens}) as reopen_count,
        count(*) - 1 as status_changes
      from ${stays} h
      group by h.source, h.source_id, h.issue_id, h.issue_key, h.project_id, h.project_key, h.issue_type_id, h.story_points, h.created_at
    ) c
    ${label('issue_types', 't', 'c', 'c.issue_type_id')}`,
  },
  throughput_weekly: {
    columns: {
      source: 'e.source',
      project_id: 'e.project_id::text',
      project_key: 'e.project_key',
      issue_type: 'e.issue_type',
      week_start: 'e.week_start',
      created_issues: 'e.created',
      done_issues: 'e.done',
      reopened_issues: 'e.reopened',
      net_open_change: 'e.created - e.done + e.reopened',
      done_points: 'e.done_points::numeric(28,4)',
    },
    from: `(
      select e.source, e.source_id, e.project_id, e.project_key, t.name as issue_type, e.week_start,
        count(*) filter (where e.kind = 'created') as created,
        count(*) filter (where e.kind = 'done') as done,
        count(*) filter (where e.kind = 'reopened') as reopened,
        coalesce(sum(e.story_points) filter (where e.kind = 'done'), 0) as done_points
      from (
        select s.name as source, i.source_id, i.project_id, p.key as project_key, i.issue_type_id,
          ${utcWeek('i.created_at')} as week_start, 'created' as kind, null::numeric as story_points
        from tracker.issues i ${sourceOf('i')} ${label('projects', 'p', 'i', 'i.project_id')}
        where i._deleted_at is null
        union all
        select h.source, h.source_id, h.project_id, h.project_key, h.issue_type_id, ${utcWeek('h.entered_at')},
          case when h.category = 'done' then 'done' else 'reopened' end, ${points('h.story_points')}
        from ${stays} h
        where (${arrives}) or (${reopens})
      ) e
      ${label('issue_types', 't', 'e', 'e.issue_type_id')}
      group by e.source, e.source_id, e.project_id, e.project_key, t.name, e.week_start
    ) e`,
  },
  cumulative_flow_daily: {
    columns: {
      source: 'f.source',
      project_id: 'f.project_id::text',
      project_key: 'f.project_key',
      status_category: 'f.category',
      date_day: 'f.date_day',
      issues: 'f.issues::bigint',
    },
    // Two levels, because a window cannot be filtered by itself; zeros fill the gaps, because a join on days would be a join on ranges.
    from: `(
      select e.source, e.source_id, e.project_id, e.project_key, e.category, e.date_day,
        sum(sum(e.delta)) over flow as issues, sum(sum(e.seen)) over flow as seen
      from (
        select h.source, h.source_id, h.project_id, h.project_key, h.category, part.date_day, part.delta, 1 as seen
        from ${stays} h
        cross join lateral (values (${sinceCreated('h.entered_at')}, 1), (${sinceCreated('h.left_at')}, -1)) as part (date_day, delta)
        where part.date_day is not null
        union all
        select b.source, b.source_id, b.project_id, b.project_key, category.name, filler.at::date, 0, 0
        from (
          select s.name as source, i.source_id, i.project_id, p.key as project_key, min(i.created_at) as first_at
          from tracker.issues i ${sourceOf('i')} ${label('projects', 'p', 'i', 'i.project_id')}
          where i._deleted_at is null
          group by s.name, i.source_id, i.project_id, p.key
        ) b
        cross join (values ('todo'), ('in_progress'), ('done'), ('unknown')) as category (name)
        cross join lateral generate_series(
          greatest(${utcDay('b.first_at')}, '2000-01-01')::timestamp, ${today}::timestamp, interval '1 day') as filler (at)
      ) e
      group by e.source, e.source_id, e.project_id, e.project_key, e.category, e.date_day
      window flow as (
        partition by e.source, e.source_id, e.project_id, e.project_key, e.category order by e.date_day)
    ) f
    where f.seen > 0`,
  },
  sprints: {
    columns: {
      source: 's.name',
      sprint_id: 'sp.id::text',
      sprint_name: 'sp.name',
      sprint_state: 'sp.state',
      board_id: 'sp.board_id::text',
      board_name: 'b.name',
      goal: 'sp.goal',
      start_at: 'sp.start_at',
      end_at: 'sp.end_at',
      completed_at: `case when not ${isOpen} then sp.completed_at end`,
      member_issues: issuesWhere('member'),
      committed_issues: issuesWhere('committed'),
      added_issues: issuesWhere('added'),
      removed_issues: issuesWhere('removed'),
      done_issues: issuesWhere('done'),
      carried_over_issues: issuesWhere('carried_over'),
      member_points: pointsWhere('member'),
      committed_points: pointsWhere('committed'),
      added_points: pointsWhere('added'),
      removed_points: pointsWhere('removed'),
      done_points: pointsWhere('done'),
      carried_over_points: pointsWhere('carried_over'),
      done_to_committed_ratio: ratio('a.done_points', 'a.committed_points'),
      synced_at: 'sp._synced_at',
    },
    from: `tracker.sprints sp
      ${sourceOf('sp')}
      ${label('boards', 'b', 'sp', 'sp.board_id')}
      left join (
        select m.source_id, m.sprint_id, ${countedMemberships}
        from ${memberships} m
        group by m.source_id, m.sprint_id
      ) a on a.source_id = sp.source_id and a.sprint_id = sp.id::text
      where sp._deleted_at is null`,
  },
  sprint_issues: {
    columns: {
      source: 'm.source',
      sprint_id: 'm.sprint_id',
      sprint_name: 'm.sprint_name',
      sprint_state: 'm.state',
      board_id: 'm.board_id::text',
      issue_id: 'm.issue_id::text',
      issue_key: 'm.issue_key',
      project_id: 'm.project_id::text',
      project_key: 'm.project_key',
      issue_type: 't.name',
      story_points: points('m.story_points'),
      added_at: 'case when m.began_inside then m.created_at else m.first_came_at end',
      removed_at: 'case when not m.is_member then m.last_left_at end',
      is_member: 'm.is_member',
      is_committed: 'm.is_committed',
      is_added: 'm.came_late and not m.is_committed',
      is_removed: isRemoved,
      is_done: isDoneInSprint,
      is_carried_over: isCarriedOver,
      status_category_at_end: 'm.category_at_end',
    },
    from: `${memberships} m ${label('issue_types', 't', 'm', 'm.issue_type_id')}`,
  },
};

const statements: readonly string[] = Object.entries(views).map(
  ([name, { columns, from }]) =>
    `create or replace view bi.${name} as select ${Object.entries(columns)
      .map(([column, expression]) => `${expression} as ${column}`)
      .join(', ')} from ${from}`,
);
