/** How fresh each stream is, judged by committed walks, not by runs that ended (guarantee G13); `bi.data_freshness` says the same. */

import type { Receipt } from '../core/run.ts';
import { type Db, query } from './db.ts';
import type { RunLine } from './run-history.ts';

/**
 * fresh · stale (older than its promise) · never (not loaded yet) · unavailable (the server has no such endpoint) ·
 * forbidden (these credentials may not) · excluded (left out by configuration)
 */
type Freshness = 'fresh' | 'stale' | 'never' | 'unavailable' | 'forbidden' | 'excluded';

export interface StreamState {
  readonly pipeline: string;
  readonly stream: string;
  readonly target: string;
  /** `schema.table` of what its records hold besides, e.g. the comments of issues. */
  readonly childTables: readonly string[];
  readonly about: string;
  readonly endpoint: string;
  readonly freshness: Freshness;
  /** Why it is unavailable, forbidden or excluded, or what its last run said. */
  readonly reason: string | null;
  /** The warehouse holds everything up to here (our clock: when the last complete walk began; of owners in turn, when the one was read that was read longest ago). */
  readonly freshAt: Date | null;
  /** `freshAt` may be this old. */
  readonly promiseSeconds: number;
  /** The stored watermark, by the source's clock. */
  readonly watermark: Date | null;
  readonly fullAt: Date | null;
  readonly openRejects: number;
  /** When the token ends that its pipeline signs in with; null where that is not known. */
  readonly tokenEndsAt: Date | null;
  readonly last: LastPart | null;
}

/** The stream's part in the newest run that read it; a replay of rejects reads nothing. */
interface LastPart extends Pick<RunLine, 'runId' | 'kind' | 'status' | 'finishedAt'> {
  readonly receipt: Receipt;
}

/** Every stream the warehouse knows of, by pipeline and name. Ages are by the database's clock. */
export async function streamStates(db: Db): Promise<readonly StreamState[]> {
  type StateRow = Omit<StreamState, 'last'> & { [K in keyof LastPart]: LastPart[K] | null };
  const rows = await query(db)<StateRow>`select * from ops.stream_states`;
  return rows.map(({ runId, kind, status, finishedAt, receipt, ...state }) => ({
    ...state,
    last: runId && kind && status && receipt ? { runId, kind, status, finishedAt, receipt } : null,
  }));
}

/** A pipeline whose last request failed, also one that failed before it had a run (its settings or its source were refused), and nightly. */
export interface IllPipeline {
  readonly pipeline: string;
  readonly state: string;
  readonly since: Date;
}

/** Those of these pipelines that people were notified of and that no later run has made well. */
export const illPipelines = (db: Db, pipelines: readonly string[]) =>
  query(db)<IllPipeline>`
    select pipeline, state, since from ops.health h
    where pipeline = any (${[...pipelines]}::text[]) and state not in ('ok', 'stale') and not exists (
      select from ops.runs r where r.pipeline = h.pipeline and r.settles = 'freshness'
        and r.status = 'succeeded' and r.started_at > h.since)
    order by pipeline`;
