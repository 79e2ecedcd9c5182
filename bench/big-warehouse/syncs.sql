-- Nights of syncs: three runs each, with the receipts of their streams.

insert into ops.streams (source_id, stream, target, about, endpoint, state, checked_at)
select s.source_id, t.stream, s.name || '.' || t.stream, 'Rows of ' || t.stream, 'GET /' || t.stream,
  'available', fill.today()
from ops.sources s
join (values
  ('tracker',
    '{projects,users,fields,statuses,issue_types,priorities,boards,sprints,sprint_issues,issues,comments}'),
  ('ads', '{ad_accounts,campaigns,ad_sets,ads,change_history,report_daily,report_hourly,report_lifetime}'),
  ('workflow', '{dags,dag_runs,dag_run_steps}')
) k (name, streams) on k.name = s.name
cross join lateral unnest(k.streams::text[]) t (stream);

insert into ops.runs (
  pipeline, source_id, kind, trigger, status, app_version, epoch, started_at, finished_at, received,
  inserted, updated, unchanged, requests)
select s.name, s.source_id, case when n % 7 = 0 then 'full' else 'sync' end, 'schedule',
  case when fill.pick(n, s.source_id, 20) = 0 then 'failed' else 'succeeded' end, '0.2.0',
    fill.size('nights') - n,
  x.at, x.at + interval '4 minutes' + fill.part(n, s.source_id) * interval '20 minutes', 5000, 700, 1300,
  3000, 900
from generate_series(fill.size('nights') - 1, 0, -1) n
cross join ops.sources s
cross join lateral (
  select fill.today() - n * interval '1 day' - interval '22 hours' + s.source_id * interval '5 minutes' as at
) x
order by x.at;

insert into ops.run_streams (
  run_id, source_id, stream, status, reason, started_at, finished_at, slices, expected, read, stored,
  received, inserted, updated,
  unchanged, rows)
select r.run_id, r.source_id, s.stream, case when r.status = 'failed' then 'failed' else 'ok' end,
  case when r.status = 'failed' then 'the source was down' end, r.started_at, r.finished_at, 1,
  c.n, c.n, c.n, c.n, c.n / 10, c.n / 5, c.n - c.n / 10 - c.n / 5, c.n * 100
from ops.runs r
join ops.streams s on s.source_id = r.source_id
cross join lateral (select fill.pick(r.run_id, length(s.stream), 2000) as n) c;

insert into ops.checkpoints (source_id, stream, watermark, full_at, run_id)
select s.source_id, s.stream, max(r.started_at), max(r.started_at) filter (where r.kind = 'full'),
  max(r.run_id)
from ops.streams s join ops.runs r on r.source_id = s.source_id and r.status = 'succeeded'
group by s.source_id, s.stream;
