import { sql } from 'kysely';
import {
  AuthFailed,
  Fenced,
  Forbidden,
  Interrupted,
  Misconfigured,
  Missing,
  TidemarkError,
  TooManyRejects,
  Unreachable,
} from '../core/errors.ts';
import { noCounts, type StreamReport, type StreamStatus } from '../core/run.ts';
import type { Flow, Slice } from '../core/stream.ts';
import { hours, type Instant } from '../core/time.ts';
import { inTransaction } from '../load/session.ts';
import { newTally, type RunContext, receiptOf, type Tally, tallyBatch, tell } from './context.ts';
import { type Asked, halves, mostRecords, ownersOf, partitionsFrom, planStream, type StreamPlan } from './plan.ts';
import { beginStream, countBatch, finishStream, hasOpenRejects, markStream } from './runs.ts';
import { readSlice, type StreamContext } from './slice.ts';
import { tailsOf } from './tails.ts';
import {
  abandonWalk,
  addSlices,
  closeIfLast,
  failSlice,
  type OpenSlice,
  openWalk,
  openWalks,
  partitionsOf,
  partitionText,
  splitSlice,
  unreadSlices,
  type Walk,
} from './walks.ts';

/** An interrupted list older than this is begun anew; a walk by time is always finished. */
const listGoesStale = hours(6);

/** Errors that end the whole run, not just the stream they happened in. */
export const endsRun = (error: unknown): boolean =>
  error instanceof AuthFailed ||
  error instanceof Fenced ||
  error instanceof Interrupted ||
  error instanceof Misconfigured ||
  error instanceof Unreachable ||
  error instanceof TooManyRejects ||
  !(error instanceof TidemarkError);

/** The clocks of a run, and the other streams of it. */
export interface Times {
  /** The source's clock at the beginning of the run. */
  readonly clock: Date | undefined;
  /** The moment by the database's clock. */
  readonly now: () => Instant;
  /** Waits until the named streams of this run are done. */
  readonly ready: (names: readonly string[]) => Promise<void>;
}

/**
 * Brings one stream up to date: finishes the walk an earlier run left open, then makes its own. Gives the report; throws only what ends
 * the run (`endsRun`), after the stream's own row in `ops.run_streams` says so.
 */
export async function runStream(context: RunContext, flow: Flow, asked: Asked, times: Times): Promise<StreamReport> {
  const { deps, run } = context;
  const stream = flow.stream.name;
  const started = performance.now();
  const tally = newTally();
  deps.observe({ type: 'stream.started', pipeline: run.pipeline, stream });
  await beginStream(deps.warehouse.db, run, stream);
  const report = (status: StreamStatus, reason?: string): StreamReport => ({
    stream,
    status,
    counts: tally.counts,
    receipt: receiptOf(tally),
    deleted: tally.deleted,
    slices: tally.slices,
    seconds: (performance.now() - started) / 1000,
    ...(reason === undefined ? {} : { reason }),
  });
  const end = async (done: StreamReport): Promise<StreamReport> => {
    await finishStream(deps.warehouse.db, run, done);
    deps.observe({ type: 'stream.finished', pipeline: run.pipeline, report: done });
    return done;
  };
  try {
    const problems = await walkAll(context, flow, asked, times, tally);
    await markStream(deps.warehouse.db, run.sourceId, stream, 'available', null);
    return await end(problems === undefined ? report('ok') : report(problems.status, problems.reason));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Missing || error instanceof Forbidden) {
      const state = error instanceof Missing ? ('unavailable' as const) : ('forbidden' as const);
      await markStream(deps.warehouse.db, run.sourceId, stream, state, message);
      const filled = await fallBack(context, flow, times, tally);
      // An endpoint that the contract promises and that is not there is a failure; any other is a fact about the server.
      if (flow.stream.promised && filled === undefined) return end(report('failed', message));
      return end(report(state, filled === undefined ? message : `${message}; ${filled}`));
    }
    const status = error instanceof Interrupted || error instanceof Fenced ? 'interrupted' : 'failed';
    await end(report(status, message)).catch((second: unknown) => {
      // The warehouse itself may be what failed: the first error is the one to tell.
      tell(context, 'warn', `${stream}: its end could not be recorded: ${String(second)}`);
    });
    if (endsRun(error)) throw error;
    return report(status, message);
  }
}

/** Rows from other tables where the server has no list of its own. */
async function fallBack(context: RunContext, flow: Flow, times: Times, tally: Tally): Promise<string | undefined> {
  const { fallback } = flow;
  if (fallback === undefined) return undefined;
  await times.ready(fallback.after);
  const { run } = context;
  const written = await inTransaction(context.deps.warehouse.pool, context.lease.signal, async (session) => {
    const { rows } = await session.client.query<{ inserted: string; updated: string }>(fallback.sql, [
      run.sourceId,
      run.runId,
    ]);
    const inserted = Number(rows[0]?.inserted ?? 0);
    const updated = Number(rows[0]?.updated ?? 0);
    const loaded = {
      counts: { ...noCounts, received: inserted + updated, inserted, updated },
      deleted: 0,
      braked: false,
    };
    await countBatch(session, run, flow.stream.name, loaded);
    await context.lease.guard(session);
    return loaded;
  });
  tallyBatch(tally, written);
  return fallback.reason;
}

type Problem = { readonly status: StreamStatus; readonly reason: string };

/** Every walk the stream needs in this run: open ones first. */
async function walkAll(
  context: RunContext,
  flow: Flow,
  asked: Asked,
  times: Times,
  tally: Tally,
): Promise<Problem | undefined> {
  const { clock, now } = times;
  const { deps, run, signal } = context;
  // A stream behind one that was stopped knows its owners only in part: it must not take them for all.
  if (signal.aborted) throw signal.reason;
  const { db } = deps.warehouse;
  const resolves = await hasOpenRejects(db, run.sourceId, flow.stream.name);
  const make = (walk: Walk): StreamContext => ({
    context,
    flow,
    walk,
    tally,
    tails: tailsOf(context, flow),
    resolves,
    unread: { count: 0 },
    force: asked.full || walk.words.startsWith('full forced'),
    clock: now,
  });
  const begin = async (what: StreamPlan): Promise<Problem | undefined> => {
    const at = { sourceId: run.sourceId, stream: flow.stream.name, runId: run.runId };
    return finishWalk(make(await openWalk(db, at, what, clock, await firstSlices(context, flow, what))), clock);
  };
  const plan = await planStream(deps, run.sourceId, flow, asked, clock, signal);
  if (plan === undefined) return { status: 'skipped', reason: 'it has no time to cut a window from' };
  for (const open of await openWalks(db, run.sourceId, flow.stream.name)) {
    const resumes = open.kind === plan.kind && open.words === plan.words;
    if (!resumes && plan.kind === 'backfill') continue;
    if (open.kind === 'backfill' && !resumes) continue;
    if (!wanted(open, plan, clock)) {
      await abandonWalk(db, open.walkId);
      continue;
    }
    tell(context, 'info', `${flow.stream.name}: goes on with the ${open.kind} walk that was interrupted`);
    const problem = await finishWalk(make(open), clock);
    if (problem !== undefined) {
      // A slice that never adds up must not keep what is new out of the warehouse; the watermark stays where it is.
      const late = catchUp(flow, open, deps.lookbackMs);
      if (late !== undefined && (await flow.stream.windows?.changes(signal)) === 'updated') await begin(late);
      return problem;
    }
    // A backfill or a list is done with that. A walk by time that began long ago is followed by what has changed since.
    if (open.window === undefined || plan.kind === 'backfill' || open.clock === undefined) return undefined;
    return walkAll(context, flow, { ...asked, full: false }, times, tally);
  }
  return begin(plan);
}

/** What has changed since a walk began that cannot be finished; a walk of this kind moves no watermark. */
function catchUp(flow: Flow, open: Walk, lookbackMs: number): StreamPlan | undefined {
  if (open.kind !== 'full' || open.clock === undefined || flow.stream.windows === undefined) return undefined;
  const from = new Date(open.clock.getTime() - lookbackMs);
  return {
    mode: 'incremental',
    kind: 'backfill',
    words: `catch up ${open.walkId}`,
    window: { field: 'updated', from },
  };
}

/** Whether an open walk of an earlier run is still worth finishing. */
function wanted(open: Walk, plan: StreamPlan, clock: Date | undefined): boolean {
  if (open.kind === 'backfill') return true;
  if (open.words !== plan.words && open.kind === plan.kind) return false;
  if (plan.kind === 'full' && open.kind === 'incremental') return false;
  if (open.window !== undefined) return true;
  const age = (clock?.getTime() ?? Date.now()) - (open.clock?.getTime() ?? 0);
  return age < listGoesStale;
}

async function firstSlices(context: RunContext, flow: Flow, plan: StreamPlan): Promise<readonly Slice[]> {
  const window = plan.window === undefined ? {} : { window: plan.window };
  const { parents } = flow.stream;
  if (parents === undefined) return [window];
  const owners = await partitionsFrom(
    context.deps.warehouse.db,
    context.run.sourceId,
    flow.stream.name,
    parents,
    ownersOf(plan),
  );
  return owners.map((partition) => ({ partition, ...window }));
}

/** Reads every slice of a walk that is not done, several at once. */
async function finishWalk(stream: StreamContext, clock: Date | undefined): Promise<Problem | undefined> {
  const { context, flow, walk } = stream;
  const { db } = context.deps.warehouse;
  if (walk.resumed && flow.stream.parents !== undefined) {
    const known = await partitionsOf(db, walk);
    const owners = await partitionsFrom(
      db,
      context.run.sourceId,
      flow.stream.name,
      flow.stream.parents,
      ownersOf(walk),
    );
    const late = owners.filter((partition) => !known.has(partitionText(partition)));
    await addSlices(
      db,
      walk.walkId,
      late.map((partition) => ({ partition })),
    );
  }
  const slices = await unreadSlices(db, walk);
  if (slices.length === 0) {
    await closeWalk(stream);
    return undefined;
  }
  const problems: Problem[] = [];
  const gone: Gone[] = [];
  const before = stream.tally.slices;
  const failure = new AbortController();
  const work = async (open: OpenSlice, count?: number): Promise<void> => {
    const more = await context.slot(async () => {
      if (failure.signal.aborted) return [];
      if (context.signal.aborted) throw context.signal.reason;
      try {
        const split = await splitIfLarge(stream, open, count, clock);
        if (split !== undefined) {
          stream.unread.count += split.length - 1;
          return split;
        }
        const end = await readSlice(stream, open);
        if (end.status === 'partial') problems.push({ status: 'partial', reason: mismatch(flow, open.slice, end) });
        return [];
      } catch (error) {
        if (error instanceof Missing && flow.stream.parents !== undefined) {
          gone.push({ open, error });
          if (!isUnavailable(flow, gone, stream.tally.slices - before, false)) return [];
        }
        const verdict = await sliceFailed(stream, open, error);
        if (verdict === 'ends the stream') {
          failure.abort();
          throw error;
        }
        problems.push(verdict);
        return [];
      }
    });
    await Promise.all(more.map((half) => work(half.open, half.count)));
  };
  stream.unread.count = slices.length;
  const results = await Promise.allSettled(slices.map((open) => work(open)));
  const thrown = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (thrown.length > 0) throw thrown.find(endsRun) ?? thrown[0];
  const [first] = gone;
  if (first !== undefined && isUnavailable(flow, gone, stream.tally.slices - before, true)) throw first.error;
  for (const one of gone) await closeAbsent(stream, one);
  if (slices.length > 1 && problems.length === 0) await closeWalk(stream);
  return worst(problems);
}

/** A slice whose owner answered 404. */
interface Gone {
  readonly open: OpenSlice;
  readonly error: Missing;
}

/** So many owners without the list, and none with it: the server does not have the endpoint. */
const missesUntilUnavailable = 3;

/** Whether 404s mean that the endpoint is missing (no owner has it), rather than that these owners were deleted a moment ago. */
const isUnavailable = (flow: Flow, gone: readonly Gone[], answered: number, atEnd: boolean): boolean =>
  answered === 0 && (gone.length >= missesUntilUnavailable || (atEnd && !flow.stream.promised));

/** Closes the slice of an owner that is gone; the rows stay until a census looks at the owner. */
async function closeAbsent(stream: StreamContext, { open, error }: Gone): Promise<void> {
  const { context, flow } = stream;
  await sql`update ops.slices set status = 'absent', run_id = ${context.run.runId}::bigint, finished_at = now(),
      error_code = ${error.code}, error_message = ${error.message}
    where slice_id = ${open.sliceId}::bigint`.execute(context.deps.warehouse.db);
  await closeWalk(stream);
  tell(context, 'warn', `${flow.stream.name}${where(open.slice)}: ${error.message}`);
}

/** Closes the walk if every slice of it is done; a walk without any slice (no owners) is. */
async function closeWalk(stream: StreamContext): Promise<void> {
  const { context, flow, walk } = stream;
  await context.deps.warehouse.db.transaction().execute(async (trx) => {
    await closeIfLast({ trx }, walk, {
      sourceId: context.run.sourceId,
      stream: flow.stream.name,
      runId: context.run.runId,
      scope: flow.stream.windows?.scope ?? '',
    });
    await context.lease.guard({ trx });
  });
}

const worst = (problems: readonly Problem[]): Problem | undefined => {
  const first = problems.find((problem) => problem.status === 'failed') ?? problems[0];
  if (first === undefined || problems.length === 1) return first;
  return { status: first.status, reason: `${first.reason} (and ${problems.length - 1} more slices)` };
};

const mismatch = (flow: Flow, slice: Slice, end: { expected: number | null; fetched: number }): string =>
  `${flow.stream.name}${where(slice)}: the source says ${end.expected ?? 'nothing'} records, ${end.fetched} could be read`;

function where(slice: Slice): string {
  const parts = [
    ...Object.entries(slice.partition ?? {}).map(([name, value]) => `${name} ${value}`),
    ...(slice.window === undefined
      ? []
      : [`${slice.window.from?.toISOString() ?? '…'}/${slice.window.to?.toISOString() ?? '…'}`]),
  ];
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

/**
 * What a failed slice means for its stream: a problem to report while other slices go on, or the end of the stream.
 */
async function sliceFailed(
  stream: StreamContext,
  open: OpenSlice,
  error: unknown,
): Promise<Problem | 'ends the stream'> {
  const { context, flow } = stream;
  const { db } = context.deps.warehouse;
  if (!(error instanceof TidemarkError)) return 'ends the stream';
  const facts = { code: error.code, message: error.message };
  if (!(error instanceof Fenced)) await failSlice(db, open.sliceId, context.run.runId, facts).catch(() => undefined);
  if (endsRun(error)) return 'ends the stream';
  if (error instanceof Forbidden && flow.stream.parents !== undefined)
    return { status: 'forbidden', reason: `${flow.stream.name}${where(open.slice)}: ${error.message}` };
  if (error instanceof Missing || error instanceof Forbidden) return 'ends the stream';
  return { status: 'failed', reason: `${flow.stream.name}${where(open.slice)}: ${error.message}` };
}

interface Half {
  readonly open: OpenSlice;
  readonly count: number | undefined;
}

/** Halves a window that holds more than a few thousand records; the halves are slices of their own. */
async function splitIfLarge(
  stream: StreamContext,
  open: OpenSlice,
  known: number | undefined,
  clock: Date | undefined,
): Promise<readonly Half[] | undefined> {
  const { context, flow, walk, tally } = stream;
  const { windows } = flow.stream;
  if (windows === undefined || open.slice.window === undefined) return undefined;
  const count = known ?? (await windows.count(open.slice, context.signal));
  if (known === undefined && count !== undefined && walk.kind !== 'incremental')
    tally.announced = (tally.announced ?? 0) + count;
  if (count === undefined || count <= mostRecords) return undefined;
  const cut = halves(open.slice, clock ?? walk.clock ?? new Date());
  if (cut === undefined) return undefined;
  await splitSlice(context.deps.warehouse.db, walk, open.sliceId, cut);
  const [left] = cut;
  const inLeft = await windows.count(left, context.signal);
  const fresh = await unreadSlices(context.deps.warehouse.db, walk);
  return cut.flatMap((slice, index) => {
    const found = fresh.find((other) => sameWindow(other.slice, slice));
    const rest = inLeft === undefined ? undefined : Math.max(0, count - inLeft);
    return found === undefined ? [] : [{ open: found, count: index === 0 ? inLeft : rest }];
  });
}

const sameWindow = (a: Slice, b: Slice): boolean =>
  a.window?.from?.getTime() === b.window?.from?.getTime() && a.window?.to?.getTime() === b.window?.to?.getTime();
