/** Runs requests of `serve` in this process: a pipeline, or `nightly`, which is all of them in turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { nightly } from '../../pipelines/nightly.ts';
import { Fenced, Interrupted, LockHeld, Misconfigured } from '../core/errors.ts';
import { minute } from '../core/format.ts';
import type { Observe, RunReport } from '../core/run.ts';
import { hours, seconds } from '../core/time.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import { type PlannedStream, plan } from '../engine/preview.ts';
import type { Ask, PlanLine, Runner } from '../scheduler/control.ts';
import { due } from '../scheduler/schedule.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Context, Settings } from './context.ts';
import { describe } from './exit.ts';
import { checkReconcile, configured, hasReconcile, jobsOf } from './pipelines.ts';
import type { Progress } from './progress.ts';
import { notifyAfter, outboundOf, withDeps } from './sources.ts';
import { combinedReport, type Part } from './summary.ts';

type How = Parameters<Runner['run']>[1];

/** While another run holds a pipeline, `nightly` tries it again after this time. */
const heldPauseMs = seconds(5);

export interface RunnerOptions {
  readonly config: Settings;
  /** The process's own connections, for notifications. */
  readonly own: Warehouse;
  /** Connections for a pipeline's runs only, so that no run takes those of another. */
  readonly warehouseOf: (pipeline: string) => Promise<Warehouse>;
  readonly progress: Progress;
  readonly warn: (text: string) => void;
}

export function openRunner(context: Context, options: RunnerOptions): Runner {
  const { config, own, warehouseOf, progress, warn } = options;
  const names = configured(config).map(({ name }) => name);
  const during = <T>(
    pipeline: string,
    { signal, observe }: Listening,
    work: (deps: RunDeps) => Promise<T>,
  ) => {
    const warehouse = () => warehouseOf(pipeline);
    return withDeps({ ...context, signal }, pipeline, { ...progress, observe }, work, { config, warehouse });
  };
  const notify = (what: Parameters<typeof notifyAfter>[2]) =>
    notifyAfter(context.signal, outboundOf(own, config), what, warn);

  const runOne = async (ask: Ask, how: How): Promise<RunReport> => {
    if (ask.does === 'reconcile') checkReconcile(ask.pipeline);
    let ended: RunReport | undefined;
    const observe: Observe = (event) => {
      if (event.type === 'run.finished') ended = event.report;
      progress.observe(event);
      how.observe(event);
    };
    try {
      return await during(ask.pipeline, { ...how, observe }, (deps) =>
        work(ask, { ...deps, trigger: how.trigger }),
      );
    } catch (error) {
      // A request that was stopped, or that waits for its turn, has not failed.
      const isWaiting = how.signal.aborted || error instanceof LockHeld || error instanceof Fenced;
      if (ended === undefined && !isWaiting)
        await notify({ pipeline: ask.pipeline, cause: describe(error).message });
      throw error;
    } finally {
      // A lost run is resumed by another process, or reported when it is not.
      if (ended !== undefined && ended.status !== 'lost') await notify(ended);
    }
  };

  const deadlineMs = hours(config.runHours);
  return {
    configured: names,
    run: (ask, how) =>
      ask.pipeline === nightly.name
        ? runAll({ names, ask, how, runOne, warehouseOf, deadlineMs })
        : runOne(ask, how),
    async preview(ask, signal) {
      const isAll = ask.pipeline === nightly.name;
      const lines: PlanLine[] = [];
      const silent = { signal, observe: () => undefined };
      for (const pipeline of isAll ? names : [ask.pipeline])
        for (const line of await during(pipeline, silent, (deps) => planLines(deps, ask)))
          lines.push(isAll ? { ...line, stream: `${pipeline}.${line.stream}` } : line);
      return lines;
    },
  };
}

type Listening = Pick<How, 'signal' | 'observe'>;

async function work({ does, streams, window }: Ask, deps: RunDeps): Promise<RunReport> {
  const some = streams === undefined ? {} : { streams };
  if (does === 'reconcile') return (await import('../engine/reconcile/reconcile.ts')).reconcile(deps, some);
  if (does !== 'backfill')
    return (await import('../engine/sync.ts')).sync(deps, { ...some, full: does === 'full' });
  if (window === undefined) throw new Misconfigured('a backfill needs FROM and TO');
  return (await import('../engine/sync.ts')).backfill(deps, { ...window, ...some });
}

interface All {
  readonly names: readonly string[];
  readonly ask: Ask;
  readonly how: How;
  readonly runOne: (ask: Ask, how: How) => Promise<RunReport>;
  readonly warehouseOf: RunnerOptions['warehouseOf'];
  readonly deadlineMs: number;
}

/** Every pipeline in turn, then every reconcile that is due. A pipeline that another run holds is tried again later. */
async function runAll({ names, ask, how, runOne, warehouseOf, deadlineMs }: All): Promise<RunReport> {
  const started = performance.now();
  const done: Part[] = [];
  const isDone = (pipeline: string): boolean =>
    how.done?.some((run) => run.pipeline === pipeline && run.kind === ask.does) === true;
  const waiting: Ask[] = names
    .filter((name) => (ask.does !== 'reconcile' || hasReconcile(name)) && !isDone(name))
    .map((pipeline) => ({ ...ask, pipeline }));
  const drain = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const part = await partOf(next, { how, runOne, mayWait: performance.now() - started < deadlineMs });
      if (part !== undefined) done.push(part);
      else {
        waiting.push(next);
        await sleep(heldPauseMs, undefined, { signal: how.signal }).catch(() => undefined);
      }
      if (how.signal.aborted) throw how.signal.reason ?? new Interrupted('stopped');
    }
  };
  await drain();
  if (ask.does === 'sync' || ask.does === 'full')
    for (const pipeline of names)
      if (await isReconcileDue(await warehouseOf(pipeline), pipeline))
        waiting.push({ pipeline, does: 'reconcile' });
  await drain();
  return combinedReport(nightly.name, ask.does, done, (performance.now() - started) / 1000);
}

/** Undefined where another run holds the pipeline. Throws Fenced: then the request as a whole is resumed elsewhere. */
async function partOf(
  ask: Ask,
  { how, runOne, mayWait }: Pick<All, 'how' | 'runOne'> & { readonly mayWait: boolean },
): Promise<Part | undefined> {
  const { pipeline } = ask;
  try {
    const report = await runOne(ask, how);
    if (report.status !== 'lost') return { pipeline, report };
    throw new Fenced(report.error?.message ?? `${pipeline}: its run was lost`);
  } catch (error) {
    if (error instanceof Fenced) throw error;
    if (how.signal.aborted) throw how.signal.reason ?? new Interrupted('stopped');
    if (!(error instanceof LockHeld && mayWait)) return { pipeline, error };
    how.observe({ type: 'note', pipeline, level: 'info', message: `${error.message}; tried again later` });
    return undefined;
  }
}

/**
 * Whether a scheduled time of the pipeline's reconcile has passed since the last one of every stream, or since the pipeline's first run if
 * there was none. By the database clock.
 */
export async function isReconcileDue({ db }: Pick<Warehouse, 'db'>, pipeline: string): Promise<boolean> {
  const job = jobsOf(pipeline).find(({ does, within }) => does === 'reconcile' && within === 'nightly');
  if (job === undefined) return false;
  const { rows } = await sql<{ since: Date | null; now: Date }>`
    select coalesce(
        max(started_at) filter (where settles = 'deletions' and status in ('succeeded', 'needs_attention')),
        min(started_at)) as since,
      clock_timestamp() as now
    from ops.runs where pipeline = ${pipeline}`.execute(db);
  const { since, now } = rows[0] ?? { since: null, now: new Date() };
  return since !== null && due(job.on).next(since) <= now;
}

/** What a request would read, as the control API and the dashboard show it. */
async function planLines(deps: RunDeps, { does, streams, window }: Ask): Promise<readonly PlanLine[]> {
  const planned = await plan(deps, {
    ...(streams && { streams }),
    ...(window && { window }),
    full: does === 'full',
  });
  return planned.map((each) => {
    const { stream, slices, records, requests, seconds } = each;
    const costs = { ...(records !== undefined && { records }), ...(requests !== undefined && { requests }) };
    return { stream, slices, ...costs, ...(seconds !== undefined && { seconds }), about: about(each) };
  });
}

/** `backfill 2024-01-01 00:00 to 2024-02-01 00:00` */
function about({ mode, from, to, why }: PlannedStream): string {
  const side = (at: Date | undefined, none: string) => (at === undefined ? none : minute(at));
  const window = from || to ? ` ${side(from, 'from the beginning')} to ${side(to, 'now')}` : '';
  return `${mode.replace('-', ' ')}${window}${why === undefined ? '' : `: ${why}`}`;
}
