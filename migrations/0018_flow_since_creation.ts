import { type Kysely, sql } from 'kysely';

/**
 * The cumulative flow where a change is dated before the creation of its issue, as imports bring it: until the creation the issue counted in a
 * category it had not come to, and was missing from another. Columns and comments stay.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const utcDay = (instant: string): string => `(${instant} at time zone 'UTC')::date`;
const today = utcDay('now()');
const sourceOf = (row: string): string => `join ops.sources s on s.source_id = ${row}.source_id`;
/** For names only, and therefore of tombstoned rows, too: what is gone keeps its name. */
const label = (table: string, alias: string, row: string, id: string): string =>
  `left join tracker.${table} ${alias} on ${alias}.source_id = ${row}.source_id and ${alias}.id = ${id}`;

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

/** Nothing counts before its issue was created: what a change from before says holds from the creation on. */
const sinceCreated = (instant: string): string =>
  utcDay(`case when ${instant} is not null then greatest(${instant}, h.created_at) end`);

interface View {
  /** In the order of the view as it is: only what a column is computed from may change. */
  readonly columns: Readonly<Record<string, string>>;
  readonly from: string;
}

const views: Readonly<Record<string, View>> = {
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
};

const statements: readonly string[] = Object.entries(views).map(
  ([name, { columns, from }]) =>
    `create or replace view bi.${name} as select ${Object.entries(columns)
      .map(([column, expression]) => `${expression} as ${column}`)
      .join(', ')} from ${from}`,
);
