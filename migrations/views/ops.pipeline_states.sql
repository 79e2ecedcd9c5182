create or replace view ops.pipeline_states as -- How each pipeline is that ever ran, by its newest runs; one row a pipeline.
select
  s.name as pipeline, -- Key: the pipeline, as ops.sources.name.
  s.token_ends_at,
  whole.run_id::text as run_id, -- The newest run of every stream that has ended; null where none has.
  whole.status, -- Of that run, as ops.runs.status.
  whole.started_at, -- When it began (UTC).
  coalesce(undone.runs, '[]') as undone, -- Of every stream, of some since then, and for deletions: the newest run, where it did not succeed.
  newest.error_code, -- Class of the failure of the newest run that has ended; null where it did not fail.
  newest.error_message, -- The same in one line.
  newest.requests::float8 as requests, -- HTTP requests of that run.
  newest.throttled::float8 as throttled, -- Of these, the ones that the source answered with 429.
  answered.at as answered_at, -- When a run last ended that the source answered (UTC).
  (
    select min(r.started_at) from ops.runs r
    where r.pipeline = s.name and r.started_at > coalesce(answered.began_at, '-infinity') and r.finished_at is not null
  ) as failing_since, -- When the first run after that one began (UTC).
  (
    select max(b.free_at) from ops.budgets b
    where (b.key = s.base_url or starts_with(b.key, s.base_url || ' ')) and b.free_at > now()
  ) as paused_until, -- Until when the source wants no request (UTC); null where it does not say so.
  due.at as due_at, -- When its schedule, or that of nightly, first came due within the last 24 hours (UTC); null where none did.
  usual.seconds as usual_seconds, -- Median of the last 14 runs of every stream that succeeded; null before there was one.
  usual.over_seconds, -- How much later than in any of these nights the run ended, or would end now; null where fewer than three are known.
  fresh.fresh_at, -- The warehouse holds everything of all its streams up to here (UTC).
  coalesce(fresh.stale, '{}') as stale_streams, -- Streams that are older than their target, or were never loaded.
  coalesce(fresh.forbidden, '{}') as forbidden_streams, -- Streams that the credentials may not read.
  (
    select count(*) from ops.rejects j where j.source_id = s.source_id and j.status = 'open'
  )::float8 as open_rejects
from ops.sources s
left join lateral (
  select r.run_id, r.status, r.started_at, r.finished_at from ops.runs r
  where r.pipeline = s.name and r.settles = 'freshness' and r.finished_at is not null
  order by r.run_id desc
  limit 1
) whole on true
left join lateral (
  select jsonb_agg(
      jsonb_build_object(
        'runId', r.run_id::text,
        'what', u.what,
        'status', r.status,
        'message', r.error_message,
        'streams', (
          select coalesce(jsonb_agg(x.stream order by x.stream), '[]') from ops.run_streams x
          where x.run_id = r.run_id and x.status in ('failed', 'partial', 'interrupted')
        )
      )
      order by r.run_id
    ) as runs
  from (
    values
      ('', whole.run_id),
      ('(some streams)', (
        select max(o.run_id) from ops.runs o
        where o.pipeline = s.name and o.settles is null and o.finished_at is not null
      )),
      ('(check for deletions)', (
        select max(o.run_id) from ops.runs o
        where o.pipeline = s.name and o.settles = 'deletions' and o.finished_at is not null
      ))
  ) u (what, run_id)
  join ops.runs r on r.run_id = u.run_id
  where r.status <> 'succeeded' and (u.what <> '(some streams)' or u.run_id > coalesce(whole.run_id, 0))
) undone on true
left join lateral (
  select r.error_code, r.error_message, r.requests, r.throttled from ops.runs r
  where r.pipeline = s.name and r.finished_at is not null
  order by r.started_at desc
  limit 1
) newest on true
left join lateral (
  select r.started_at as began_at, r.finished_at as at from ops.runs r
  where r.pipeline = s.name and r.finished_at is not null and r.requests > 0 and r.error_code is distinct from 'unreachable'
  order by r.started_at desc
  limit 1
) answered on true
cross join lateral (
  select
    least(
      (
        select min(t.scheduled_for) from ops.ticks t
        where t.pipeline = s.name and t.does = 'sync' and t.scheduled_for > now() - interval '1 day'
      ),
      (
        select min(t.scheduled_for) from ops.ticks t
        where t.pipeline = s.name and t.does = 'full' and t.scheduled_for > now() - interval '1 day'
      ),
      (
        select min(t.scheduled_for) from ops.ticks t
        where t.pipeline = 'nightly' and t.does = 'sync' and t.scheduled_for > now() - interval '1 day'
          and not exists (select from ops.schedules own where own.pipeline = s.name and own.does in ('sync', 'full'))
      )
    ) as at
) due
left join lateral (
  select
    percentile_disc(0.5) within group (order by n.seconds) as seconds,
    case when count(n.ended) >= 3 then
      extract(epoch from case when whole.started_at >= due.at then whole.finished_at else now() end - due.at)::float8 - max(n.ended)
    end as over_seconds
  from (
    select
      extract(epoch from r.finished_at - r.started_at)::float8 as seconds,
      -- Since the same time of the day as it was due; a run may begin a little before.
      extract(epoch from r.finished_at - date_bin('1 day', r.started_at, due.at - interval '2 hours') - interval '2 hours')::float8 as ended
    from ops.runs r
    where r.pipeline = s.name and r.settles = 'freshness' and r.finished_at is not null and r.status = 'succeeded'
      and r.started_at < coalesce(due.at, 'infinity')
    order by r.run_id desc
    limit 14
  ) n
) usual on true
left join lateral (
  select
    min(f.at) as fresh_at,
    array_agg(t.stream order by t.stream) filter (
      where t.state <> 'forbidden' and coalesce(now() - f.at > make_interval(secs => f.promise_seconds), true)
    ) as stale,
    array_agg(t.stream order by t.stream) filter (where t.state = 'forbidden') as forbidden
  from ops.streams t
  join ops.stream_freshness f on f.source_id = t.source_id and f.stream = t.stream
  where t.source_id = s.source_id and not t.excluded and t.state <> 'unavailable'
) fresh on true;
