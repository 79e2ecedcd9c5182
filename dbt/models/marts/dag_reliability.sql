select source, dag_name,
  count(*) as runs,
  count(*) filter (where is_success) as succeeded,
  (count(*) filter (where is_success)::numeric / nullif(count(*) filter (where is_over), 0))::numeric(5,4) as success_ratio,
  percentile_cont(0.5) within group (order by duration_seconds)::numeric(18,3) as median_duration_seconds,
  max(finished_at) filter (where state = 'failed') as last_failed_at
from {{ source('tidemark', 'workflow_runs') }}
group by source, dag_name
