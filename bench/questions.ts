/**
 * Questions that an analyst writes in a hurry: views joined to views, what was true at an instant, sums over everything. The bench times them
 * beside the questions of the views and of the cookbook, which were written with care.
 */
export const questions: readonly { readonly what: string; readonly sql: string }[] = [
  {
    what: 'Open bugs by priority, as of 45 days ago',
    sql: `select p.value_text, count(*)
from bi.issue_field_history p
join bi.issue_status_history s on s.source = p.source and s.issue_id = p.issue_id
  and s.entered_at <= now() - interval '45 days' and (s.left_at > now() - interval '45 days' or s.left_at is null)
where p.field_name = 'priority'
  and p.valid_from <= now() - interval '45 days' and (p.valid_to > now() - interval '45 days' or p.valid_to is null)
  and s.status_category <> 'done' and s.issue_type = 'Bug'
group by 1`,
  },
  {
    what: 'Work in progress by assignee, as of 45 days ago',
    sql: `select a.value_id, count(*)
from bi.issue_field_history a
join bi.issue_status_history s using (source, issue_id)
where a.field_name = 'assignee'
  and a.valid_from <= now() - interval '45 days' and (a.valid_to > now() - interval '45 days' or a.valid_to is null)
  and s.entered_at <= now() - interval '45 days' and (s.left_at > now() - interval '45 days' or s.left_at is null)
  and s.status_category = 'in_progress'
group by 1`,
  },
  {
    what: 'Issues carried over that were reopened within their sprint',
    sql: `select distinct i.sprint_id, i.issue_id
from bi.sprint_issues i
join bi.sprints s on s.source = i.source and s.sprint_id = i.sprint_id
join bi.issue_status_history h on h.source = i.source and h.issue_id = i.issue_id
  and h.transition = 'reopened' and h.entered_at between s.start_at and s.completed_at
where i.is_carried_over and s.sprint_state = 'closed'`,
  },
  {
    what: 'Hours by epic, sub-tasks included',
    sql: `select coalesce(case when i.issue_type = 'Epic' then i.issue_key end, i.epic_issue_key, p.epic_issue_key,
  case when p.issue_type = 'Epic' then p.issue_key end) as epic, sum(w.time_spent_seconds) / 3600.0 as hours
from bi.worklogs w
join bi.issues i using (source, issue_id)
left join bi.issues p on p.source = i.source and p.issue_id = i.parent_issue_id
group by 1`,
  },
  {
    what: 'Cycle time in working days',
    sql: `select count(*), percentile_cont(0.5) within group (order by e.working_day_number - b.working_day_number)
from bi.issue_cycle_times t
join bi.calendar b on b.date_day = t.first_started_at::date
join bi.calendar e on e.date_day = t.done_date
where t.cycle_time_days is not null`,
  },
  {
    what: 'Who had the issues when they were done, in 90 days',
    sql: `select a.value_id, count(*)
from bi.issues i
join bi.issue_field_history a on a.source = i.source and a.issue_id = i.issue_id and a.field_name = 'assignee'
  and a.valid_from <= i.done_at and (a.valid_to > i.done_at or a.valid_to is null)
where i.done_at >= now() - interval '90 days'
group by 1`,
  },
  {
    what: 'Purchases by ad set',
    sql: 'select ad_set_id, sum(purchases) from bi.ad_set_performance_daily group by 1',
  },
  {
    what: 'Cost of a purchase by ad',
    sql: 'select ad_id, sum(spend) / nullif(sum(purchases), 0) from bi.ad_performance_daily group by 1',
  },
  {
    what: 'Spend by targeted country',
    sql: `select t.target_value, p.currency, sum(p.spend)
from bi.ad_set_performance_daily p
join bi.ad_set_targets t using (source, ad_set_id)
where t.dimension = 'geo_targets.country_code'
group by 1, 2`,
  },
  {
    what: 'Spend by utm_campaign',
    sql: `select l.utm_campaign, sum(p.spend)
from bi.landing_pages l
join bi.ad_performance_daily p using (source, ad_id)
where item_number = 0
group by 1`,
  },
  {
    what: 'Failed deployments and their issues',
    sql: `select r.dag_run_id, l.to_name, i.status
from bi.workflow_runs r
join bi.cross_links l on l.source = r.source and l.from_kind = 'dag_run' and l.from_id = r.dag_run_id
left join bi.issues i on i.source = l.to_source and i.issue_id = l.to_id
where r.dag_role = 'deployment' and r.state = 'failed'`,
  },
  {
    what: 'Cycle time by label',
    sql: `select l.issue_label, percentile_cont(0.5) within group (order by c.cycle_time_days)
from bi.issue_labels l
join bi.issue_cycle_times c using (source, issue_id)
group by 1`,
  },
];
