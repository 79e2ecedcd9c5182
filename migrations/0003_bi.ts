import { type Kysely, sql } from 'kysely';

/**
 * The reading schema: a calendar, and views over the tracker and the bookkeeping. Nothing is derived on write: histories are computed
 * from the changelog when they are read. Days are days of UTC, as a literal, except where a comment says otherwise.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

type Column = readonly [expression: string, about: string];

interface View {
  readonly about: string;
  /** In the order of the view; later migrations may only add at the end. */
  readonly columns: Readonly<Record<string, Column>>;
  readonly from: string;
}

const utcDay = (instant: string): string => `(${instant} at time zone 'UTC')::date`;
const utcWeek = (instant: string): string => `date_trunc('week', ${instant} at time zone 'UTC')::date`;
const today = utcDay('now()');
/** Seconds; null where either end is. */
const lasted = (from: string, to: string): string => `extract(epoch from ${to} - ${from})`;
/** Seconds, never negative (imports bring changes from before the creation of their issue), and never null: greatest() passes nulls over. */
const elapsed = (from: string, to: string): string => `greatest(0, ${lasted(from, to)})`;
/** Wide enough for every bigint. */
const hours = (duration: string): string => `round(${duration} / 3600.0, 2)::numeric(18,2)`;
const days = (duration: string): string => `round(${duration} / 86400, 3)::numeric(18,3)`;
const ratio = (part: string, whole: string): string =>
  `round(${part} / nullif(${whole}, 0), 4)::numeric(28,4)`;
/** Points are whatever people enter: one absurd entry must not make every query overflow. */
const points = (column: string): string =>
  `(case when abs(${column}) < 1e13 then ${column} end)::numeric(18,4)`;

const sourceOf = (row: string): string => `join ops.sources s on s.source_id = ${row}.source_id`;
const live = (table: string, alias: string, row: string, id: string): string =>
  `join tracker.${table} ${alias} on ${alias}.source_id = ${row}.source_id and ${alias}.id = ${id} and ${alias}._deleted_at is null`;
/** For names only, and therefore of tombstoned rows, too: what is gone keeps its name. */
const label = (table: string, alias: string, row: string, id: string): string =>
  `left join tracker.${table} ${alias} on ${alias}.source_id = ${row}.source_id and ${alias}.id = ${id}`;

const source = (expression = 's.name'): Column => [
  expression,
  'The source, see ops.sources.name; ids and keys are unique within one source.',
];
const issueId = (expression: string): Column => [`${expression}::text`, 'Issue id; stable.'];
const issueKey = (expression: string): Column => [
  expression,
  'Issue key of today, e.g. PROJ-7; changes when the issue moves.',
];
const projectId = (expression: string): Column => [
  `${expression}::text`,
  'Id of the project the issue is in today; stable.',
];
const projectKey = (expression: string): Column => [
  expression,
  'Key of the project the issue is in today; null if the warehouse does not know the project.',
];
const issueType = (expression = 't.name'): Column => [expression, 'Issue type of today, e.g. Bug.'];
const storyPoints = (column: string): Column => [
  points(column),
  'Story points of today, to four decimals; null if not estimated.',
];
const syncedAt = (row: string): Column => [
  `${row}._synced_at`,
  'When this content last changed in the warehouse (UTC); not when it was last seen.',
];
const personId = (column: string, who: string): Column => [column, `${who}, see bi.users.user_id.`];
const personName = (alias: string, who: string): Column => [`${alias}.display_name`, `${who}, as shown.`];

/**
 * Every stay of every live issue in a status, in one pass over the status changes: each change begins a stay, and the first one also
 * tells, by what it changed from, of the stay that began with the issue.
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
      i.status_id, i.story_points, i.created_at, i.creator_id, c.history_id, c.changed_at, c.author_id, c.from_id, c.from_text, c.to_id,
      c.to_text, row_number() over changes as change_number, lead(c.changed_at) over changes as next_changed_at,
      lag(c.to_id) over changes as previous_to_id
    from tracker.issues i
    ${sourceOf('i')}
    ${label('projects', 'p', 'i', 'i.project_id')}
    left join tracker.issue_changelog c on c.source_id = i.source_id and c.issue_id = i.id and c.field_id = 'status'
    where i._deleted_at is null
    window changes as (
      partition by i.source_id, i.id, i.key, i.project_id, p.key, s.name order by c.changed_at, c.history_id, c.item)
  ) x
  cross join (values (false), (true)) as part (is_after)
  cross join lateral (
    select
      case when part.is_after then x.change_number else 0 end as sequence,
      case when part.is_after then x.to_id when x.history_id is null then x.status_id::text else x.from_id end as status_ref,
      case when part.is_after then x.to_text else x.from_text end as status_text,
      case when x.change_number > 1 then x.previous_to_id else x.from_id end as previous_ref,
      case when part.is_after then x.changed_at else x.created_at end as entered_at,
      case when part.is_after then x.next_changed_at else x.changed_at end as left_at,
      case when part.is_after then x.author_id else x.creator_id end as entered_by
  ) y
  left join tracker.statuses st on st.source_id = x.source_id and st.id::text = y.status_ref
  left join tracker.statuses ps on ps.source_id = x.source_id and ps.id::text = y.previous_ref
  where case when part.is_after then x.history_id is not null else x.change_number = 1 end
)`;

/** From one done status to another is no second arrival. */
const arrives = `h.category = 'done' and h.previous_category is distinct from 'done'`;
const reopens = `h.previous_category = 'done' and h.category <> 'done'`;

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

/** A sprint that is not closed has not ended, whatever was planned. */
const sprintEnd = `coalesce(sp.completed_at, case sp.state when 'closed' then sp.end_at end, now())`;

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
      coalesce(${statusOf('to_id', `and c.changed_at <= ${sprintEnd}`, 'desc')}, ${statusOf('from_id', '', 'asc')}, i.status_id::text)
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

const runCounts = (row: string): Readonly<Record<string, Column>> => ({
  rows_received: [`${row}.received`, 'Records given to the transform.'],
  rows_inserted: [`${row}.inserted`, 'Records whose row is new.'],
  rows_updated: [`${row}.updated`, 'Records whose row changed.'],
  rows_unchanged: [`${row}.unchanged`, 'Records whose row was already equal.'],
  rows_deduplicated: [`${row}.deduplicated`, 'Records that repeated a key within one batch.'],
  rows_superseded: [`${row}.superseded`, 'Records older than what the warehouse held.'],
  rows_rejected: [`${row}.rejected`, 'Records that could not become rows; they are kept in ops.rejects.'],
  rows_deleted: [`${row}.deleted`, 'Rows removed or marked as deleted.'],
});

const views: Readonly<Record<string, View>> = {
  projects: {
    about: 'Projects; one row per live project.',
    columns: {
      source: source(),
      project_id: ['p.id::text', 'Project id; stable.'],
      project_key: ['p.key', 'Project key as issue keys begin with it, e.g. PROJ.'],
      project_name: ['p.name', 'Name.'],
      project_type: ['p.type', 'Type key of the source, e.g. software.'],
      project_category: ['p.category', 'Name of the project category.'],
      lead_id: personId('p.lead_user_id', 'The project lead'),
      lead_name: personName('u', 'The project lead'),
      is_archived: ['p.archived', 'True when the project is archived.'],
      synced_at: syncedAt('p'),
    },
    from: `tracker.projects p ${sourceOf('p')} ${label('users', 'u', 'p', 'p.lead_user_id')} where p._deleted_at is null`,
  },
  users: {
    about: 'People and apps with an account; one row per live account. Without e-mail addresses.',
    columns: {
      source: source(),
      user_id: ['u.id', 'Account id.'],
      user_name: ['u.display_name', 'Name as shown.'],
      is_active: ['u.active', 'False for deactivated accounts; null if the source does not say.'],
      account_type: ['u.account_type', 'atlassian, app, customer or unknown.'],
      time_zone: ['u.time_zone', 'IANA time zone, e.g. Europe/Berlin; null if not shown.'],
      synced_at: syncedAt('u'),
    },
    from: `tracker.users u ${sourceOf('u')} where u._deleted_at is null`,
  },
  boards: {
    about: 'Scrum and Kanban boards; one row per live board.',
    columns: {
      source: source(),
      board_id: ['b.id::text', 'Board id.'],
      board_name: ['b.name', 'Name.'],
      board_type: ['b.type', 'scrum, kanban or simple.'],
      project_id: ['b.project_id::text', 'Id of the project the board is located in; null if none.'],
      project_key: ['p.key', 'Key of that project.'],
      project_name: ['p.name', 'Name of that project.'],
      synced_at: syncedAt('b'),
    },
    from: `tracker.boards b ${sourceOf('b')} ${label('projects', 'p', 'b', 'b.project_id')} where b._deleted_at is null`,
  },
  issues: {
    about:
      'Issues as they are today; one row per live issue (deleted ones are left out). For backlog, ageing, workload.',
    columns: {
      source: source(),
      issue_id: issueId('i.id'),
      issue_key: issueKey('i.key'),
      summary: ['i.summary', 'Title line.'],
      project_id: projectId('i.project_id'),
      project_key: projectKey('p.key'),
      project_name: ['p.name', 'Name of the project.'],
      issue_type: issueType(),
      is_subtask: ['t.subtask', 'True for types of sub-tasks; null if the type is not known.'],
      status: [`coalesce(st.name, '(status ' || i.status_id || ')')`, 'Status today.'],
      status_category: [
        `coalesce(st.category, 'unknown')`,
        'todo, in_progress, done, or unknown where the source does not say.',
      ],
      priority: ['pr.name', 'Priority.'],
      priority_rank: ['pr.rank', 'Place of the priority in the order of the source; smaller is more urgent.'],
      resolution: ['i.resolution', 'Resolution; null while unresolved.'],
      assignee_id: personId('i.assignee_id', 'The assignee; null if nobody'),
      assignee_name: personName('ua', 'The assignee'),
      reporter_id: personId('i.reporter_id', 'The reporter'),
      reporter_name: personName('ur', 'The reporter'),
      parent_issue_id: ['i.parent_id::text', 'Id of the parent: of a sub-task its task, of a task its epic.'],
      parent_issue_key: ['pa.key', 'Key of the parent today; null if it is not in the warehouse.'],
      epic_issue_key: ['coalesce(ep.key, i.epic_key)', 'Key of the epic; null if none is stated.'],
      labels: [
        `array_to_string(i.labels, ', ')`,
        'Labels, separated by a comma; one row each in bi.issue_labels.',
      ],
      components: [`array_to_string(i.components, ', ')`, 'Names of components, separated by a comma.'],
      fix_versions: [`array_to_string(i.fix_versions, ', ')`, 'Names of fix versions, separated by a comma.'],
      security_level: [
        'i.security_level',
        'Name of the security level; null if everybody of the project may see it at the source.',
      ],
      due_date: ['i.due_date', 'Due day; a calendar day without a time zone.'],
      created_at: ['i.created_at', 'When it was created (UTC).'],
      updated_at: ['i.updated_at', 'When it was last changed at the source (UTC).'],
      resolved_at: ['i.resolved_at', 'When it was resolved (UTC); null while unresolved.'],
      created_date: [utcDay('i.created_at'), 'Day of creation in UTC.'],
      resolved_date: [utcDay('i.resolved_at'), 'Day of resolution in UTC.'],
      story_points: storyPoints('i.story_points'),
      original_estimate_hours: [hours('i.original_estimate_seconds'), 'Original estimate in hours of work.'],
      remaining_estimate_hours: [
        hours('i.remaining_estimate_seconds'),
        'Remaining estimate in hours of work.',
      ],
      time_spent_hours: [hours('i.time_spent_seconds'), 'Time logged in hours of work, without sub-tasks.'],
      votes: ['i.votes', 'How many people voted for it.'],
      watchers: ['i.watchers', 'How many people watch it.'],
      is_open: [
        `coalesce(st.category, 'unknown') <> 'done'`,
        'True unless the status is in the category done.',
      ],
      is_overdue: [
        `coalesce(i.due_date < ${today} and coalesce(st.category, 'unknown') <> 'done', false)`,
        'True when open and the due day is before today in UTC.',
      ],
      age_days: [
        days(
          elapsed(
            'i.created_at',
            `case when st.category = 'done' then coalesce(i.resolved_at, i.updated_at) else now() end`,
          ),
        ),
        'Days from creation to now; of a done issue to its resolution (where it has none, its last change).',
      ],
      synced_at: syncedAt('i'),
    },
    from: `tracker.issues i
      ${sourceOf('i')}
      ${label('projects', 'p', 'i', 'i.project_id')}
      ${label('issue_types', 't', 'i', 'i.issue_type_id')}
      ${label('statuses', 'st', 'i', 'i.status_id')}
      ${label('priorities', 'pr', 'i', 'i.priority_id')}
      ${label('users', 'ua', 'i', 'i.assignee_id')}
      ${label('users', 'ur', 'i', 'i.reporter_id')}
      ${label('issues', 'pa', 'i', 'i.parent_id')}
      ${label('issues', 'ep', 'i', 'i.epic_id')}
      where i._deleted_at is null`,
  },
  issue_status_history: {
    about: 'Time in status; one row per live issue and stay in a status, computed from the changelog.',
    columns: {
      source: source('h.source'),
      issue_id: issueId('h.issue_id'),
      issue_key: issueKey('h.issue_key'),
      project_id: projectId('h.project_id'),
      project_key: projectKey('h.project_key'),
      issue_type: issueType(),
      status_sequence: ['h.sequence', 'Place of the stay in the life of the issue, from 0.'],
      status: [
        'h.status',
        'Status of the stay, by its name of today; if it no longer exists, by its name at the time.',
      ],
      status_id: ['h.status_ref', 'Id of the status.'],
      status_category: [
        'h.category',
        'todo, in_progress, done, or unknown: the status is no longer known to the source, or it does not say.',
      ],
      previous_status_category: ['h.previous_category', 'Category of the stay before; null for the first.'],
      transition: [
        `case when h.previous_category is null then 'new'
          when h.previous_category = 'done' and h.category <> 'done' then 'reopened'
          when h.previous_category = h.category then 'lateral'
          when h.category = 'done' then 'forward'
          when h.previous_category = 'unknown' or h.category = 'unknown' then 'unknown'
          when h.category = 'todo' then 'backward' else 'forward' end`,
        'How it came there: new, forward, backward, lateral (same category), reopened (left done), or unknown.',
      ],
      entered_at: [
        'h.entered_at',
        'When the stay began (UTC); of the first stay when the issue was created.',
      ],
      left_at: ['h.left_at', 'When the stay ended (UTC); null for the status of today.'],
      entered_date: [utcDay('h.entered_at'), 'Day of entered_at in UTC.'],
      entered_by_id: personId('h.entered_by', 'Who moved it there; for the first stay the creator'),
      entered_by_name: personName('u', 'Who moved it there'),
      is_current: ['h.left_at is null', 'True for the stay that lasts.'],
      seconds_in_status: [
        `${elapsed('h.entered_at', 'coalesce(h.left_at, now())')}::bigint`,
        'Length of the stay in seconds, until now if it lasts.',
      ],
      days_in_status: [
        days(elapsed('h.entered_at', 'coalesce(h.left_at, now())')),
        'Length of the stay in days of 24 hours, until now if it lasts.',
      ],
    },
    from: `${stays} h
      ${label('issue_types', 't', 'h', 'h.issue_type_id')}
      ${label('users', 'u', 'h', 'h.entered_by')}`,
  },
  issue_cycle_times: {
    about:
      'Lead and cycle time; one row per live issue. An issue that was reopened and is not done has no done_at.',
    columns: {
      source: source('c.source'),
      issue_id: issueId('c.issue_id'),
      issue_key: issueKey('c.issue_key'),
      project_id: projectId('c.project_id'),
      project_key: projectKey('c.project_key'),
      issue_type: issueType(),
      story_points: storyPoints('c.story_points'),
      created_at: ['c.created_at', 'When it was created (UTC).'],
      first_started_at: ['c.first_started_at', 'When it was first in progress (UTC); null if never.'],
      first_done_at: ['c.first_done_at', 'When it was first done (UTC); null if never.'],
      done_at: [
        'case when c.is_done then c.last_done_at end',
        'When it last became done (UTC); null while it is not done.',
      ],
      done_date: [utcDay('case when c.is_done then c.last_done_at end'), 'Day of done_at in UTC.'],
      lead_time_days: [
        days(`case when c.is_done then ${elapsed('c.created_at', 'c.last_done_at')} end`),
        'Days of 24 hours from creation to done_at.',
      ],
      cycle_time_days: [
        days(
          `case when c.is_done and c.first_started_at is not null then ${elapsed('c.first_started_at', 'c.last_done_at')} end`,
        ),
        'Days of 24 hours from first_started_at to done_at; null if it was never in progress.',
      ],
      todo_days: [days('c.todo_seconds'), 'Days spent in statuses of the category todo, until now.'],
      in_progress_days: [
        days('c.in_progress_seconds'),
        'Days spent in statuses of the category in_progress, until now.',
      ],
      reopen_count: ['c.reopen_count', 'How often it left done.'],
      status_changes: ['c.status_changes', 'How often its status changed.'],
      is_done: ['c.is_done', 'True when its last status by the changelog is done.'],
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
    about:
      'Created, done and reopened issues; one row per source, project, issue type and week (from Monday, UTC) in which anything happened.',
    columns: {
      source: source('e.source'),
      project_id: projectId('e.project_id'),
      project_key: projectKey('e.project_key'),
      issue_type: issueType('e.issue_type'),
      week_start: ['e.week_start', 'Monday of the week, in UTC; see bi.calendar.week_start.'],
      created_issues: ['e.created', 'Issues created in the week that still live.'],
      done_issues: ['e.done', 'Arrivals in done; an issue that is done twice counts twice.'],
      reopened_issues: ['e.reopened', 'Departures from done.'],
      net_open_change: [
        'e.created - e.done + e.reopened',
        'By how much the number of open issues grew; summed over all weeks it is the number of open issues.',
      ],
      done_points: ['e.done_points::numeric(28,4)', 'Story points (of today) of the arrivals in done.'],
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
    about:
      'How many live issues stood in each status category at the end of each day (UTC); one row per source, project, category and day, from the first issue in the category until today; without gaps since 2000.',
    columns: {
      source: source('f.source'),
      project_id: projectId('f.project_id'),
      project_key: projectKey('f.project_key'),
      status_category: ['f.category', 'todo, in_progress, done or unknown.'],
      date_day: ['f.date_day', 'The day in UTC; see bi.calendar.'],
      issues: ['f.issues::bigint', 'Issues in the category at the end of the day.'],
    },
    // Two levels, because a window cannot be filtered by itself; zeros fill the gaps, because a join on days would be a join on ranges.
    from: `(
      select e.source, e.source_id, e.project_id, e.project_key, e.category, e.date_day,
        sum(sum(e.delta)) over flow as issues, sum(sum(e.seen)) over flow as seen
      from (
        select h.source, h.source_id, h.project_id, h.project_key, h.category, part.date_day, part.delta, 1 as seen
        from ${stays} h
        cross join lateral (values (${utcDay('h.entered_at')}, 1), (${utcDay('h.left_at')}, -1)) as part (date_day, delta)
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
    about:
      'Velocity and predictability; one row per live sprint. Issues count by where they were when the sprint started and ended; points are those of today.',
    columns: {
      source: source(),
      sprint_id: ['sp.id::text', 'Sprint id.'],
      sprint_name: ['sp.name', 'Name.'],
      sprint_state: ['sp.state', 'future, active or closed.'],
      board_id: ['sp.board_id::text', 'Id of the board it was created on.'],
      board_name: ['b.name', 'Name of that board.'],
      goal: ['sp.goal', 'Sprint goal.'],
      start_at: ['sp.start_at', 'When it starts or started (UTC); null if not planned yet.'],
      end_at: ['sp.end_at', 'When it is planned to end (UTC).'],
      completed_at: ['sp.completed_at', 'When it was closed (UTC); null while it is open.'],
      member_issues: [issuesWhere('member'), 'Issues in it now; a closed sprint keeps its issues.'],
      committed_issues: [issuesWhere('committed'), 'Issues in it when it started; 0 before that.'],
      added_issues: [issuesWhere('added'), 'Issues that came after the start and before the end.'],
      removed_issues: [
        issuesWhere('removed'),
        'Of the committed and added ones, those not in it at its end.',
      ],
      done_issues: [issuesWhere('done'), 'Issues in it and done at its end; of an active sprint, now.'],
      carried_over_issues: [
        issuesWhere('carried_over'),
        'Issues in it and not done at its end; of an active sprint, now.',
      ],
      member_points: [pointsWhere('member'), 'Story points of member_issues.'],
      committed_points: [pointsWhere('committed'), 'Story points of committed_issues.'],
      added_points: [pointsWhere('added'), 'Story points of added_issues.'],
      removed_points: [pointsWhere('removed'), 'Story points of removed_issues.'],
      done_points: [pointsWhere('done'), 'Story points of done_issues.'],
      carried_over_points: [pointsWhere('carried_over'), 'Story points of carried_over_issues.'],
      done_to_committed_ratio: [
        ratio('a.done_points', 'a.committed_points'),
        'done_points by committed_points; may exceed 1; null without committed points.',
      ],
      synced_at: syncedAt('sp'),
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
    about:
      'Which issues are or ever were in which sprint, and how they fared; one row per live sprint and live issue.',
    columns: {
      source: source('m.source'),
      sprint_id: ['m.sprint_id', 'Sprint id, see bi.sprints.sprint_id.'],
      sprint_name: ['m.sprint_name', 'Name of the sprint.'],
      sprint_state: ['m.state', 'future, active or closed.'],
      board_id: ['m.board_id::text', 'Id of the board the sprint was created on.'],
      issue_id: issueId('m.issue_id'),
      issue_key: issueKey('m.issue_key'),
      project_id: projectId('m.project_id'),
      project_key: projectKey('m.project_key'),
      issue_type: issueType(),
      story_points: storyPoints('m.story_points'),
      added_at: [
        'case when m.began_inside then m.created_at else m.first_came_at end',
        'When it first came into the sprint (UTC); if no change tells, when the issue was created.',
      ],
      removed_at: [
        'case when not m.is_member then m.last_left_at end',
        'When it last left the sprint (UTC); null while it is in it.',
      ],
      is_member: ['m.is_member', 'True when it is in the sprint now; a closed sprint keeps its issues.'],
      is_committed: ['m.is_committed', 'True when it was in the sprint at its start.'],
      is_added: [
        'm.came_late and not m.is_committed',
        'True when it came after the start and before the end.',
      ],
      is_removed: [isRemoved, 'True when it was committed or added and not in the sprint at its end.'],
      is_done: [
        isDoneInSprint,
        'True when it was in the sprint and done at its end; of an active sprint, now.',
      ],
      is_carried_over: [
        isCarriedOver,
        'True when it was in the sprint and not done at its end; of an active sprint, now.',
      ],
      status_category_at_end: [
        'm.category_at_end',
        'Status category when the sprint ended (completed_at, else its planned end); of an open sprint, now.',
      ],
    },
    from: `${memberships} m ${label('issue_types', 't', 'm', 'm.issue_type_id')}`,
  },
  worklogs: {
    about: 'Time sheets; one row per live entry of a live issue.',
    columns: {
      source: source(),
      worklog_id: ['w.id::text', 'Worklog id.'],
      issue_id: issueId('w.issue_id'),
      issue_key: issueKey('i.key'),
      project_id: projectId('i.project_id'),
      project_key: projectKey('p.key'),
      issue_type: issueType(),
      author_id: personId('w.author_id', 'Who did the work'),
      author_name: personName('u', 'Who did the work'),
      started_at: ['w.started_at', 'When the work began (UTC).'],
      // A sub-select, because it is only run when the column is asked for; unknown zones would make every query fail.
      work_date: [
        `(w.started_at at time zone case when u.time_zone in (select z.name from pg_timezone_names z) then u.time_zone else 'UTC' end)::date`,
        "Day on which the work began in the author's own time zone; in UTC if the author shows none that Postgres knows.",
      ],
      time_spent_seconds: ['w.time_spent_seconds', 'Duration of the work in seconds.'],
      time_spent_hours: [hours('w.time_spent_seconds'), 'Duration of the work in hours.'],
      work_comment: [
        'case when w.visibility is null then w.comment end',
        'What was done; null if its visibility is restricted.',
      ],
      is_restricted: [
        'w.visibility is not null',
        'True when not everybody who sees the issue may see the entry.',
      ],
      created_at: ['w.created_at', 'When the entry was made (UTC).'],
      updated_at: ['w.updated_at', 'When the entry was last edited (UTC).'],
      synced_at: syncedAt('w'),
    },
    from: `tracker.worklogs w
      ${sourceOf('w')}
      ${live('issues', 'i', 'w', 'w.issue_id')}
      ${label('projects', 'p', 'i', 'i.project_id')}
      ${label('issue_types', 't', 'i', 'i.issue_type_id')}
      ${label('users', 'u', 'w', 'w.author_id')}
      where w._deleted_at is null`,
  },
  comments: {
    about: 'Comments; one row per live comment of a live issue.',
    columns: {
      source: source(),
      comment_id: ['c.id::text', 'Comment id.'],
      issue_id: issueId('c.issue_id'),
      issue_key: issueKey('i.key'),
      project_id: projectId('i.project_id'),
      project_key: projectKey('p.key'),
      issue_type: issueType(),
      author_id: personId('c.author_id', 'The author'),
      author_name: personName('u', 'The author'),
      body: [
        'case when c.visibility is null then c.body end',
        'The comment as plain text; null if its visibility is restricted.',
      ],
      is_restricted: [
        'c.visibility is not null',
        'True when not everybody who sees the issue may see the comment.',
      ],
      is_public: ['c.is_public', 'Service desk: true when customers see it; null elsewhere.'],
      is_edited: ['c.updated_at > c.created_at', 'True when it was edited after it was written.'],
      created_at: ['c.created_at', 'When it was written (UTC).'],
      updated_at: ['c.updated_at', 'When it was last edited (UTC).'],
      created_date: [utcDay('c.created_at'), 'Day on which it was written, in UTC.'],
      synced_at: syncedAt('c'),
    },
    from: `tracker.comments c
      ${sourceOf('c')}
      ${live('issues', 'i', 'c', 'c.issue_id')}
      ${label('projects', 'p', 'i', 'i.project_id')}
      ${label('issue_types', 't', 'i', 'i.issue_type_id')}
      ${label('users', 'u', 'c', 'c.author_id')}
      where c._deleted_at is null`,
  },
  issue_changes: {
    about: 'Audit: every change of every field; one row per changed field of a live issue.',
    columns: {
      source: source(),
      history_id: ['c.history_id::text', 'Id of the change; fields changed together share it.'],
      item_number: ['c.item', 'Place of the field within the change, from 0.'],
      issue_id: issueId('c.issue_id'),
      issue_key: issueKey('i.key'),
      project_id: projectId('i.project_id'),
      project_key: projectKey('p.key'),
      changed_at: ['c.changed_at', 'When it was changed (UTC).'],
      changed_date: [utcDay('c.changed_at'), 'Day of the change in UTC.'],
      changed_by_id: personId('c.author_id', 'Who changed it'),
      changed_by_name: personName('u', 'Who changed it'),
      field_id: ['c.field_id', 'Field id, e.g. status or customfield_10016.'],
      field_name: [
        'coalesce(f.name, c.field_name)',
        'Field name of today; of a field that is gone, at the time.',
      ],
      old_value: ['c.from_text', 'Value before, as people read it.'],
      new_value: ['c.to_text', 'Value after, as people read it.'],
      old_id: ['c.from_id', 'Value before, as id where the field has ids.'],
      new_id: ['c.to_id', 'Value after, as id where the field has ids.'],
    },
    from: `tracker.issue_changelog c
      ${sourceOf('c')}
      ${live('issues', 'i', 'c', 'c.issue_id')}
      ${label('projects', 'p', 'i', 'i.project_id')}
      ${label('users', 'u', 'c', 'c.author_id')}
      ${label('fields', 'f', 'c', 'c.field_id')}`,
  },
  issue_custom_fields: {
    about:
      'Custom fields that are set, for discovery; one row per live issue, field and value (several values, several rows).',
    columns: {
      source: source(),
      issue_id: issueId('i.id'),
      issue_key: issueKey('i.key'),
      project_id: projectId('i.project_id'),
      project_key: projectKey('p.key'),
      field_id: ['e.field_id', 'Field id, e.g. customfield_10016.'],
      field_name: ['coalesce(f.name, e.field_id)', 'Field name; names may repeat, ids do not.'],
      field_type: ['f.schema_type', 'Type of the field, e.g. number, option, array.'],
      value_number_in_field: ['v.place', 'Place of the value among those of the field, from 1.'],
      value_text: [
        `v.value #>> '{}'`,
        'The value as text: options by label, people by account id, anything nested as JSON.',
      ],
      value_number: [
        '(case when n.number = 0 or abs(n.number) between 1e-300 and 1e300 then n.number end)::double precision',
        'The value as a number; null if it is none, or beyond the range of a double.',
      ],
    },
    from: `tracker.issues i
      ${sourceOf('i')}
      ${label('projects', 'p', 'i', 'i.project_id')}
      cross join lateral jsonb_each(i.custom_fields) as e (field_id, value)
      cross join lateral jsonb_array_elements(
        case when jsonb_typeof(e.value) = 'array' then e.value else jsonb_build_array(e.value) end) with ordinality as v (value, place)
      cross join lateral (
        select case when jsonb_typeof(v.value) = 'number' then (v.value #>> '{}')::numeric end) as n (number)
      ${label('fields', 'f', 'i', 'e.field_id')}
      where i._deleted_at is null`,
  },
  issue_labels: {
    about: 'Labels; one row per live issue and label.',
    columns: {
      source: source(),
      issue_id: issueId('l.issue_id'),
      issue_key: issueKey('i.key'),
      project_id: projectId('i.project_id'),
      project_key: projectKey('p.key'),
      issue_label: ['l.label', 'The label.'],
    },
    from: `tracker.issue_labels l
      ${sourceOf('l')}
      ${live('issues', 'i', 'l', 'l.issue_id')}
      ${label('projects', 'p', 'i', 'i.project_id')}`,
  },
  data_freshness: {
    about:
      'Can this be trusted? One row per source and stream: how far the warehouse is complete, and what the last run said.',
    columns: {
      source: source(),
      stream: ['st.stream', 'Name of the stream.'],
      target_table: ['st.target', 'The table that its rows are in.'],
      freshness: [
        `case when st.state in ('unavailable', 'forbidden') then st.state when w.fresh_at is null then 'never'
          when now() - w.fresh_at <= make_interval(secs => st.freshness_seconds) then 'fresh' else 'stale' end`,
        'fresh, stale (older than promised), never (not loaded yet), unavailable (the server has no such endpoint), forbidden.',
      ],
      is_stale: [
        `st.state not in ('unavailable', 'forbidden') and coalesce(now() - w.fresh_at > make_interval(secs => st.freshness_seconds), true)`,
        'True when stale or never loaded; unavailable and forbidden streams are not stale, they are absent.',
      ],
      fresh_at: [
        'w.fresh_at',
        'The warehouse holds everything up to here (UTC): when the last complete walk over the stream began, by our clock.',
      ],
      seconds_since_fresh: [
        `${lasted('w.fresh_at', 'now()')}::bigint`,
        'Age of fresh_at in seconds; null if never loaded.',
      ],
      freshness_promise_seconds: ['st.freshness_seconds', 'Older than this is stale.'],
      watermark_at: [
        'ck.watermark',
        "The stored watermark, by the source's clock (UTC); null for lists that are read whole.",
      ],
      full_at: ['ck.full_at', "Watermark of the last complete full walk, by the source's clock (UTC)."],
      last_run_id: ['r.run_id::text', 'The newest run that touched the stream, see bi.sync_runs.'],
      last_status: ['r.status', 'What that run said of the stream, see bi.stream_runs.status.'],
      last_finished_at: ['r.finished_at', 'When that run was done with the stream (UTC).'],
      last_rows_received: ['r.received', 'Records that run received.'],
      last_success_at: ['ok.finished_at', 'When a run was last done with the stream without a fault (UTC).'],
      open_rejects: ['rj.open', 'Records that could not become rows and wait in ops.rejects.'],
      reason: ['coalesce(st.reason, r.reason)', 'Why it is not available, or what the last run said.'],
    },
    from: `ops.streams st
      ${sourceOf('st')}
      left join ops.checkpoints ck on ck.source_id = st.source_id and ck.stream = st.stream
      left join lateral (
        select x.run_id, x.status, x.finished_at, x.received, x.reason from ops.run_streams x
        where x.source_id = st.source_id and x.stream = st.stream order by x.run_id desc limit 1) r on true
      left join lateral (
        select max(x.finished_at) as finished_at from ops.run_streams x
        where x.source_id = st.source_id and x.stream = st.stream and x.status = 'ok') ok on true
      left join lateral (
        select coalesce(
          (select max(x.opened_at) from ops.walks x
            where x.source_id = st.source_id and x.stream = st.stream and x.status = 'done' and x.kind <> 'backfill'),
          (select max(x.started_at) from ops.run_streams x join ops.runs using (run_id)
            where x.source_id = st.source_id and x.stream = st.stream and x.status = 'ok' and kind in ('sync', 'full'))) as fresh_at
      ) w on true
      left join lateral (
        select count(*) as open from ops.rejects x
        where x.source_id = st.source_id and x.stream = st.stream and x.status = 'open') rj on true`,
  },
  sync_runs: {
    about: 'Runs of the pipelines; one row per run.',
    columns: {
      run_id: ['r.run_id::text', 'Run id.'],
      source: source(),
      pipeline: ['r.pipeline', 'The pipeline.'],
      run_kind: ['r.kind', 'sync (incremental), full, backfill or reconcile.'],
      trigger_type: ['r.trigger', 'manual, schedule or api.'],
      status: [
        'r.status',
        'running, succeeded, partly_failed, failed, interrupted (asked to stop), lost (its process died) or needs_attention.',
      ],
      started_at: ['r.started_at', 'When it began (UTC).'],
      finished_at: ['r.finished_at', 'When it ended (UTC); null while running.'],
      started_date: [utcDay('r.started_at'), 'Day on which it began, in UTC.'],
      duration_seconds: [
        `${lasted('r.started_at', 'r.finished_at')}::double precision`,
        'How long it took, in seconds; null while running.',
      ],
      streams: ['coalesce(x.streams, 0)', 'Streams it touched.'],
      failed_streams: [
        'coalesce(x.failed, 0)',
        'Of these, failed ones and those whose receipt did not match.',
      ],
      ...runCounts('r'),
      http_requests: ['r.requests', 'HTTP requests sent to the source.'],
      http_retries: ['r.retries', 'Of these, repeated ones.'],
      throttled_seconds: [
        '(r.throttled_ms / 1000.0)::double precision',
        'Seconds spent waiting for the rate limit, summed over concurrent requests.',
      ],
      error_code: ['r.error_code', 'Class of the failure, if it failed.'],
      error_message: ['r.error_message', 'What went wrong, in one line.'],
      app_version: ['r.app_version', 'Version of tidemark.'],
    },
    from: `ops.runs r
      ${sourceOf('r')}
      left join (
        select run_id, count(*) as streams, count(*) filter (where status in ('failed', 'partial')) as failed
        from ops.run_streams group by run_id
      ) x on x.run_id = r.run_id`,
  },
  stream_runs: {
    about: 'What each run did for each stream, with its receipt; one row per run and stream.',
    columns: {
      run_id: ['x.run_id::text', 'The run, see bi.sync_runs.run_id.'],
      source: source(),
      pipeline: ['r.pipeline', 'The pipeline.'],
      run_kind: ['r.kind', 'sync (incremental), full, backfill or reconcile.'],
      stream: ['x.stream', 'The stream.'],
      status: [
        'x.status',
        'ok, unavailable, forbidden, partial (a receipt does not match), failed, interrupted, skipped, attention or running.',
      ],
      reason: ['x.reason', 'Why it is not ok.'],
      started_at: ['x.started_at', 'When the run began with the stream (UTC).'],
      finished_at: ['x.finished_at', 'When it was done with it (UTC); null while running.'],
      started_date: [utcDay('x.started_at'), 'Day of started_at in UTC.'],
      duration_seconds: [
        `${lasted('x.started_at', 'x.finished_at')}::double precision`,
        'How long it took, in seconds; null while running.',
      ],
      slices: ['x.slices', 'Slices read to their end.'],
      records_expected: ['x.expected', 'Records the source said it has; null where it does not say.'],
      records_fetched: ['x.fetched', 'Distinct records that came.'],
      records_landed: ['x.landed', 'Records accounted for in the warehouse.'],
      ...runCounts('x'),
    },
    from: `ops.run_streams x ${sourceOf('x')} left join ops.runs r on r.run_id = x.run_id`,
  },
};

const calendarColumns: Readonly<Record<string, readonly [type: string, expression: string, about: string]>> =
  {
    date_day: ['date primary key', 'd::date', 'The day.'],
    week_start: ['date not null', `date_trunc('week', d)::date`, 'Monday of its week.'],
    month_start: ['date not null', `date_trunc('month', d)::date`, 'First day of its month.'],
    quarter_start: ['date not null', `date_trunc('quarter', d)::date`, 'First day of its quarter.'],
    year_start: ['date not null', `date_trunc('year', d)::date`, 'First day of its year.'],
    iso_year: [
      'integer not null',
      'extract(isoyear from d)::integer',
      'Year of its ISO week; differs at the turn of the year.',
    ],
    iso_week: ['integer not null', 'extract(week from d)::integer', 'ISO week, 1 to 53.'],
    month_number: ['integer not null', 'extract(month from d)::integer', 'Month, 1 to 12.'],
    day_of_week: [
      'integer not null',
      'extract(isodow from d)::integer',
      'Day of the week, 1 Monday to 7 Sunday.',
    ],
    day_name: ['text not null', `to_char(d, 'FMDay')`, 'English name of the day.'],
    is_weekend: ['boolean not null', 'extract(isodow from d) >= 6', 'True on Saturday and Sunday.'],
  };

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const statements: readonly string[] = [
  `create table bi.calendar (${Object.entries(calendarColumns)
    .map(([name, [type]]) => `${name} ${type}`)
    .join(', ')})`,
  `insert into bi.calendar select ${Object.values(calendarColumns)
    .map(([, expression]) => expression)
    .join(', ')} from generate_series(timestamp '2010-01-01', timestamp '2039-12-31', interval '1 day') d`,
  `comment on table bi.calendar is 'The days from 2010 to 2039, one row each: to fill gaps and to group by week, month, quarter.'`,
  ...Object.entries(calendarColumns).map(
    ([name, [, , about]]) => `comment on column bi.calendar.${name} is ${quoted(about)}`,
  ),
  ...Object.entries(views).flatMap(([name, { about, columns, from }]) => [
    `create view bi.${name} as select ${Object.entries(columns)
      .map(([column, [expression]]) => `${expression} as ${column}`)
      .join(', ')} from ${from}`,
    `comment on view bi.${name} is ${quoted(about)}`,
    ...Object.entries(columns).map(
      ([column, [, comment]]) => `comment on column bi.${name}.${column} is ${quoted(comment)}`,
    ),
  ]),
];
