/** One stream of a run, from its beginning to its report. */

import { Fenced, Forbidden, Interrupted, Missing, passesAfter, saidBy } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import { noCounts, type StreamReport } from '../core/run.ts';
import type { Stream } from '../core/stream.ts';
import { withRetry } from '../warehouse/with-retry.ts';
import { endsRun, type Problem } from './context/problems.ts';
import { type RunContext, tallyBatch, tell } from './context/run-context.ts';
import { enterStream, type StreamInRun } from './context/stream-in-run.ts';
import { countBatch, hasOpenRejects, markStream, wasRead } from './state/run-state.ts';
import { abandonWalks } from './state/walk-state.ts';
import { planStream, type Request } from './sync/plan.ts';
import { syncChanges, syncDays, syncList } from './sync/strategies.ts';
import { confirmed, outcomeOf } from './verify.ts';

/** Waits until the named streams of this run are done. */
type Ready = (names: readonly string[]) => Promise<void>;

/** A stream while it runs. */
interface Running extends StreamInRun {
  readonly context: RunContext;
  readonly stream: Stream;
  readonly ready: Ready;
}

/**
 * Brings one stream up to date: finishes the walk an earlier run left open, then makes its own. Gives the
 * report; throws only what ends the run (`endsRun`), after the stream's own row in `ops.run_streams` says so.
 */
export async function runStream(
  context: RunContext,
  stream: Stream,
  request: Request,
  ready: Ready,
): Promise<StreamReport> {
  const running: Running = { ...(await enterStream(context, stream)), context, stream, ready };
  const { report } = running;
  const { db } = context.deps.warehouse;
  try {
    const problem = await read(running, request);
    await withRetry(() => markStream(db, context.run.sourceId, stream.name, 'available', null));
    await afterwards(running, problem !== undefined);
    const { status = 'ok', reason, passesAfterMs } = problem ?? {};
    return await end(running, report(status, reason, passesAfterMs));
  } catch (error) {
    if (error instanceof Missing || error instanceof Forbidden)
      return end(running, await refused(running, error));
    const isStopped = error instanceof Interrupted || error instanceof Fenced;
    const failed = report(isStopped ? 'interrupted' : 'failed', saidBy(error), passesAfter(error));
    await end(running, failed).catch((second: unknown) => {
      // The warehouse itself may be what failed: the first error is the one to report.
      tell(context, 'warn', `${stream.name}: its end could not be recorded: ${String(second)}`);
    });
    if (endsRun(error)) throw error;
    return failed;
  }
}

/** Reads what the stream needs in this run. Gives what kept it from being complete. */
async function read({ context, stream, tally }: Running, request: Request): Promise<Problem | undefined> {
  const { deps, run, signal } = context;
  // A stream after one that was stopped knows its owners only in part.
  signal.throwIfAborted();
  const resolves = await withRetry(() => hasOpenRejects(deps.warehouse.db, run.sourceId, stream.name));
  const planned = await confirmed(() => planStream({ context, stream, request }));
  const { plan } = planned;
  const none =
    stream.by === 'days'
      ? 'the source has nothing of the days that were asked for'
      : 'it has no time to cut a window from';
  if (plan === undefined) return { status: 'skipped', reason: none };
  const syncing = { ...planned, context, plan, tally, resolves };
  if (stream.by === 'days') return syncDays(syncing, stream.days);
  return stream.by === 'changes' ? syncChanges(syncing, stream.windows) : syncList(syncing);
}

/**
 * Ends the stream. Older versions that were refused are noted: a late index heals itself; a source that was
 * restored does not.
 */
function end({ context, stream, end: record }: Running, done: StreamReport): Promise<StreamReport> {
  const { superseded } = done.counts;
  const kept = `${stream.name}: ${plural(superseded, 'record')} read with an older date than stored: the stored rows were kept`;
  const next = `If the source was restored from a backup, run sync ${context.run.pipeline} --full`;
  if (superseded > 0) tell(context, 'warn', `${kept}. ${next}`);
  return record(done);
}

/** The report of a stream whose endpoint is missing or closed, by the policy. */
async function refused(running: Running, error: Missing | Forbidden): Promise<StreamReport> {
  const { context, stream, report, ready } = running;
  const { run, deps } = context;
  const { db } = deps.warehouse;
  const message = saidBy(error);
  const hasDays = stream.by === 'days' && (await withRetry(() => wasRead(db, run.sourceId, stream)));
  const isMissing = error instanceof Missing;
  const isOptional = stream.optional === true;
  const outcome = outcomeOf({
    answer: isMissing ? 'missing' : 'forbidden',
    of: 'stream',
    endpoint: isOptional ? 'optional' : 'promised',
    sibling: false,
    hasDays,
  });
  if (outcome === 'failed' && isOptional) {
    const next = `If the server no longer has it, run tidemark reset ${run.pipeline}.${stream.name}`;
    return report('failed', `${message}; but it was there before. ${next}`);
  }
  const state = isMissing ? 'unavailable' : 'forbidden';
  await withRetry(() => markStream(db, run.sourceId, stream.name, state, message));
  // Of an endpoint that the server does not have nothing is left that a later run would go on with.
  if (isMissing && isOptional) await withRetry(() => abandonWalks(db, run.sourceId, stream.name, '%'));
  const { fallback } = stream;
  if (fallback === undefined) return report(outcome === 'failed' ? 'failed' : state, message);
  await ready(fallback.after);
  await write(running, fallback.sql);
  return report(state, `${message}; ${fallback.reason}`);
}

/** What a stream does in the warehouse when it has been read, one transaction each. */
async function afterwards(running: Running, isInPart: boolean): Promise<void> {
  const { context, stream, ready } = running;
  for (const { sql, after = [], evenInPart } of stream.afterwards ?? []) {
    if (isInPart && evenInPart !== true) continue;
    await ready(after);
    for (const { warning } of await write(running, sql, (context.clock ?? new Date()).toISOString()))
      if (typeof warning === 'string') tell(context, 'warn', `${stream.name}: ${warning}`);
  }
}

/** What a statement of a stream returns about what it did. */
type Written = { warning?: unknown; inserted?: string; updated?: string; deleted?: string };

/** Runs a statement of the stream, and counts what it wrote, in one transaction. */
async function write(
  { context, stream, tally }: Running,
  sql: string,
  ...more: readonly string[]
): Promise<readonly Written[]> {
  const { run } = context;
  const { rows, loaded } = await context.lease.transaction(async (session) => {
    const { rows } = await session.client.query<Written>(sql, [run.sourceId, run.runId, ...more]);
    const sum = (of: 'inserted' | 'updated' | 'deleted'): number =>
      rows.reduce((all, row) => all + Number(row[of] ?? 0), 0);
    const [inserted, updated, deleted] = [sum('inserted'), sum('updated'), sum('deleted')];
    const counts = { ...noCounts, received: inserted + updated, inserted, updated };
    const loaded = { counts, deleted, isHeld: false };
    if (inserted + updated + deleted > 0) await countBatch(session, run, stream.name, loaded);
    return { rows, loaded };
  });
  tallyBatch(tally, loaded);
  return rows;
}
