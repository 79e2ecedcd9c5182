import { type Kysely, sql } from 'kysely';

/**
 * An epic that an issue names by its key alone, and that has moved since: the tracker does not count that as a change of the issue, so the issue
 * keeps naming the former key, while another one that changed later names the new one. The view tells the key of today. Columns stay.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const utcDay = (instant: string): string => `(${instant} at time zone 'UTC')::date`;
const today = utcDay('now()');
/** Seconds, never negative, and never null: greatest() passes nulls over. */
const elapsed = (from: string, to: string): string => `greatest(0, extract(epoch from ${to} - ${from}))`;
/** Wide enough for every bigint. */
const hours = (duration: string): string => `round(${duration} / 3600.0, 2)::numeric(18,2)`;
const days = (duration: string): string => `round(${duration} / 86400, 3)::numeric(18,3)`;
/** Points are whatever people enter: one absurd entry must not make every query overflow. */
const points = (column: string): string =>
  `(case when abs(${column}) < 1e13 then ${column} end)::numeric(18,4)`;

/** For names only, and therefore of tombstoned rows, too: what is gone keeps its name. */
const label = (table: string, alias: string, id: string): string =>
  `left join tracker.${table} ${alias} on ${alias}.source_id = i.source_id and ${alias}.id = ${id}`;

/** The key of today of the issue that has the key, else of the one that had it. A sub-select: it is only run where the column is asked for. */
const keyOfToday = (key: string): string => `(
  select n.key from tracker.issue_keys k join tracker.issues n on n.source_id = k.source_id and n.id = k.issue_id
  where k.source_id = i.source_id and k.key = ${key}
  order by n.key <> k.key, n._deleted_at is not null, n.id desc limit 1)`;

const category = `coalesce(st.category, 'unknown')`;

/** In the order of the view as it is: only what a column is computed from may change. */
const columns: Readonly<Record<string, string>> = {
  source: 's.name',
  issue_id: 'i.id::text',
  issue_key: 'i.key',
  summary: 'i.summary',
  project_id: 'i.project_id::text',
  project_key: 'p.key',
  project_name: 'p.name',
  issue_type: 't.name',
  is_subtask: 't.subtask',
  status: `coalesce(st.name, '(status ' || i.status_id || ')')`,
  status_category: category,
  priority: 'pr.name',
  priority_rank: 'pr.rank',
  resolution: 'i.resolution',
  assignee_id: 'i.assignee_id',
  assignee_name: 'ua.display_name',
  reporter_id: 'i.reporter_id',
  reporter_name: 'ur.display_name',
  parent_issue_id: 'i.parent_id::text',
  parent_issue_key: 'pa.key',
  epic_issue_key: `coalesce(ep.key, ${keyOfToday('i.epic_key')}, i.epic_key)`,
  labels: `array_to_string(i.labels, ', ')`,
  components: `array_to_string(i.components, ', ')`,
  fix_versions: `array_to_string(i.fix_versions, ', ')`,
  security_level: 'i.security_level',
  due_date: 'i.due_date',
  created_at: 'i.created_at',
  updated_at: 'i.updated_at',
  resolved_at: 'i.resolved_at',
  created_date: utcDay('i.created_at'),
  resolved_date: utcDay('i.resolved_at'),
  story_points: points('i.story_points'),
  original_estimate_hours: hours('i.original_estimate_seconds'),
  remaining_estimate_hours: hours('i.remaining_estimate_seconds'),
  time_spent_hours: hours('i.time_spent_seconds'),
  votes: 'i.votes',
  watchers: 'i.watchers',
  is_open: `${category} <> 'done'`,
  is_overdue: `coalesce(i.due_date < ${today} and ${category} <> 'done', false)`,
  age_days: days(
    elapsed(
      'i.created_at',
      `case when st.category = 'done' then coalesce(i.resolved_at, i.updated_at) else now() end`,
    ),
  ),
  synced_at: 'i._synced_at',
};

const statements: readonly string[] = [
  `create or replace view bi.issues as select ${Object.entries(columns)
    .map(([column, expression]) => `${expression} as ${column}`)
    .join(', ')}
    from tracker.issues i
    join ops.sources s on s.source_id = i.source_id
    ${label('projects', 'p', 'i.project_id')}
    ${label('issue_types', 't', 'i.issue_type_id')}
    ${label('statuses', 'st', 'i.status_id')}
    ${label('priorities', 'pr', 'i.priority_id')}
    ${label('users', 'ua', 'i.assignee_id')}
    ${label('users', 'ur', 'i.reporter_id')}
    ${label('issues', 'pa', 'i.parent_id')}
    ${label('issues', 'ep', 'i.epic_id')}
    where i._deleted_at is null`,
  `comment on column bi.issues.epic_issue_key is 'Key of the epic today; as the issue names it where the epic is not in the warehouse; null if none is stated.'`,
];
