import { type Kysely, sql } from 'kysely';
import type { Days, Stream, Window } from '../../core/stream.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { RunDeps } from '../context/deps.ts';
import { type Coverage, coverageOf, whyAgain } from '../state/coverage.ts';
import { type Checkpoint, checkpointOf, type WalkPlan } from '../state/walk-state.ts';
import { daysDue, daysThere, daysWithin, isDue, lastRead } from './days.ts';

/** What a run is asked to do. */
export interface Request {
  readonly full: boolean;
  /** A backfill's window. */
  readonly window: { readonly from: Date; readonly to: Date } | undefined;
}

/** How a plan is called in reports and in `--dry-run`. */
export type Mode = 'list' | 'full' | 'incremental' | 'backfill' | 'created-window' | 'restatement';

export interface StreamPlan extends WalkPlan {
  readonly mode: Mode;
  /** Why everything is read again without a request for it, as a sentence for people. */
  readonly why?: string;
}

/**
 * Where a stream stands: what was last completed of it, and what a walk over all of it would speak for now.
 */
export interface Standing {
  readonly checkpoint: Checkpoint | undefined;
  readonly coverage: Coverage;
}

/** Asks the warehouse, and the source where what it tells decides how records are read. */
export async function standingOf(
  { warehouse }: RunDeps,
  sourceId: number,
  stream: Stream,
  signal: AbortSignal,
): Promise<Standing> {
  const checkpoint = await withRetry(() => checkpointOf(warehouse.db, sourceId, stream.name));
  return { checkpoint, coverage: await coverageOf(stream, signal, checkpoint?.fields) };
}

/** The words of a walk over everything that has changed. */
const changesWords = 'changes';

/** Where the server cannot filter by change, everything is walked again every so many days. */
const fullEvery = 7;

/**
 * What walk a stream needs now. A list is walked whole. A stream with time is walked whole the first time,
 * when asked, and when what it is restricted to or read by has changed; else from the watermark on, less the
 * lookback. A backfill walks exactly its window.
 * Undefined: nothing to do (a backfill of a stream without time). `known`: where the stream stands, if that
 * was asked already.
 */
export async function planStream(
  deps: RunDeps,
  sourceId: number,
  stream: Stream,
  asked: Request,
  clock: Date | undefined,
  signal: AbortSignal,
  known?: Standing,
): Promise<StreamPlan | undefined> {
  const { windows, days } = stream;
  const stands = async (): Promise<Standing> => known ?? standingOf(deps, sourceId, stream, signal);
  if (days !== undefined) {
    const at = { sourceId, stream: stream.name };
    return planDays(deps, at, days, asked, clock ?? new Date(), stands);
  }
  if (asked.window !== undefined) {
    if (windows === undefined) return undefined;
    const window: Window = { field: 'created', from: asked.window.from, to: asked.window.to };
    const words = `backfill ${asked.window.from.toISOString()} ${asked.window.to.toISOString()} ${windows.scope}`;
    return { mode: 'backfill', kind: 'backfill', words, window };
  }
  const { checkpoint, coverage } = await stands();
  if (windows === undefined) {
    const recent = stream.partitions?.active !== undefined && !asked.full && isFresh(checkpoint, clock);
    return { mode: 'list', kind: recent ? 'incremental' : 'full', words: 'list', window: undefined };
  }
  const everything: StreamPlan = {
    mode: 'full',
    kind: 'full',
    words: fullWords(coverage.words, asked.full),
    window: { field: 'created', from: deps.historyStart },
  };
  if (asked.full || checkpoint === undefined) return everything;
  const why = whyAgain(checkpoint, coverage);
  if (why !== undefined) return { ...everything, why };
  if ((await windows.changes(signal)) === 'updated') {
    const low = await withRetry(() => lowMark(deps, sourceId, stream, checkpoint));
    const from = new Date(low - deps.lookbackMs);
    return {
      mode: 'incremental',
      kind: 'incremental',
      words: changesWords,
      window: { field: 'updated', from },
    };
  }
  if (!isFresh(checkpoint, clock))
    return { ...everything, why: 'the source cannot tell what changed, and a week has passed' };
  const now = clock ?? checkpoint.watermark;
  const from = new Date(Math.min(now.getTime(), checkpoint.watermark.getTime()) - deps.createdWindowMs);
  return { mode: 'created-window', kind: 'incremental', words: 'recent', window: { field: 'created', from } };
}

/**
 * The days that a run reads: everything the first time, what the source may have restated after that, a
 * backfill's own.
 */
async function planDays(
  deps: RunDeps,
  at: { readonly sourceId: number; readonly stream: string },
  days: Days,
  asked: Request,
  clock: Date,
  stands: () => Promise<Standing>,
): Promise<StreamPlan | undefined> {
  if (asked.window !== undefined) {
    const window = daysWithin(days, clock, asked.window);
    const words = `backfill ${asked.window.from.toISOString()} ${asked.window.to.toISOString()} ${days.scope}`;
    return window && { mode: 'backfill', kind: 'backfill', words, window };
  }
  const { db } = deps.warehouse;
  const { checkpoint, coverage } = await stands();
  const why = asked.full || checkpoint === undefined ? undefined : whyAgain(checkpoint, coverage);
  if (asked.full || checkpoint === undefined || why !== undefined) {
    const there = daysThere(days, clock);
    if (there.from >= there.to) return undefined;
    const words = fullWords(days.scope, asked.full);
    const window: Window = { field: 'day', ...there };
    return { mode: 'full', kind: 'full', words, window, ...(why === undefined ? {} : { why }) };
  }
  const window = await daysDue(days, clock, checkpoint.watermark, (back) =>
    withRetry(() => lastRead(db, at, back)),
  );
  return window && { mode: 'restatement', kind: 'incremental', words: 'days', window };
}

/**
 * The words of a walk over everything that a stream is to cover. Forced: what it reads wins over what is
 * here.
 */
export const fullWords = (scope: string, forced: boolean): string =>
  `full ${forced ? 'forced ' : ''}${scope}`;

/** Whether everything was walked not long ago. */
function isFresh(checkpoint: Checkpoint | undefined, clock: Date | undefined): boolean {
  if (checkpoint?.fullAt === undefined) return false;
  return !isDue(checkpoint.fullAt, fullEvery, clock ?? checkpoint.watermark);
}

/**
 * Where changes are read from, before the lookback: the watermark, or the newest change the warehouse knows
 * of if that is older (a source whose index fell behind does not show its changes when the clock says it
 * should; guarantee G4). Records dated in the future do not count, nor does a watermark that was moved by a
 * read of recent records only: older records may have changed.
 */
async function lowMark(
  deps: RunDeps,
  sourceId: number,
  stream: Stream,
  checkpoint: Checkpoint,
): Promise<number> {
  const watermark = Math.min(
    checkpoint.watermark.getTime(),
    await allShownUntil(deps.warehouse.db, { sourceId, stream: stream.name }, checkpoint),
  );
  if (stream.table.order === undefined) return watermark;
  const { rows } = await sql<{ newest: Date | null }>`select max(${sql.id(stream.table.order)}) as newest
    from ${sql.id(stream.table.schema, stream.table.name)}
    where source_id = ${sourceId} and ${sql.id(stream.table.order)} <= ${checkpoint.watermark}`.execute(
    deps.warehouse.db,
  );
  const newest = rows[0]?.newest?.getTime();
  return newest === undefined ? watermark : Math.min(watermark, newest);
}

/**
 * Until when everything that had changed was shown: the clock of the last walk over changes, or over
 * everything.
 */
async function allShownUntil(
  db: Kysely<AnyDatabase>,
  at: { readonly sourceId: number; readonly stream: string },
  { watermark, fullAt }: Checkpoint,
): Promise<number> {
  const { rows } = await sql<{ last: Date | null }>`select max(source_clock) as last from ops.walks
    where source_id = ${at.sourceId} and stream = ${at.stream} and status = 'done' and kind = 'incremental'
      and words = ${changesWords}`.execute(db);
  const shown = [rows[0]?.last ?? undefined, fullAt].flatMap((one) => one?.getTime() ?? []);
  return shown.length === 0 ? watermark.getTime() : Math.max(...shown);
}
