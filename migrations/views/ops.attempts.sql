create or replace view ops.attempts as -- Attempts to change something by the dashboard or the API, in words; one row each.
select
  a.at as asked, -- As ops.audit.at.
  a.pipeline, -- As ops.audit.pipeline.
  concat_ws(' ', coalesce(substring(a.action from '^POST \S*/([a-z]+)(?: of the dashboard)?$'), a.action), a.params) as what, -- The last part of the route, and what it was asked with.
  case when a.http_status < 400 then 'done' when a.http_status < 500 then 'refused' else 'failed' end as state,
  case a.role
    when 'operate' then 'operate token' when 'read' then 'read token' when 'local' then 'no token needed' else 'no valid token'
  end as who, -- By which right it was asked.
  a.address as address, -- As ops.audit.address.
  case when a.action like '% of the dashboard' then 'dashboard' else 'API' end as by, -- Where it was asked.
  a.message as details, -- Why it was refused.
  case when a.pipeline is not null then a.dag_run_id end as request -- As ops.audit.dag_run_id.
from ops.audit a
order by a.at desc;
