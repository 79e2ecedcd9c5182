create or replace view bi.late_nights as -- How the sync of each night went, and which was late, failed or missing; one row per source and day on which it ran or should have. Syncs of all streams count; backfills, reconciliations and syncs of some streams do not.
select
  x.source,
  x.night_date, -- Day in the reporting time zone on which the sync began, or should have.
  coalesce(x.status, 'missing') as status, -- Of the last sync of the night, see bi.sync_runs.status: succeeded, partly_failed (a stream failed or a receipt does not match), failed, running, …; missing: none began.
  coalesce(
    coalesce(x.complete_at, now()) > x.promised_at, x.complete_at is null and x.status is distinct from 'running'
  ) as is_late,
  x.promised_at, -- By when it had to be complete (UTC): the freshness promise after the start of the last complete sync of an earlier night, nights without one passed over. Null before the first complete one.
  (
    select min(t.scheduled_for)
    from ops.ticks t
    where (
        t.pipeline = x.source
        or t.pipeline = 'nightly'
        and not exists (select from ops.schedules own where own.pipeline = x.source and own.does = 'sync')
      )
      and t.does in ('sync', 'full')
      and (t.scheduled_for at time zone ops.reporting_time_zone())::date = x.night_date
  ) as scheduled_at, -- When its schedule, or that of nightly, was first due that day (UTC); null where something else starts the syncs.
  x.started_at, -- When the first sync of the night began (UTC); null if it is missing.
  x.finished_at, -- When the first complete sync ended (UTC), else when the last one ended; null while none has.
  extract(epoch from x.finished_at - x.started_at)::double precision as duration_seconds, -- Seconds from started_at to finished_at, pauses between several syncs included.
  coalesce(x.runs, 0) as runs, -- Syncs that began that day. May be summed.
  coalesce(x.failed_runs, 0) as failed_runs -- Of these, the ones that did not succeed. May be summed.
from (
  select
    d.*,
    d.last_complete_from + d.promise + interval '24 hours' * greatest(0, d.night_date - d.due_date) as promised_at
  from (
    select
      l.*,
      -- The night after the last complete one, or the one before the promise breaks if that is later.
      greatest(
        (l.last_complete_from at time zone ops.reporting_time_zone())::date + 1,
        ((l.last_complete_from + l.promise) at time zone ops.reporting_time_zone())::date - 1
      ) as due_date
    from (
      select
        s.name as source,
        c.date_day as night_date,
        p.promise,
        n.status,
        n.started_at,
        n.finished_at,
        n.complete_at,
        n.runs,
        n.failed_runs,
        max(n.complete_from) over (
          partition by s.name order by c.date_day rows between unbounded preceding and 1 preceding
        ) as last_complete_from,
        min(n.complete_at) over (
          partition by s.name order by c.date_day desc rows between unbounded preceding and 1 preceding
        ) as next_complete_at
      from ops.sources s
      join (
        select source_id, (min(started_at) at time zone ops.reporting_time_zone())::date as first_date
        from ops.runs
        where settles = 'freshness'
        group by source_id
      ) f on f.source_id = s.source_id
      cross join lateral (
        select make_interval(secs => coalesce(min(t.freshness_seconds), 93600)) as promise
        from ops.streams t
        where t.source_id = s.source_id and not t.excluded and t.state not in ('unavailable', 'forbidden')
      ) p
      join bi.calendar c
        on c.date_day between f.first_date and (now() at time zone ops.reporting_time_zone())::date
      left join (
        select
          r.source_id,
          (r.started_at at time zone ops.reporting_time_zone())::date as night_date,
          (array_agg(r.status order by r.run_id desc))[1] as status,
          min(r.started_at) as started_at,
          coalesce(min(r.finished_at) filter (where r.status = 'succeeded'), max(r.finished_at)) as finished_at,
          min(r.started_at) filter (where r.status = 'succeeded') as complete_from,
          min(r.finished_at) filter (where r.status = 'succeeded') as complete_at,
          count(*) as runs,
          count(*) filter (where r.status not in ('succeeded', 'running')) as failed_runs
        from ops.runs r
        where r.settles = 'freshness'
        group by 1, 2
      ) n on n.source_id = s.source_id and n.night_date = c.date_day
    ) l
  ) d
) x
where x.status is not null
  or (
    (x.last_complete_from is null or x.night_date >= x.due_date)
    and coalesce(x.promised_at < coalesce(x.next_complete_at, now()), true)
  );
