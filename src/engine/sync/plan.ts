/** What is read of a stream now: everything, what is due since the last time, or the window of a backfill. */

import { sql } from 'kysely';
import type { Days, Stream, Window, Windows } from '../../core/stream.ts';
import { days as daysOf, hours } from '../../core/time.ts';
import { rowsOf } from '../../queries/db.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { RunContext } from '../context/run-context.ts';
import { type Checkpoint, type Coverage, checkpointOf, coverageOf, whyAgain } from '../state/checkpoint.ts';
import { type Walk, type WalkPlan, walksOf } from '../state/walk-state.ts';
import { day, daysThere, earlier, later, midnight, plus, span } from './cut.ts';

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

/** What a plan is made from; a run's context has all that is needed of one. */
export interface Planning {
  readonly context: Pick<RunContext, 'deps' | 'run' | 'clock' | 'now' | 'signal'>;
  readonly stream: Stream;
  readonly request: Request;
  /** What was last completed. */
  readonly checkpoint: Checkpoint | undefined;
  /** The open walks and the last complete one, in the order of their opening. */
  readonly walks: readonly Walk[];
  /** What a walk over all of the stream would cover now. */
  readonly coverage: Coverage;
}

/**
 * The walk that a stream needs now, from what the warehouse and the source state. The plan is undefined where
 * there is nothing to do (a backfill of a list, of days that the source does not have).
 */
export async function planStream(
  of: Pick<Planning, 'context' | 'stream' | 'request'>,
): Promise<Planning & { readonly plan: StreamPlan | undefined }> {
  const { context, stream, request } = of;
  const { deps, run, signal } = context;
  const { db } = deps.warehouse;
  const checkpoint = await withRetry(() => checkpointOf(db, run.sourceId, stream.name));
  const walks = await withRetry(() => walksOf(db, run.sourceId, stream.name));
  const coverage = await coverageOf(stream, signal, checkpoint?.fields);
  const planning = { context, stream, request, checkpoint, walks, coverage };
  return { ...planning, plan: await planOf(planning) };
}

async function planOf(planning: Planning): Promise<StreamPlan | undefined> {
  const { stream, request, checkpoint, coverage } = planning;
  if (stream.by === 'list') return planList(planning);
  const window = windowOf(planning);
  if (window === undefined) return undefined;
  if (request.window !== undefined) {
    const [from, to] = [request.window.from.toISOString(), request.window.to.toISOString()];
    const { scope } = stream.by === 'days' ? stream.days : stream.windows;
    return { mode: 'backfill', kind: 'backfill', words: `backfill ${from} ${to} ${scope}`, window };
  }
  const words = fullWords(coverage.words, request.full);
  const everything = { mode: 'full', kind: 'full', words, window } as const;
  if (request.full || checkpoint === undefined) return everything;
  const why = whyAgain(checkpoint, coverage);
  if (why !== undefined) return { ...everything, why };
  if (stream.by === 'changes') {
    const tooOld = 'the source cannot tell what changed, and a week has passed';
    return (await planChanges(planning, checkpoint, stream.windows)) ?? { ...everything, why: tooOld };
  }
  const due = await daysSince(planning, stream.days, checkpoint.watermark);
  return due && { mode: 'restatement', kind: 'incremental', words: 'days', window: due };
}

/** All of a stream that is cut by time, or the part of it in a backfill's window: of days that are there. */
function windowOf({ context, stream, request }: Planning): Window | undefined {
  const { window } = request;
  if (stream.by !== 'days') return { field: 'created', from: context.deps.historyStart, ...window };
  const there = daysThere(stream.days, context.clock ?? new Date());
  if (window === undefined) return span(there.from, there.to);
  const end = midnight(new Date(window.to.getTime() + day - 1));
  return span(later(midnight(window.from), there.from), earlier(end, there.to));
}

/** The words of a walk over everything. Forced: what it reads wins over what is stored. */
export const fullWords = (scope: string, forced: boolean): string =>
  `full ${forced ? 'forced ' : ''}${scope}`;

/** All owners, or only those whose records still change where all were read not long ago. */
function planList({ context, stream, request, checkpoint }: Planning): StreamPlan | undefined {
  if (request.window !== undefined) return undefined;
  const recent =
    stream.partitions?.active !== undefined && !request.full && isFresh(checkpoint, context.clock);
  return { mode: 'list', kind: recent ? 'incremental' : 'full', words: 'list', window: undefined };
}

/** What changed since the watermark, or the rolling `created` window; undefined where that is not enough. */
async function planChanges(
  planning: Planning,
  checkpoint: Checkpoint,
  windows: Windows,
): Promise<StreamPlan | undefined> {
  const { deps, clock, signal } = planning.context;
  if ((await windows.changes(signal)) === 'updated') {
    const low = await lowMark(planning, checkpoint);
    const window = { field: 'updated', from: new Date(low.getTime() - deps.lookbackMs) } as const;
    return { mode: 'incremental', kind: 'incremental', words: 'changes', window };
  }
  if (!isFresh(checkpoint, clock)) return undefined;
  const since = earlier(clock ?? checkpoint.watermark, checkpoint.watermark).getTime();
  const window = { field: 'created', from: new Date(since - deps.createdWindowMs) } as const;
  return { mode: 'created-window', kind: 'incremental', words: recentWords, window };
}

/** The words of a walk over what was created of late: older records may have changed meanwhile. */
const recentWords = 'recent';

/**
 * Where changes are read from, before the lookback: the clock of the last walk that showed all changes, or
 * the newest change in the warehouse if that is older (a source whose index lags does not show its
 * changes when the clock says it should; guarantee G4). Records dated in the future do not count.
 */
async function lowMark(
  { context, stream, walks }: Planning,
  { watermark, fullAt }: Checkpoint,
): Promise<Date> {
  const { order, schema, name } = stream.table;
  const isRecent = walks.find(({ isOpen }) => !isOpen)?.words === recentWords;
  const shown = isRecent ? (fullAt ?? watermark) : watermark;
  if (order === undefined) return shown;
  type Row = { readonly newest: Date | null };
  const query = sql<Row>`select max(${sql.id(order)}) as newest from ${sql.id(schema, name)}
    where source_id = ${context.run.sourceId} and ${sql.id(order)} <= ${watermark}`;
  const [row] = await withRetry(() => rowsOf(query, context.deps.warehouse.db));
  return earlier(shown, row?.newest ?? shown);
}

/** Days between two walks over everything, of a source that cannot filter by change. */
const fullEvery = 7;

/** Whether everything was read not long ago. */
const isFresh = (checkpoint: Checkpoint | undefined, clock: Date | undefined): boolean =>
  checkpoint?.fullAt != null && !isDue(checkpoint.fullAt, fullEvery, clock ?? checkpoint.watermark);

/** A run that begins somewhat earlier than the last one still counts as due. */
const slack = hours(6);

/**
 * Whether what is read every `every` days is due, by the source's clock. A last time in the future came from
 * a wrong clock.
 */
function isDue(last: Date, every: number, clock: Date): boolean {
  const age = clock.getTime() - last.getTime();
  return age >= daysOf(every) - slack || age < -slack;
}

/** The days that are due since a walk of this clock. */
export const daysSince = (planning: Planning, days: Days, last: Date): Promise<Window | undefined> =>
  daysDue(days, planning.context.clock ?? new Date(), last, (back) => lastRead(planning, back));

/**
 * What a run reads again: everything since the last walk, and as far back as the deepest restatement that is
 * due, counted in days that are over. One that is overdue reaches back as far as it would have reached on
 * time: those days were not read since. `readAt(back)` is when the last `back` days were last read, by the
 * source's clock.
 */
export async function daysDue(
  days: Days,
  clock: Date,
  last: Date,
  readAt: (back: number) => Promise<Date | undefined>,
): Promise<Window | undefined> {
  const { from, to } = daysThere(days, clock);
  let since = earlier(midnight(last), midnight(clock));
  for (const { every, back } of days.reread) {
    const read = every <= 1 ? last : await readAt(back);
    if (every > 1 && read !== undefined && !isDue(read, every, clock)) continue;
    const onTime = read === undefined ? clock : earlier(clock, plus(read, every));
    since = earlier(since, plus(midnight(onTime), -back));
  }
  return span(later(from, since), to);
}

/**
 * When a walk last covered the last `back` days. What it could not read was taken over by the next one. A
 * history that is shorter than `back` days was never covered: each run reads all of it.
 */
async function lastRead({ context, stream, coverage }: Planning, back: number): Promise<Date | undefined> {
  const { deps, run } = context;
  const query = sql<{ last: Date | null }>`select max(source_clock) as last from ops.walks
    where source_id = ${run.sourceId} and stream = ${stream.name} and (kind = 'incremental'
        or words in (${fullWords(coverage.words, false)}, ${fullWords(coverage.words, true)}))
      and window_to - window_from >= ${back} * interval '1 day'`;
  const rows = await withRetry(() => rowsOf(query, deps.warehouse.db));
  return rows[0]?.last ?? undefined;
}
