create or replace view bi.data_freshness as -- Can this be trusted? One row per source and stream: how far the warehouse is complete, and what the last run said.
select
  s.name as source,
  st.stream,
  st.target as target_table, -- The table that its rows are in.
  case
    when st.excluded then 'excluded'
    when st.excluded or st.state in ('unavailable', 'forbidden') then st.state
    when w.fresh_at is null then 'never'
    when now() - w.fresh_at <= make_interval(secs => w.promise_seconds) then 'fresh'
    else 'stale'
  end as freshness, -- fresh, stale (older than promised), never (not loaded yet), unavailable (the server has no such endpoint), forbidden, excluded (left out by configuration).
  not (st.excluded or st.state in ('unavailable', 'forbidden'))
  and coalesce(now() - w.fresh_at > make_interval(secs => w.promise_seconds), true) as is_stale, -- True when stale or never loaded; unavailable, forbidden and excluded streams are not stale, they are absent.
  w.fresh_at, -- The warehouse holds everything up to here (UTC): when the last complete walk over the stream began, by our clock.
  (extract(epoch from now() - w.fresh_at))::bigint as seconds_since_fresh, -- Age of fresh_at in seconds; null if never loaded.
  w.promise_seconds as freshness_promise_seconds, -- Older than this is stale.
  ck.watermark as watermark_at, -- The stored watermark, by the source's clock (UTC); null for lists that are read whole.
  ck.full_at, -- Watermark of the last complete full walk, by the source's clock (UTC).
  r.run_id::text as last_run_id, -- The newest run that touched the stream, see bi.sync_runs.
  r.status as last_status, -- What that run said of the stream, see bi.stream_runs.status.
  r.finished_at as last_finished_at, -- When that run was done with the stream (UTC).
  r.received as last_rows_received, -- Records that run received.
  ok.finished_at as last_success_at, -- When a run was last done with the stream without a fault (UTC).
  rj.open as open_rejects,
  case
    when st.excluded then 'left out by configuration'
    else ops.shown_message(s.kind, coalesce(st.reason, r.reason))
  end as reason, -- Why it is not available, or what the last run said; of a tracker without keys and ids of issues.
  w.fresh_at + make_interval(secs => w.promise_seconds) as stale_at, -- When it becomes, or became, stale (UTC); null if never loaded.
  n.rows as live_rows, -- Live rows of its table when a run last counted them; beyond a million an estimate; null if none has. May be summed.
  st.about as description -- What the stream holds.
from ops.streams st
join ops.sources s on s.source_id = st.source_id
left join ops.checkpoints ck on ck.source_id = st.source_id and ck.stream = st.stream
left join lateral (
  select x.run_id, x.status, x.finished_at, x.received, x.reason
  from ops.run_streams x
  where x.source_id = st.source_id and x.stream = st.stream
  order by x.run_id desc
  limit 1
) r on true
left join lateral (
  select max(x.finished_at) as finished_at
  from ops.run_streams x
  where x.source_id = st.source_id and x.stream = st.stream and x.status = 'ok'
) ok on true
left join lateral (
  select
    coalesce(
      f.at,
      (
        select max(x.started_at)
        from ops.run_streams x
        join ops.runs using (run_id)
        where x.source_id = st.source_id
          and x.stream = st.stream
          and x.status = 'ok'
          and kind in ('sync', 'full')
          -- A stream that reads its owners in turn is ok each night, and complete only when its walk is done.
          and not exists (
            select from ops.walks o
            where o.source_id = st.source_id and o.stream = st.stream and o.status = 'open' and o.kind <> 'backfill'
          )
      )
    ) as fresh_at,
    f.promise_seconds
  from ops.stream_freshness f
  where f.source_id = st.source_id and f.stream = st.stream
) w on true
left join lateral (
  select x.rows
  from ops.run_streams x
  where x.source_id = st.source_id and x.stream = st.stream and x.rows is not null
  order by x.run_id desc
  limit 1
) n on true
left join lateral (
  select count(*) as open
  from ops.rejects x
  where x.source_id = st.source_id and x.stream = st.stream and x.status = 'open'
) rj on true;
