/** Three questions a newcomer may ask of the warehouse, ready to be pasted into psql. */

export interface Question {
  readonly title: string;
  readonly sql: string;
}

export const questions: readonly Question[] = [
  {
    title: 'Where is the work?',
    sql: `select p.name as project,
  count(*) filter (where s.category = 'todo') as to_do,
  count(*) filter (where s.category = 'in_progress') as in_progress,
  count(*) filter (where s.category = 'done') as done
from tracker.issues i
join tracker.projects p using (source_id)
join tracker.statuses s using (source_id)
where p.id = i.project_id and s.id = i.status_id and i._deleted_at is null
group by 1 order by in_progress desc, project limit 8;`,
  },
  {
    title: 'How long does it take, from creation to resolution?',
    sql: `select t.name as type, count(*) as resolved,
  round((percentile_cont(0.5) within group (order by extract(epoch from i.resolved_at - i.created_at)) / 86400)::numeric, 1) as median_days,
  round((percentile_cont(0.9) within group (order by extract(epoch from i.resolved_at - i.created_at)) / 86400)::numeric, 1) as p90_days
from tracker.issues i
join tracker.issue_types t using (source_id)
where t.id = i.issue_type_id and i.resolved_at is not null and i._deleted_at is null
group by 1 order by resolved desc;`,
  },
  {
    title: 'Who changed most in the last four weeks of history?',
    sql: `select u.display_name as person, count(*) as changes, count(distinct c.issue_id) as issues
from tracker.issue_changelog c
join tracker.users u using (source_id)
where u.id = c.author_id
  and c.changed_at > (select max(changed_at) from tracker.issue_changelog) - interval '28 days'
group by 1 order by changes desc, person limit 5;`,
  },
];
