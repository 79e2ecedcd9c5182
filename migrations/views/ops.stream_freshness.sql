create or replace view ops.stream_freshness as -- How far the warehouse holds each stream, by its complete walks; a backfill speaks for its window only.
select
  t.source_id,
  t.stream,
  coalesce(owners.at, done.opened_at) as at, -- The warehouse holds everything up to here (UTC): when the last complete walk began; of owners in turn, when the one was read that was read longest ago.
  (t.freshness_seconds + 86400 * (greatest(turn.runs, 1) - 1))::bigint as promise_seconds -- Older than this is stale: a day more for each further run that a turn takes.
from ops.streams t
left join lateral (
  select w.walk_id, w.opened_at
  from ops.walks w
  where w.source_id = t.source_id and w.stream = t.stream and w.status = 'done' and w.kind <> 'backfill'
  order by w.opened_at desc
  limit 1
) done on true
left join lateral (
  select w.walk_id
  from ops.walks w
  where w.source_id = t.source_id and w.stream = t.stream and w.status = 'open' and w.kind <> 'backfill' and t.in_turn
  order by w.opened_at desc
  limit 1
) begun on true
left join lateral (
  select max(n.runs) as runs
  from (
    select ceil(
      count(distinct s.run_id) filter (where s.status = 'done') * count(*)
      / nullif(count(*) filter (where s.status = 'done'), 0)::numeric
    ) as runs
    from ops.slices s
    where t.in_turn and s.walk_id in (done.walk_id, begun.walk_id) and s.status not in ('split', 'absent')
    group by s.walk_id
  ) n
) turn on true
left join lateral (
  -- An owner that came after the last turn had nothing before the last run of that turn.
  select min(coalesce(own.again, own.at, last_run.at)) as at
  from (
    select
      min(p.at) filter (where p.walk_id = done.walk_id) as at,
      case when bool_and(p.is_read) filter (where p.walk_id = begun.walk_id) then
        min(p.at) filter (where p.walk_id = begun.walk_id)
      end as again
    from (
      select
        s.walk_id,
        s.partition,
        s.status in ('done', 'absent') as is_read,
        -- An earlier run may have read the first pages of a slice.
        least(s.started_at, (select min(m) from ops.batches b, unnest(b.moments) m where b.slice_id = s.slice_id)) as at
      from ops.slices s
      where t.in_turn and s.walk_id in (done.walk_id, begun.walk_id) and s.status <> 'split'
    ) p
    group by p.partition
    -- An owner that the source no longer lists does not count.
    having begun.walk_id is null or bool_or(p.walk_id = begun.walk_id)
  ) own
  cross join (
    select min(s.started_at) as at
    from ops.slices s
    where s.walk_id = done.walk_id and s.run_id = (select max(l.run_id) from ops.slices l where l.walk_id = done.walk_id)
  ) last_run
  where done.walk_id is not null
) owners on true;
