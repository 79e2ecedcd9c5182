/** Whether anything happened: one short text that changes when what a person sees may have changed. */
import { type Db, query } from './db.ts';

/** Cheap: reads the newest run, what is running, and the counts of open walks. */
export async function historyToken(db: Db): Promise<string> {
  const [found] = await query(db)<{ token: string }>`
    select concat_ws('/',
      (select concat_ws(':', run_id, status) from ops.runs order by run_id desc limit 1),
      (select concat_ws(':', count(*), max(finished_at)) from ops.runs where started_at > now() - interval '2 days'),
      (select string_agg(concat_ws(':', rs.run_id, rs.stream, rs.status, rs.received, rs.rejected), ','
          order by rs.run_id, rs.stream)
        from ops.run_streams rs join ops.runs r using (run_id) where r.status = 'running'),
      (select string_agg(concat_ws(':', s.status, s.at, s.slices), ',' order by s.status) from (
        select s.status, max(s.started_at) as at, count(*) as slices
        from ops.slices s join ops.walks w using (walk_id) where w.status = 'open' group by s.status) s),
      (select concat_ws(':', count(*), max(last_seen_at)) from ops.rejects where status = 'open'),
      (select max(change_id) from ops.schema_changes)) as token`;
  return found?.token ?? '';
}
