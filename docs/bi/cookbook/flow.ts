import type { Chapter } from './recipe.ts';

export const flow: Chapter = {
  title: 'Flow of work',
  recipes: [
    {
      title: 'How long does work take, month by month?',
      about:
        'Cycle time is from the first start to the last arrival in done. Averages mislead: a few very old issues move them a lot.',
      sql: `select date_trunc('month', done_date)::date as month_start, project_key, count(*) as issues,
  round(percentile_cont(0.5) within group (order by cycle_time_days)::numeric, 2) as median_days,
  round(percentile_cont(0.85) within group (order by cycle_time_days)::numeric, 2) as p85_days
from bi.issue_cycle_times
where cycle_time_days is not null
group by 1, 2
order by 1, 2;`,
    },
    {
      title: 'How many days does it take to fix a bug?',
      about:
        'Say which: lead time begins with the report, cycle time with the first start of the work. Both end with the last arrival in done.',
      sql: `select project_key, count(*) as fixed, round(avg(lead_time_days), 2) as mean_lead_time_days,
  round(avg(cycle_time_days), 2) as mean_cycle_time_days, count(cycle_time_days) as started
from bi.issue_cycle_times
where issue_type = 'Bug' and is_done
group by project_key
order by project_key;`,
    },
    {
      title: 'How many hours went into each epic?',
      about:
        'Work on the epic itself, on its issues and on their sub-tasks, which name no epic of their own.',
      sql: `select i.epic_issue_key, sum(w.time_spent_hours) as hours
from bi.worklogs w
join bi.issues i on i.source = w.source and i.issue_id = w.issue_id
where i.epic_issue_key is not null
group by i.source, i.epic_issue_id, i.epic_issue_key
order by hours desc, i.epic_issue_key
limit 20;`,
    },
    {
      title: 'How long do reviews take?',
      about: 'One stay is one visit to the status; an issue that is reviewed twice counts twice.',
      sql: `select project_key, count(*) as reviews,
  round(percentile_cont(0.5) within group (order by days_in_status)::numeric, 2) as median_days,
  count(*) filter (where days_in_status > 5) as longer_than_5_days
from bi.issue_status_history
where status = 'In Review' and status_category = 'in_progress' and not is_current
group by project_key
order by project_key;`,
    },
    {
      title: 'Where does work wait?',
      about: 'Days that finished stays took, added up by status: the largest sum is where to look first.',
      sql: `select status, status_category, count(*) as stays, round(sum(days_in_status), 1) as total_days
from bi.issue_status_history
where project_key = 'WEB' and not is_current
group by status, status_category
order by total_days desc, status;`,
    },
    {
      title: 'Which issues were reopened most often?',
      about: 'Every departure from done counts. An issue that is not done now has no `done_at`.',
      sql: `select issue_key, issue_type, reopen_count, is_done
from bi.issue_cycle_times
where reopen_count > 0
order by reopen_count desc, issue_key
limit 20;`,
    },
    {
      title: 'Does the backlog grow?',
      about:
        'Twelve weeks of created against done. The calendar gives the weeks in which nothing happened; the filter on the project belongs to the join.',
      sql: `select w.week_start, coalesce(sum(t.created_issues), 0) as created, coalesce(sum(t.done_issues), 0) as done,
  coalesce(sum(t.net_open_change), 0) as growth
from (select distinct week_start from bi.calendar where date_day between current_date - 77 and current_date) w
left join bi.throughput_weekly t on t.week_start = w.week_start and t.project_key = 'WEB'
group by w.week_start
order by w.week_start;`,
    },
    {
      title: 'Which work in progress is too old?',
      about:
        'Days since the first start, beside the time within which 85 % of the work of the project was finished in the last year.',
      sql: `select i.issue_key, i.status, i.assignee_name,
  round(extract(epoch from now() - c.first_started_at) / 86400, 1) as days_in_progress, usual.p85_days
from bi.issues i
join bi.issue_cycle_times c on c.source = i.source and c.issue_id = i.issue_id
join (
  select source, project_id,
    round(percentile_cont(0.85) within group (order by cycle_time_days)::numeric, 1) as p85_days
  from bi.issue_cycle_times
  where is_done and done_at >= now() - interval '365 days'
  group by source, project_id
) usual on usual.source = i.source and usual.project_id = i.project_id
where i.status_category = 'in_progress' and not c.is_done and c.first_started_at < now() - usual.p85_days * interval '1 day'
order by days_in_progress desc, i.issue_key;`,
    },
    {
      title: 'What is blocked, and by what?',
      about: 'Open issues with a link “is blocked by” to an issue that is not done.',
      sql: `select project_key, issue_key, other_issue_key as blocked_by, other_status
from bi.issue_links
where is_blocked and not is_done
order by project_key, issue_key, blocked_by;`,
    },
    {
      title: 'Who has too much to do?',
      about: 'Open issues by assignee. The row without a name is the unassigned work.',
      sql: `select assignee_name, open_issues, in_progress_issues, overdue_issues, open_story_points
from bi.user_workload
order by open_issues desc, assignee_name nulls first
limit 15;`,
    },
    {
      title: 'How fast is the first response?',
      about:
        'The first public comment of somebody else than the reporter, in working hours: nights count, weekends and holidays do not.',
      sql: `select date_trunc('month', created_date)::date as month_start, count(*) as issues,
  count(first_response_at) as answered,
  round(percentile_cont(0.5) within group (order by first_response_working_hours)::numeric, 1) as median_hours
from bi.issue_response_times
where created_date >= current_date - 180
group by 1
order by 1;`,
    },
    {
      title: 'How many bugs are resolved within ten working days?',
      about:
        'A service level: the share of what was resolved in time, by project. Open bugs are not in it yet.',
      sql: `select project_key, count(*) as resolved, count(*) filter (where resolution_working_hours <= 240) as in_time,
  round(count(*) filter (where resolution_working_hours <= 240)::numeric / count(*), 3) as in_time_ratio
from bi.issue_response_times
where issue_type = 'Bug' and resolution_working_hours is not null
group by project_key
order by project_key;`,
    },
    {
      title: 'How far are the releases?',
      about: 'Issues by fix version. An issue with two fix versions counts in both.',
      sql: `select project_key, version_name, release_date, issues, done_issues, done_issues_ratio
from bi.versions
where issues > 0
order by release_date desc nulls first, project_key, version_name
limit 10;`,
    },
    {
      title: 'How did work in progress develop?',
      about: 'Issues in each category at the end of each day: the bands of a cumulative flow diagram.',
      sql: `select date_day, sum(issues) filter (where status_category = 'todo') as to_do,
  sum(issues) filter (where status_category = 'in_progress') as in_progress,
  sum(issues) filter (where status_category = 'done') as done
from bi.cumulative_flow_daily
where project_key = 'WEB' and date_day between current_date - 30 and current_date - 1
group by date_day
order by date_day;`,
    },
    {
      title: 'How do bugs come in and go out?',
      about: 'Created and done bugs by month. A bug that is done twice counts twice under done.',
      sql: `select date_trunc('month', week_start)::date as month_start, sum(created_issues) as created, sum(done_issues) as done,
  sum(reopened_issues) as reopened
from bi.throughput_weekly
where issue_type = 'Bug'
group by 1
order by 1;`,
    },
    {
      title: 'Where did the work stand four weeks ago?',
      about:
        'Any field as of any instant: rows are valid from one instant up to the next. Here the status, with the points of that moment.',
      sql: `select s.value_text as status, count(*) as issues, sum(p.value_number) as points
from bi.issue_field_history s
left join bi.issue_field_history p on p.source = s.source and p.issue_id = s.issue_id and p.field_name = 'story_points'
  and p.project_key = 'WEB'
  and p.valid_from <= now() - interval '28 days' and (p.valid_to > now() - interval '28 days' or p.valid_to is null)
where s.project_key = 'WEB' and s.field_name = 'status'
  and s.valid_from <= now() - interval '28 days' and (s.valid_to > now() - interval '28 days' or s.valid_to is null)
group by s.value_text
order by s.value_text;`,
    },
    {
      title: 'Who logged how many hours?',
      about:
        'The day of a worklog is the author’s own: where it is still Sunday for the author, it is Sunday.',
      sql: `select author_name, date_trunc('month', work_date)::date as month_start, sum(time_spent_hours) as hours
from bi.worklogs
where work_date >= current_date - 90
group by author_id, 1, 2
order by 2, 3 desc, 1;`,
    },
  ],
};
