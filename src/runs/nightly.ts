/** Runs requests of `serve` in this process: a pipeline, or `nightly`, which is all of them in turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { nightlyName } from '../config/configured.ts';
import { describe } from '../core/describe-error.ts';
import { Fenced, LockHeld, passesAfter } from '../core/errors.ts';
import { minute } from '../core/format.ts';
import { longestOf, type Observe, type RunReport } from '../core/run.ts';
import { hours, seconds } from '../core/time.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import type { PlannedStream } from '../engine/preview.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { notifyAfter } from './after.ts';
import type { Ask, PlanLine, Runner } from './ask.ts';
import type { ProgramSettings } from './assemble.ts';
import * as lookup from './pipelines.ts';
import { execute, type Following, planOf, type RunContext, withDeps } from './run.ts';
import { due } from './schedule.ts';

type How = Parameters<Runner['run']>[1];
type RunOne = (ask: Ask, how: How) => Promise<RunReport>;

/** While another run holds a pipeline, `nightly` tries it again after this time. */
const heldPauseMs = seconds(5);

interface RunnerOptions {
  readonly config: ProgramSettings;
  readonly outbound: Outbound;
  /** Connections for a pipeline's runs only, so that no run takes those of another. */
  readonly warehouseOf: (pipeline: string) => Promise<Warehouse>;
  readonly progress: Following;
  readonly warn: (text: string) => void;
}

export function openRunner(context: RunContext, options: RunnerOptions): Runner {
  const { config, outbound, warehouseOf, progress, warn } = options;
  const configured = lookup.partsOfNightly(config);
  const during = <T>(
    { pipeline }: Ask,
    how: Pick<How, 'signal' | 'observe'>,
    work: (deps: RunDeps) => Promise<T>,
  ) => {
    const { signal, observe } = how;
    const parts = { ...context.parts, warehouse: () => warehouseOf(pipeline) };
    return withDeps({ ...context, parts, signal }, pipeline, { ...progress, observe }, work);
  };
  const runOne: RunOne = async (ask, { signal, trigger, ...how }) => {
    const { pipeline } = ask;
    const observe: Observe = (event) => {
      progress.observe(event);
      how.observe(event);
    };
    const run = (deps: RunDeps) => execute(ask, { ...deps, trigger });
    const { report, failure } = await during(ask, { signal, observe }, run).catch(async (error: unknown) => {
      // A request that was stopped, or that waits for its turn, has not failed.
      const isWaiting = signal.aborted || error instanceof LockHeld || error instanceof Fenced;
      const cause = describe(error).message;
      if (!isWaiting) await notifyAfter(context, outbound, { pipeline, cause }, warn);
      throw error;
    });
    // A lost run is resumed by another process, or reported when it is not.
    if (report.status !== 'lost') await notifyAfter(context, outbound, report, warn);
    if (failure !== undefined) throw failure;
    return report;
  };
  return {
    run: (ask, how) => (ask.pipeline === nightlyName ? runAll(ask, how, options, runOne) : runOne(ask, how)),
    async preview(ask, signal) {
      const isAll = ask.pipeline === nightlyName;
      const lines: PlanLine[] = [];
      for (const pipeline of isAll ? configured : [ask.pipeline]) {
        const one = { ...ask, pipeline };
        const planned = await during(one, { signal, observe: () => undefined }, (deps) => planOf(one, deps));
        for (const each of planned)
          lines.push({ ...each, about: about(each), stream: `${isAll ? `${pipeline}.` : ''}${each.stream}` });
      }
      return lines;
    },
  };
}

/** Every pipeline in turn, then every reconcile that is due. A pipeline that another run holds is tried again later. */
async function runAll(ask: Ask, how: How, { config, warehouseOf }: RunnerOptions, runOne: RunOne) {
  const latest = performance.now() + hours(config.runHours);
  const names = lookup.partsOfNightly(config);
  const reconciled = lookup.reconciled(config);
  const parts: NightlyPart[] = [];
  const runEach = async (asks: Ask[]) => {
    for (const next of asks) {
      const part = await partOf(next, how, runOne, performance.now() < latest);
      if (part !== undefined) parts.push(part);
      else {
        asks.push(next);
        await sleep(heldPauseMs, undefined, { signal: how.signal }).catch(() => undefined);
      }
      how.signal.throwIfAborted();
    }
  };
  const isDone = (name: string) => how.done?.some((run) => run.pipeline === name && run.kind === ask.does);
  const first = names.filter((name) => ask.does !== 'reconcile' || reconciled.includes(name));
  await runEach(first.filter((name) => !isDone(name)).map((pipeline) => ({ ...ask, pipeline })));
  if (ask.does === 'sync' || ask.does === 'full')
    for (const pipeline of names)
      if (await isReconcileDue(await warehouseOf(pipeline), lookup.pipelineOf(config, pipeline)))
        await runEach([{ pipeline, does: 'reconcile' }]);
  return combinedReport(parts);
}

/** One of several runs. Also one that an error ended before it was a run. */
export type NightlyPart = Pick<RunReport, 'pipeline' | 'status' | 'error'> & {
  readonly kind: string;
  readonly passesAfterMs?: number | undefined;
};

/** Undefined where another run holds the pipeline. Throws Fenced: then the request as a whole is resumed elsewhere. */
async function partOf(
  ask: Ask,
  how: How,
  runOne: RunOne,
  mayWait: boolean,
): Promise<NightlyPart | undefined> {
  const { pipeline, does: kind } = ask;
  try {
    const report = await runOne(ask, how);
    if (report.status !== 'lost') return report;
    throw new Fenced(report.error?.message ?? `${pipeline}: its run was lost`);
  } catch (error) {
    if (error instanceof Fenced) throw error;
    how.signal.throwIfAborted();
    if (!(error instanceof LockHeld && mayWait))
      return { pipeline, kind, status: 'failed', error: describe(error), passesAfterMs: passesAfter(error) };
    how.observe({ type: 'note', pipeline, level: 'info', message: `${error.message}; tried again later` });
    return undefined;
  }
}

type Combined = Awaited<ReturnType<Runner['run']>>;

/** How several runs ended together: `failed` only if every one failed. */
export function combinedReport(parts: readonly NightlyPart[]): Combined {
  const bad = parts.filter(({ status }) => status !== 'succeeded');
  const [first] = bad;
  if (first === undefined) return { status: 'succeeded' };
  const all = (status: string) => bad.every((each) => each.status === status);
  const passesAfterMs = longestOf(bad.map((each) => each.passesAfterMs));
  const reasons = bad.map(
    ({ pipeline, kind, status, error }) =>
      `${pipeline} ${kind} ${status.replaceAll('_', ' ')}${error === undefined ? '' : `: ${error.message}`}`,
  );
  const isFailed = bad.length === parts.length && all('failed');
  return {
    status: isFailed ? 'failed' : all('needs_attention') ? 'needs_attention' : 'partly_failed',
    error: { code: first.error?.code ?? first.status, message: reasons.join('; ') },
    passesAfterMs,
  };
}

type PipelineJobs = Pick<lookup.Pipeline, 'name' | 'jobs'>;

/**
 * Whether a scheduled time of the pipeline's reconcile has passed since the last one of every stream, or since the pipeline's first run if
 * there was none. By the database clock.
 */
export async function isReconcileDue({ db }: Pick<Warehouse, 'db'>, { name: pipeline, jobs }: PipelineJobs) {
  const job = jobs.find(({ does, within }) => does === 'reconcile' && within === 'nightly');
  if (job === undefined) return false;
  const { rows } = await sql<{ since: Date | null; now: Date }>`
    select coalesce(
        max(started_at) filter (where settles = 'deletions' and status in ('succeeded', 'needs_attention')),
        min(started_at)) as since,
      clock_timestamp() as now
    from ops.runs where pipeline = ${pipeline}`.execute(db);
  const { since, now } = rows[0] ?? { since: null, now: new Date() };
  return since !== null && due(job.on)(since).next().value <= now;
}

/** `backfill 2024-01-01 00:00 to 2024-02-01 00:00` */
function about({ mode, from, to, why }: PlannedStream): string {
  const window = `${from ? minute(from) : 'from the beginning'} to ${to ? minute(to) : 'now'}`;
  return `${mode.replace('-', ' ')}${from || to ? ` ${window}` : ''}${why === undefined ? '' : `: ${why}`}`;
}
