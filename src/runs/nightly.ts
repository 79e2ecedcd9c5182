/** What `serve` runs in this process, and the parts of a night: every pipeline, and its reconcile after it where that is due. */
import { nightlyName } from '../config/configured.ts';
import { describe } from '../core/describe-error.ts';
import { Fenced, LockHeld } from '../core/errors.ts';
import type { Observe } from '../core/run.ts';
import { minutes } from '../core/time.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { query } from '../queries/db.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { notifyAfter } from './after.ts';
import type { Ask, Runner } from './ask.ts';
import type { Lend, ProgramSettings } from './assemble.ts';
import * as lookup from './pipelines.ts';
import { execute, type Following, planOf, type RunContext, withDeps } from './run.ts';
import { due } from './schedule.ts';
import { type PlanDuring, tonightOf } from './tonight.ts';

type How = Parameters<Runner['run']>[1];

interface RunnerOptions {
  readonly config: ProgramSettings;
  readonly outbound: Outbound;
  readonly lend: Lend;
  readonly progress: Following;
  readonly warn: (text: string) => void;
}

/** Nobody follows a plan. */
const silent: Observe = () => undefined;

/** How long a source may take to be planned, before the plan of the night goes without it. */
const planLimitMs = minutes(2);

export function openRunner(context: RunContext, options: RunnerOptions): Runner {
  const { config, outbound, lend, progress, warn } = options;
  const configured = lookup.partsOfNightly(config);
  const reconciled = lookup.reconciled(config);
  const during = <T>(
    { pipeline }: Ask,
    { signal, observe }: Pick<How, 'signal' | 'observe'>,
    work: (deps: RunDeps) => Promise<T>,
  ) =>
    lend((warehouse) => {
      const parts = { ...context.parts, warehouse: async () => warehouse };
      return withDeps({ ...context, parts, signal }, pipeline, { ...progress, observe }, work);
    });
  const run: Runner['run'] = async (ask, { signal, trigger, ...how }) => {
    const { pipeline } = ask;
    const observe: Observe = (event) => {
      progress.observe(event);
      how.observe(event);
    };
    const work = (deps: RunDeps) => execute(ask, { ...deps, trigger });
    const { report, failure } = await during(ask, { signal, observe }, work).catch(async (error: unknown) => {
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
    run,
    parts(ask) {
      if (ask.pipeline !== nightlyName) return undefined;
      const names = configured.filter((name) => ask.does !== 'reconcile' || reconciled.includes(name));
      return names.map((pipeline) => ({ ...ask, pipeline }));
    },
    next: (part) => lend((warehouse) => nextPart(warehouse, config, part)),
    preview: (ask, signal) => during(ask, { signal, observe: silent }, (deps) => planOf(ask, deps)),
    replay: (pipeline, id) =>
      during({ pipeline, does: 'sync' }, { signal: context.signal, observe: silent }, async (deps) =>
        (await import('../engine/replay.ts')).replayRejects({ ...deps, trigger: 'api' }, { id }),
      ),
    tonight(signal) {
      const planned: PlanDuring = (pipeline, work) => {
        const limited = AbortSignal.any([signal, AbortSignal.timeout(planLimitMs)]);
        return during({ pipeline, does: 'sync' }, { signal: limited, observe: silent }, work);
      };
      return tonightOf(lookup.configured(config), planned, config.server.jobs);
    },
  };
}

/**
 * What follows that part of a night: the reconcile of its pipeline, where it is due. It is where a scheduled time of it has
 * passed since the last one of every stream, or since the pipeline's first run if there was none. By the database clock.
 */
export async function nextPart(
  { db }: Pick<Warehouse, 'db'>,
  config: ProgramSettings,
  { pipeline, does }: Ask,
): Promise<Ask | undefined> {
  const { jobs } = lookup.pipelineOf(config, pipeline);
  const job = jobs.find(({ does, within }) => does === 'reconcile' && within === nightlyName);
  if (job === undefined || (does !== 'sync' && does !== 'full')) return undefined;
  const [last] = await query(db)<{ since: Date | null; now: Date }>`
    select coalesce(
        max(started_at) filter (where settles = 'deletions' and status in ('succeeded', 'needs_attention')),
        min(started_at)) as since,
      clock_timestamp() as now
    from ops.runs where pipeline = ${pipeline}`;
  const isDue = last?.since && due(job.on)(last.since).next().value <= last.now;
  return isDue ? { pipeline, does: 'reconcile' } : undefined;
}
