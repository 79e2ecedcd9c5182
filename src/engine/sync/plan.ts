/** What is read of a stream now: everything, what is due since the last time, or the window of a backfill. */

import { sql } from 'kysely';
import type { Days, Stream, Window, Windows } from '../../core/stream.ts';
import { days as daysOf, earlier, hours, later, midnight, plusDays } from '../../core/time.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { RunDeps } from '../context/deps.ts';
import { ask, type RunContext } from '../context/run-context.ts';
import type { StreamInRun } from '../context/stream-in-run.ts';
import { type Checkpoint, type Coverage, checkpointOf, coverageOf, whyAgain } from '../state/checkpoint.ts';
import { hasOpenRejects } from '../state/run-state.ts';
import { type Walk, type WalkPlan, walksOf } from '../state/walk-state.ts';
import { daysThere, span } from './cut.ts';

/** What a run is asked to do. */
export interface Request {
  readonly full: boolean;
  /** A backfill's window. */
  readonly window: { readonly from: Date; readonly to: Date } | undefined;
}

/** What a plan is made from; `context` has what is needed of a run. */
export interface Planning {
  readonly context: Pick<RunContext, 'deps' | 'run' | 'clock' | 'now' | 'signal'>;
  readonly stream: Stream;
  readonly request: Request;
  /** What was last completed. */
  readonly checkpoint: Checkpoint | undefined;
  /** The open walks and the last complete one, in the order of their opening. */
  readonly walks: readonly Walk[];
  /** Whether a good version may resolve an open reject of the stream. */
  readonly resolves: boolean;
  /** What a walk over all of the stream would cover now. */
  readonly coverage: Coverage;
}

/** The same in a run that reads the stream. */
export interface Syncing extends StreamInRun, Omit<Planning, keyof StreamInRun> {}

/** What the warehouse and the source state of a stream now. */
export async function planningOf(of: Pick<Planning, 'context' | 'stream' | 'request'>): Promise<Planning> {
  const { deps, run, signal } = of.context;
  const at = [deps.warehouse.db, run.sourceId, of.stream.name] as const;
  const [checkpoint, walks, resolves] = await withRetry(() =>
    Promise.all([checkpointOf(...at), walksOf(...at), hasOpenRejects(...at)]),
  );
  const coverage = await coverageOf(of.stream, signal, checkpoint?.fields);
  return { ...of, checkpoint, walks, resolves, coverage };
}

/**
 * The walk that a stream needs now; undefined where there is nothing to do (a backfill of a list, of days that
 * the source does not have).
 */
export async function planOf(planning: Planning): Promise<WalkPlan | undefined> {
  const { stream, request, checkpoint, coverage } = planning;
  if (stream.by === 'list') {
    if (request.window !== undefined) return undefined;
    // All owners, or only those whose records still change where all were read not long ago.
    const isPart = stream.partitions?.active && !request.full && isFresh(planning);
    return { kind: isPart ? 'incremental' : 'full', words: 'list', window: undefined };
  }
  const window = windowOf(planning);
  if (window === undefined) return undefined;
  if (request.window !== undefined) {
    const { scope } = stream.days ?? stream.windows;
    return { kind: 'backfill', words: `backfill ${JSON.stringify(request.window)} ${scope}`, window };
  }
  const everything = { kind: 'full', words: fullWords(coverage.words, request.full), window } as const;
  if (request.full || checkpoint === undefined) return everything;
  const why = whyAgain(checkpoint, coverage);
  if (why !== undefined) return { ...everything, why };
  if (stream.by === 'changes') {
    const tooOld = 'the source cannot tell what changed, and a week has passed';
    return (await planChanges(planning, checkpoint, stream.windows)) ?? { ...everything, why: tooOld };
  }
  const due = await daysSince(planning, stream.days, checkpoint.watermark);
  return due && { kind: 'incremental', words: 'days', window: due };
}

/** All of a stream that is cut by time, or the part of it in a backfill's window: of days that are there. */
export function windowOf({ context, stream, request: { window } }: Planning): Window | undefined {
  if (stream.by !== 'days') return { field: 'created', from: context.deps.historyStart, ...window };
  const { from, to } = daysThere(stream.days, context.clock ?? new Date());
  if (window === undefined) return span(from, to);
  const end = midnight(new Date(window.to.getTime() + daysOf(1) - 1));
  return span(later(midnight(window.from), from), earlier(end, to));
}

/** The words of a walk over everything. Forced: what it reads wins over what is stored. */
export const fullWords = (scope: string, forced: boolean): string =>
  `full ${forced ? 'forced ' : ''}${scope}`;

/** What changed since the watermark, or the rolling `created` window; undefined where that is not enough. */
async function planChanges(
  planning: Planning,
  checkpoint: Checkpoint,
  windows: Windows,
): Promise<WalkPlan | undefined> {
  const { clock = checkpoint.watermark, signal, deps } = planning.context;
  const field = await windows.changes(signal);
  const isAll = field === 'updated';
  if (!isAll && !isFresh(planning)) return undefined;
  const since = isAll ? await lowMark(planning, checkpoint) : earlier(clock, checkpoint.watermark);
  const words = isAll ? 'changes' : recentWords;
  return { kind: 'incremental', words, window: windowSince(deps, field, since) };
}

/** What changed or was created since the moment, and somewhat before it. */
export const windowSince = (deps: RunDeps, field: 'updated' | 'created', since: Date): Window => ({
  field,
  from: new Date(since.getTime() - (field === 'updated' ? deps.lookbackMs : deps.createdWindowMs)),
});

/** The words of a walk over what was created of late: older records may have changed meanwhile. */
const recentWords = 'recent';

/**
 * Where changes are read from, before the lookback: the clock of the last walk that showed all changes, or
 * the newest change in the warehouse if that is older (a source whose index lags does not show its
 * changes when the clock says it should; guarantee G4). Records dated in the future do not count.
 */
async function lowMark(planning: Planning, { watermark, fullAt }: Checkpoint): Promise<Date> {
  const { context, stream, walks } = planning;
  const { order, schema, name } = stream.table;
  const isRecent = walks.find(({ isOpen }) => !isOpen)?.words === recentWords;
  const shown = isRecent ? (fullAt ?? watermark) : watermark;
  if (order === undefined) return shown;
  const newest = sql`max(${sql.id(order)})`;
  const query = sql<{ low: Date }>`select least(${newest}, ${shown}) as low from ${sql.id(schema, name)}
    where source_id = ${context.run.sourceId} and ${sql.id(order)} <= ${watermark}`;
  const [row] = await ask(context, query);
  return row?.low ?? shown;
}

/** Days between two walks over everything, of a source that cannot filter by change. */
const fullEvery = 7;

/** Whether everything was read not long ago. */
const isFresh = ({ checkpoint, context }: Planning): boolean =>
  checkpoint?.fullAt != null && !isDue(checkpoint.fullAt, fullEvery, context.clock ?? checkpoint.watermark);

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
    const onTime = read === undefined ? clock : earlier(clock, plusDays(read, every));
    since = earlier(since, plusDays(midnight(onTime), -back));
  }
  return span(later(from, since), to);
}

/**
 * When a walk last covered the last `back` days. What it could not read was taken over by the next one. A
 * history that is shorter than `back` days was never covered: each run reads all of it.
 */
async function lastRead({ context, stream, coverage }: Planning, back: number): Promise<Date | undefined> {
  const { run } = context;
  const query = sql<{ last: Date | null }>`select max(source_clock) as last from ops.walks
    where source_id = ${run.sourceId} and stream = ${stream.name} and (kind = 'incremental'
        or words in (${fullWords(coverage.words, false)}, ${fullWords(coverage.words, true)}))
      and window_to - window_from >= ${back} * interval '1 day'`;
  const [row] = await ask(context, query);
  return row?.last ?? undefined;
}
