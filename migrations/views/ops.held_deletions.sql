create or replace view ops.held_deletions as -- What the deletion guard holds back since the newest complete reconciliation of each pipeline; one row per pipeline and stream.
select
  r.pipeline,
  s.stream,
  s.reason as details, -- Why nothing was deleted.
  'Look first whether npx tidemark check prints the right address and account, and whether that account sees every project. If it does, and the rows are really gone: docs/guides/deletions.md has the statement that marks them. Then reconcile again.' as what_to_do, -- The next step.
  r.pipeline as again, -- The pipeline that is to be reconciled again.
  u.keys as rows_not_seen, -- Keys of the first ten rows that it did not see, and how many more there are; null where none is noted.
  s.finished_at as found, -- When the reconciliation was done with the stream (UTC).
  s.run_id::text as run
from ops.sources p
cross join lateral (
  select o.run_id, o.pipeline, o.status
  from ops.runs o
  where o.pipeline = p.name and o.settles = 'deletions' and o.finished_at is not null
    and o.status in ('succeeded', 'needs_attention')
  order by o.run_id desc
  limit 1
) r
cross join lateral (
  select o.stream, o.reason, o.finished_at, o.run_id
  from ops.run_streams o
  where o.run_id = r.run_id and o.status = 'attention'
  -- With a limit it is read run by run, never as a whole.
  limit 100
) s
cross join lateral (
  select string_agg(n.key, ', ' order by n.number) filter (where n.number <= 10) || case
      when count(*) > 1000 then ' and more than 990 others'
      when count(*) > 10 then ' and ' || count(*) - 10 || ' others'
      else ''
    end as keys
  from (
    select o.key, row_number() over (order by o.key) as number
    from (
      select l.key from ops.unseen l where l.source_id = p.source_id and l.stream = s.stream order by l.key limit 1001
    ) o
  ) n
) u
where r.status = 'needs_attention'
order by s.finished_at desc, r.pipeline, s.stream;
