/** One stream of a run, from its beginning to its report. */

import { Forbidden, Missing, saidBy } from '../core/errors.ts';
import { noCounts } from '../core/run.ts';
import type { Stream } from '../core/stream.ts';
import { withRetry } from '../warehouse/with-retry.ts';
import { leavingOut } from './context/deps.ts';
import { inRun, type Problem, type Run, type StreamRun, tell } from './context/run-context.ts';
import { countBatch, markStream, wasRead } from './state/run-state.ts';
import { abandonWalks } from './state/walk-state.ts';
import { modeOf, planStream, type SyncRequest, syncChanges, syncDays, syncList } from './sync/plan.ts';
import { confirmed, outcomeOf } from './verify.ts';

/** Waits until the named streams of this run are done. */
type AwaitStreams = (names: readonly string[]) => Promise<void>;

/**
 * Brings one stream up to date: finishes the walk an earlier run left open, then makes its own. Throws only
 * what ends the run.
 */
export const runStream = (run: Run, stream: Stream, request: SyncRequest, ready: AwaitStreams) =>
  inRun(run, stream, async (of) => {
    try {
      const problem = await read(of, request);
      await withRetry(() => markStream(run.db, run.sourceId, stream.name, 'available', null));
      await afterwards(of, ready, problem !== undefined);
      return problem;
    } catch (error) {
      if (error instanceof Missing || error instanceof Forbidden) return refused(of, ready, error);
      throw error;
    }
  });

/** Reads what the stream needs in this run. Gives what kept it from being complete. */
async function read(of: StreamRun, request: SyncRequest): Promise<Problem | undefined> {
  const { stream } = of;
  // A stream after one that was stopped knows its owners only in part.
  of.signal.throwIfAborted();
  const planned = await confirmed(() => planStream(of, request));
  if (planned === undefined)
    return { status: 'skipped', reason: 'the source has nothing of the days that were asked for' };
  of.tally.mode = modeOf(planned.plan);
  if (stream.by === 'days') return syncDays(planned, stream.days);
  return stream.by === 'changes' ? syncChanges(planned, stream.windows) : syncList(planned);
}

/** The problem of a stream whose endpoint is missing or closed, by the policy. */
async function refused(of: StreamRun, ready: AwaitStreams, error: Missing | Forbidden): Promise<Problem> {
  const { stream, deps, db, sourceId, pipeline } = of;
  const isMissing = error instanceof Missing;
  const message = saidBy(error) + (isMissing ? '' : `; ${leavingOut(deps, stream)}`);
  const isWhole = stream.by === 'list' && stream.recentOnly !== true && stream.fallback === undefined;
  const wasThere =
    (stream.by === 'days' || isWhole) && (await withRetry(() => wasRead(db, sourceId, stream)));
  const answer = isMissing ? 'missing' : 'forbidden';
  const endpoint = stream.optional === true ? 'optional' : 'promised';
  const outcome = outcomeOf({ answer, of: 'stream', endpoint, sibling: false, wasThere });
  if (outcome === 'failed' && endpoint === 'optional') {
    const next = `If the server no longer has it, run tidemark reset ${pipeline}.${stream.name}`;
    return { status: 'failed', reason: `${message}; but it was there before. ${next}` };
  }
  const status = isMissing ? 'unavailable' : 'forbidden';
  await withRetry(() => markStream(db, sourceId, stream.name, status, message));
  // Of an endpoint that the server does not have nothing is left that a later run would go on with.
  if (isMissing && endpoint === 'optional') await withRetry(() => abandonWalks(db, sourceId, stream.name));
  const { fallback } = stream;
  if (fallback === undefined) return { status: outcome === 'failed' ? 'failed' : status, reason: message };
  await ready(fallback.after);
  await write(of, fallback.sql);
  return { status, reason: `${message}; ${fallback.reason}` };
}

/** What a stream does in the warehouse when it has been read, one transaction each. */
async function afterwards(of: StreamRun, ready: AwaitStreams, isInPart: boolean): Promise<void> {
  const { stream, clock = new Date() } = of;
  for (const { sql, after = [], evenInPart } of stream.afterwards ?? []) {
    if (isInPart && evenInPart !== true) continue;
    await ready(after);
    for (const { warning } of await write(of, sql, clock.toISOString()))
      if (typeof warning === 'string') tell(of, 'warn', `${stream.name}: ${warning}`);
  }
}

/** What a statement of a stream returns about what it did. */
type WrittenCounts = { warning?: unknown; inserted?: string; updated?: string; deleted?: string };

/** Runs a statement of the stream, and counts what it wrote, in one transaction. */
function write(of: StreamRun, sql: string, ...more: string[]) {
  return of.lease.transaction(async (session) => {
    const { rows } = await session.client.query<WrittenCounts>(sql, [of.sourceId, of.runId, ...more]);
    const sum = (what: 'inserted' | 'updated' | 'deleted'): number =>
      rows.reduce((all, row) => all + Number(row[what] ?? 0), 0);
    const inserted = sum('inserted');
    const updated = sum('updated');
    const deleted = sum('deleted');
    const counts = { ...noCounts, received: inserted + updated, inserted, updated };
    if (inserted + updated + deleted > 0) await countBatch(session, of, of.stream.name, { counts, deleted });
    return rows;
  });
}
