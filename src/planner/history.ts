/** What streams and pipelines cost in past runs, and how far off the estimates of these runs were. */
import type { Cost, ReadMode } from '../core/run.ts';
import { type Db, query } from '../queries/db.ts';

/** How many of the newest runs an estimate is made from: enough to even out one night, few enough to follow growth. */
const newest = 3;

/** What a stream cost in the newest runs that read it in one mode, added up. */
export interface Past extends Cost {
  readonly stream: string;
  readonly mode: ReadMode;
  readonly runs: number;
  readonly slices: number;
  readonly records: number;
  /** Requests that the source let expect; null: none. */
  readonly expected: number | null;
}

/** Of each stream of the pipeline and each mode in which it was read. Runs that failed to read it do not count. */
export const pastOf = (db: Db, pipeline: string) =>
  query(db)<Past>`
    select stream, mode, count(*)::float8 as runs, sum(requests)::float8 as requests, sum(slices)::float8 as slices,
      sum(received)::float8 as records, sum(expected_requests)::float8 as expected, sum(extract(epoch from finished_at - started_at))::float8 as seconds
    from (select rs.*, row_number() over (partition by rs.stream, rs.mode order by rs.run_id desc) as age
      from ops.run_streams rs join ops.sources s using (source_id)
      where s.name = ${pipeline} and rs.mode is not null and rs.requests is not null and rs.finished_at is not null
        and rs.status in ('ok', 'unavailable', 'forbidden')) one
    where age <= ${newest} group by stream, mode`;

/** The newest whole syncs of a pipeline, added up. */
export interface PastRuns extends Cost {
  readonly runs: number;
  readonly records: number;
  /** Requests of no stream: the first one, which asks for account and clock. */
  readonly others: number;
  /** Of the streams of the newest one that had an estimate. */
  readonly lastRequests: number | null;
  /** What was estimated for the same. */
  readonly lastEstimated: number | null;
}

/** Undefined where there is no such run that kept the requests of its streams. */
export async function pastRunsOf(db: Db, pipeline: string): Promise<PastRuns | undefined> {
  const [past] = await query(db)<PastRuns>`
    select count(*)::float8 as runs, sum(requests)::float8 as requests, sum(seconds)::float8 as seconds,
      sum(received)::float8 as records, sum(greatest(0, requests - of_streams))::float8 as others,
      max(counted) filter (where age = 1)::float8 as last_requests,
      max(estimated) filter (where age = 1)::float8 as last_estimated
    from (select r.requests, r.received, extract(epoch from r.finished_at - r.started_at) as seconds, s.*,
        row_number() over (order by r.run_id desc) as age
      from ops.runs r cross join lateral (
        select sum(requests) as of_streams, sum(estimated_requests) as estimated,
          sum(requests) filter (where estimated_requests is not null) as counted
        from ops.run_streams rs where rs.run_id = r.run_id) s
      where r.pipeline = ${pipeline} and r.kind = 'sync' and r.settles = 'freshness' and r.status = 'succeeded'
        and s.of_streams is not null
      order by r.run_id desc limit ${newest}) one`;
  return past?.runs ? past : undefined;
}

/** What was estimated for the syncs of a day (UTC, of their beginning), and what came; of streams that had an estimate. */
export type PastNight = { readonly day: string } & Readonly<Record<'requests' | 'estimated', number | null>>;

/** Of whole syncs that succeeded in the last two weeks, newest first. */
export const pastNights = (db: Db) =>
  query(db)<PastNight>`
    select (r.started_at at time zone 'UTC')::date::text as day, sum(estimated_requests)::float8 as estimated,
      sum(rs.requests) filter (where estimated_requests is not null)::float8 as requests
    from ops.runs r join ops.run_streams rs using (run_id)
    where r.kind = 'sync' and r.settles = 'freshness' and r.status = 'succeeded'
      and r.started_at > now() - interval '14 days'
    group by day order by day desc`;
