/** How fresh each stream is, judged by committed walks, not by runs that ended (guarantee G13); `bi.data_freshness` says the same. */
import { sql } from 'kysely';
import { lastComplete } from '../warehouse/freshness.ts';
import { type Db, rowsOf } from './db.ts';
import type { Receipt } from './run-history.ts';

/**
 * fresh · stale (older than its promise) · never (not loaded yet) · unavailable (the server has no such endpoint) ·
 * forbidden (these credentials may not) · excluded (left out by configuration)
 */
export type Freshness = 'fresh' | 'stale' | 'never' | 'unavailable' | 'forbidden' | 'excluded';

export interface StreamState {
  readonly pipeline: string;
  readonly stream: string;
  readonly target: string;
  readonly about: string;
  readonly endpoint: string;
  readonly freshness: Freshness;
  /** Why it is unavailable, forbidden or excluded, or what its last run said. */
  readonly reason: string | null;
  /** The warehouse holds everything up to here (our clock: when the last complete walk began). */
  readonly freshAt: Date | null;
  /** `freshAt` may be this old. */
  readonly promiseSeconds: number;
  /** The stored watermark, by the source's clock. */
  readonly watermark: Date | null;
  readonly fullAt: Date | null;
  readonly openRejects: number;
  readonly last: LastPart | null;
}

/** The stream's part in the newest run that read it; a replay of rejects reads nothing. */
export interface LastPart {
  readonly runId: string;
  readonly kind: string;
  readonly status: string;
  readonly finishedAt: Date | null;
  readonly receipt: Receipt;
}

/** Every stream the warehouse knows of, by pipeline and name. Ages are by the database's clock. */
export async function streamStates(db: Db): Promise<readonly StreamState[]> {
  return (await rowsOf(states, db)).map(stateOf);
}

interface Row {
  readonly pipeline: string;
  readonly stream: string;
  readonly target: string;
  readonly about: string;
  readonly endpoint: string;
  readonly state: string;
  readonly excluded: boolean;
  readonly reason: string | null;
  readonly promise: number;
  readonly watermark: Date | null;
  readonly full_at: Date | null;
  readonly fresh_at: Date | null;
  readonly age: number | null;
  readonly rejects: number;
  readonly last_run_id: string | null;
  readonly last_kind: string;
  readonly last_status: string;
  readonly last_reason: string | null;
  readonly last_finished_at: Date | null;
  readonly expected: number | null;
  readonly fetched: number;
  readonly landed: number;
}

const states = sql<Row>`
  select src.name as pipeline, t.stream, t.target, t.about, t.endpoint, t.state, t.excluded, t.reason,
    t.freshness_seconds::float8 as promise, c.watermark, c.full_at, fresh.at as fresh_at,
    extract(epoch from now() - fresh.at)::float8 as age,
    (select count(*) from ops.rejects r
      where r.source_id = t.source_id and r.stream = t.stream and r.status = 'open')::float8 as rejects,
    l.run_id::text as last_run_id, l.kind as last_kind, l.status as last_status, l.reason as last_reason,
    l.finished_at as last_finished_at, l.expected::float8 as expected, l.fetched::float8 as fetched,
    l.landed::float8 as landed
  from ops.streams t
  join ops.sources src using (source_id)
  left join ops.checkpoints c using (source_id, stream)
  left join lateral (
    select rs.*, r.kind from ops.run_streams rs join ops.runs r using (run_id)
    where rs.source_id = t.source_id and rs.stream = t.stream and r.kind <> 'replay' order by rs.run_id desc limit 1) l on true
  left join ${lastComplete} fresh on true
  order by src.source_id, t.stream`;

const stateOf = (row: Row): StreamState => ({
  pipeline: row.pipeline,
  stream: row.stream,
  target: row.target,
  about: row.about,
  endpoint: row.endpoint,
  freshness: freshnessOf(row),
  reason: row.excluded ? 'left out by configuration' : (row.reason ?? row.last_reason),
  freshAt: row.fresh_at,
  promiseSeconds: row.promise,
  watermark: row.watermark,
  fullAt: row.full_at,
  openRejects: row.rejects,
  last:
    row.last_run_id === null
      ? null
      : {
          runId: row.last_run_id,
          kind: row.last_kind,
          status: row.last_status,
          finishedAt: row.last_finished_at,
          receipt: { expected: row.expected, fetched: row.fetched, landed: row.landed },
        },
});

function freshnessOf(row: Row): Freshness {
  if (row.excluded) return 'excluded';
  if (row.state === 'unavailable' || row.state === 'forbidden') return row.state;
  if (row.age === null) return 'never';
  return row.age <= row.promise ? 'fresh' : 'stale';
}
