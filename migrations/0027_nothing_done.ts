import { type Kysely, sql } from 'kysely';

/**
 * A sprint in which nothing was done, or nothing that has points: its ratio of done to committed points was null, not 0, so that the worst sprints
 * were missing from every average. Columns and comments stay.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/** Points are whatever people enter: one absurd entry must not make every query overflow. */
const points = (column: string): string =>
  `(case when abs(${column}) < 1e13 then ${column} end)::numeric(18,4)`;
const ratio = (part: string, whole: string): string =>
  `round(${part} / nullif(${whole}, 0), 4)::numeric(28,4)`;

const sourceOf = (row: string): string => `join ops.sources s on s.source_id = ${row}.source_id`;
/** For names only, and therefore of tombstoned rows, too: what is gone keeps its name. */
const label = (table: string, alias: string, row: string, id: string): string =>
  `left join tracker.${table} ${alias} on ${alias}.source_id = ${row}.source_id and ${alias}.id = ${id}`;

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
      done_to_committed_ratio: ratio(pointsWhere('done'), 'a.committed_points'),
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
};

const statements: readonly string[] = Object.entries(views).map(
  ([name, { columns, from }]) =>
    `create or replace view bi.${name} as select ${Object.entries(columns)
      .map(([column, expression]) => `${expression} as ${column}`)
      .join(', ')} from ${from}`,
);
