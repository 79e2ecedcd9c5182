/** What must hold of a warehouse when a campaign is over and nothing runs any more. One line for everything that does not. */

import type { Rows } from '../crash/books.ts';

/**
 * Notes each change of a request's state, so that a request that ends twice is seen. Made before the first process starts.
 */
export const noteStates = `
  create table public.request_states (
    seq bigint generated always as identity, dag_run_id text, was text, status text, at timestamptz default clock_timestamp());
  create function public.note_state() returns trigger language plpgsql as $$ begin
    insert into public.request_states (dag_run_id, was, status)
    values (new.dag_run_id, case tg_op when 'UPDATE' then old.status end, new.status);
    return new;
  end $$;
  create trigger note_made after insert on ops.dag_runs for each row execute function public.note_state();
  create trigger note_state after update of status on ops.dag_runs for each row
    when (old.status is distinct from new.status) execute function public.note_state()`;

/** Each query gives a line for each thing that is wrong. */
const rules: Readonly<Record<string, string>> = {
  'each due minute has one tick': `select pipeline || ' ' || scheduled_for || ': covers ' || covers || ', the tick before is of ' || before as line
    from (select *, lag(scheduled_for) over (partition by pipeline, does order by scheduled_for) as before
      from ops.ticks where pipeline <> 'nightly') t
    where before + covers * interval '1 minute' <> scheduled_for`,
  'each tick has its request': `select pipeline || ' ' || scheduled_for as line from ops.ticks t
    where not exists (select from ops.dag_runs d where (d.dag_run_id, d.pipeline) = (t.dag_run_id, t.pipeline))`,
  'a request has one tick of its own': `select dag_run_id || ' has ' || count(*) as line from ops.ticks
    where not joined group by dag_run_id having count(*) > 1`,
  'each request ended': `select dag_run_id || ' is ' || status as line from ops.dag_runs where finished_at is null`,
  // A retry opens a request again.
  'each request ended once': `select dag_run_id || ': ' || string_agg(status, ', ' order by seq) as line from public.request_states
    where dag_run_id not in (select dag_run_id from ops.dag_runs where finished_at is null)
    group by dag_run_id
    having count(*) filter (where ${over('status')}) <> 1 + count(*) filter (where ${over('was')})
      or bool_or(was in ('succeeded', 'stopped'))`,
  'a request that succeeded has a run that did': `select dag_run_id as line from ops.dag_runs d
    where status = 'succeeded' and pipeline <> 'nightly' and not exists (
      select from ops.dag_run_runs join ops.runs r using (run_id) where dag_run_id = d.dag_run_id and r.status = 'succeeded')`,
  'a night has each pipeline once': `select d.dag_run_id || ' has ' || s.name || ' ' || count(p.seq) || ' times' as line
    from ops.dag_runs d cross join ops.sources s
    left join ops.dag_runs p on p.part_of = d.dag_run_id and (p.pipeline, p.does) = (s.name, d.does)
    where d.pipeline = 'nightly' and d.finished_at is not null and (d.does = 'sync' or s.kind = 'jira')
    group by d.dag_run_id, s.name having count(p.seq) <> 1`,
  // Pipelines without a schedule of their own. A minute is allowed for what is written while a part ends.
  'a night has the reconcile that is due': `select p.dag_run_id as line from ops.dag_runs p
    where does = 'sync' and status = 'succeeded' and pipeline not in (select pipeline from ops.schedules)
      and not exists (select from ops.dag_runs r where (r.part_of, r.pipeline, r.does) = (p.part_of, p.pipeline, 'reconcile'))
      and exists (select from ops.dag_runs where dag_run_id = p.part_of)
      and date_trunc('minute', finished_at - interval '1 minute') > (
        select coalesce(max(started_at) filter (where settles = 'deletions' and status = 'succeeded'), min(started_at))
        from ops.runs r where r.pipeline = p.pipeline and r.finished_at < p.finished_at)`,
  'a night ended with its last part': `select d.dag_run_id || ' ' || d.status || ': ' || string_agg(p.pipeline || ' ' || p.status, ', ') as line
    from ops.dag_runs d join ops.dag_runs p on p.part_of = d.dag_run_id where d.finished_at is not null
    group by d.dag_run_id having count(p.finished_at) < count(*) or d.finished_at < max(p.finished_at)
      or (d.status = 'succeeded') <> bool_and(p.status = 'succeeded')`,
  'no run is open': `select 'run ' || run_id || ' of ' || pipeline as line from ops.runs where status = 'running'`,
  'no lease is held': `select pipeline || ' by ' || holder as line from ops.leases where holder is not null`,
  'no walk is open': `select 'walk ' || walk_id || ' of ' || stream as line from ops.walks where status = 'open'`,
  'every record is accounted for': `select r.pipeline || ' run ' || run_id || ' ' || s.stream as line
    from ops.run_streams s join ops.runs r using (run_id)
    where s.received <> s.inserted + s.updated + s.unchanged + s.deduplicated + s.superseded + s.rejected`,
  'a run counts what its streams count': `select 'run ' || run_id || ' is ' || r.status as line from ops.runs r
    left join (select run_id, sum(received) as received, sum(inserted) as inserted, sum(updated) as updated
      from ops.run_streams group by 1) s using (run_id)
    where (r.received, r.inserted, r.updated) is distinct from (coalesce(s.received, 0), coalesce(s.inserted, 0), coalesce(s.updated, 0))`,
  'what succeeded has receipts that match': `select 'run ' || run_id || ' ' || s.stream as line
    from ops.run_streams s join ops.runs r using (run_id)
    where r.status = 'succeeded' and (s.status not in ('ok', 'unavailable', 'forbidden') or s.stored <> s.read)`,
  'no receipt is there twice': `select 'walk ' || walk_id || ' of ' || stream as line
    from ops.slices join ops.walks w using (walk_id) where ops.slices.status <> 'split'
    group by walk_id, stream, partition, ops.slices.window_from, ops.slices.window_to having count(*) > 1`,
  'nothing was rejected': `select stream || ' ' || record_key || ': ' || message as line from ops.rejects where status = 'open'`,
};

function over(column: string): string {
  return `${column} in ('succeeded', 'partly_failed', 'failed', 'stopped', 'needs_attention')`;
}

export async function wrongBooks(rows: Rows): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const [rule, query] of Object.entries(rules))
    for (const { line } of await rows<{ line: string }>(query)) lines.push(`${rule}: ${line}`);
  return lines;
}
