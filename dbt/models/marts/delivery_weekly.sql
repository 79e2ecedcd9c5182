-- Two facts of one grain, each aggregated before they meet.
with flow as (
  select source, project_key, week_start,
    sum(created_issues)::bigint as created_issues,
    sum(done_issues)::bigint as done_issues,
    sum(net_open_change)::bigint as net_open_change
  from {{ source('tidemark', 'throughput_weekly') }}
  group by source, project_key, week_start
),
times as (
  select t.source, t.project_key, c.week_start,
    percentile_cont(0.5) within group (order by t.cycle_time_days)::numeric(18,3) as median_cycle_time_days,
    percentile_cont(0.85) within group (order by t.cycle_time_days)::numeric(18,3) as p85_cycle_time_days
  from {{ source('tidemark', 'issue_cycle_times') }} t
  join {{ source('tidemark', 'calendar') }} c on c.date_day = t.done_date
  group by t.source, t.project_key, c.week_start
)
select f.source, f.project_key, f.week_start, f.created_issues, f.done_issues, f.net_open_change,
  t.median_cycle_time_days, t.p85_cycle_time_days
from flow f
left join times t on t.source = f.source and t.project_key = f.project_key and t.week_start = f.week_start
where f.project_key is not null
