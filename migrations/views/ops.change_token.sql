create or replace view ops.change_token as -- One short text that changes when what a person sees may have changed; one row.
select
  concat_ws(
    '/',
    (select concat_ws(':', run_id, status) from ops.runs order by run_id desc limit 1),
    (select concat_ws(':', count(*), extract(epoch from max(finished_at))) from ops.runs where started_at > now() - interval '2 days'),
    (
      select string_agg(concat_ws(':', rs.run_id, rs.stream, rs.status, rs.received, rs.rejected), ',' order by rs.run_id, rs.stream)
      from ops.run_streams rs
      join ops.runs r on r.run_id = rs.run_id
      where r.status = 'running'
    ),
    (
      select string_agg(concat_ws(':', s.status, extract(epoch from s.at), s.slices), ',' order by s.status)
      from (
        select l.status, max(l.started_at) as at, count(*) as slices
        from ops.slices l
        join ops.walks w on w.walk_id = l.walk_id
        where w.status = 'open'
        group by l.status
      ) s
    ),
    (select concat_ws(':', count(*), extract(epoch from max(last_seen_at))) from ops.rejects where status = 'open'),
    (select max(change_id) from ops.schema_changes)
  ) as token -- The newest run, what is running, the counts of open walks, rejects and schema changes.
from (values (1)) one (row_number);
