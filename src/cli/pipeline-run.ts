/** One run of a pipeline: opens what it needs, runs what is asked, and sends what follows from it. */
import { nightly } from '../../pipelines/nightly.ts';
import { Misconfigured } from '../core/errors.ts';
import type { Observe, RunReport } from '../core/run.ts';
import { hours } from '../core/time.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import type { PlannedStream } from '../engine/preview.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Ask } from '../scheduler/run-request.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Context, Parts, Settings } from './context.ts';
import { describe } from './exit.ts';
import { allPipelines, current, openSource, reconciled, settingsOf } from './pipelines.ts';
import { noteRateLimits, type Progress } from './progress.ts';

/** What a run takes of a command. */
export type RunContext = Pick<Context, 'signal' | 'version'> & {
  readonly parts: Pick<Parts, 'config' | 'warehouse'>;
};

/** Opens what a run of the pipeline needs, runs `work`, and closes its source. Migrates the warehouse first. */
export async function withDeps<T>(
  { parts, signal, version }: RunContext,
  pipeline: string,
  { observe, say }: Pick<Progress, 'observe' | 'say'>,
  work: (deps: RunDeps) => Promise<T>,
): Promise<T> {
  say(`${pipeline}: opening the warehouse`);
  const config = await parts.config();
  const { exclude, concurrency, lookbackMs, createdWindowMs, historyStart } = settingsOf(config, pipeline);
  const listeners = { observe, onHttp: noteRateLimits(pipeline, observe) };
  const source = await openSource(pipeline, config, version, listeners);
  try {
    const warehouse = await current({ parts, signal, say });
    const run = { observe, signal, version, trigger: 'manual', deadlineMs: hours(config.runHours) } as const;
    const reading = { exclude, concurrency, lookbackMs, createdWindowMs, historyStart };
    return await work({ source, warehouse, ...run, ...reading });
  } finally {
    await source.close();
  }
}

/** Runs what is asked: how the run ended, and the error that ended it, if one did. Throws an error that came before there was a run. */
export async function execute(
  ask: Ask,
  deps: RunDeps,
): Promise<{ readonly report: RunReport; readonly failure?: unknown }> {
  let report: RunReport | undefined;
  const observe: Observe = (event) => {
    if (event.type === 'run.finished') report = event.report;
    deps.observe(event);
  };
  try {
    return { report: await run(ask, { ...deps, observe }) };
  } catch (failure) {
    if (report === undefined) throw failure;
    return { report, failure };
  }
}

/** A window is a backfill's. Throws as `sync` of the engine does. */
async function run(ask: Ask, deps: RunDeps): Promise<RunReport> {
  const { pipeline, does, window } = ask;
  if (does === 'reconcile') {
    if (reconciled.includes(pipeline))
      return (await import('../engine/reconcile/reconcile.ts')).reconcile(deps, ask);
    throw new Misconfigured(`${pipeline} has no reconcile; only ${reconciled.join(', ')} has`);
  }
  const { backfill, sync } = await import('../engine/sync.ts');
  if (window !== undefined) return backfill(deps, { ...ask, ...window });
  return sync(deps, { ...ask, full: does === 'full' });
}

/** What it would read. Asks the source only for counts; writes no rows. */
export const planOf = async (ask: Ask, deps: RunDeps): Promise<readonly PlannedStream[]> =>
  (await import('../engine/preview.ts')).plan(deps, { ...ask, full: ask.does === 'full' });

/** Channels of notifications, and the hand-offs that the pipelines declare. */
export function outboundOf({ db }: Pick<Warehouse, 'db'>, config: Settings): Outbound {
  const { notify, proxies, sources } = config;
  const openEngine = sources.workflow?.openEngine;
  const declared = [...allPipelines, nightly].flatMap(({ name, onSuccess }) =>
    onSuccess === undefined ? [] : [[name, onSuccess] as const],
  );
  const dags = declared.map(([, { dag }]) => dag);
  return {
    db,
    channels: notify.map((channel) => ({ ...channel, proxies })),
    onSuccess: Object.fromEntries(declared),
    ...(openEngine && dags.length > 0 && { openEngine: () => openEngine(dags, proxies) }),
  };
}

/** Sends notifications and hand-offs after a run, or after what failed before it was one. A failure of that is only reported: a good run stays good. */
export async function notifyAfter(
  { signal }: Pick<Context, 'signal'>,
  outbound: Outbound,
  what: RunReport | { readonly pipeline: string; readonly cause: string },
  warn: (text: string) => void,
): Promise<void> {
  const { afterFailure, afterRun } = await import('../outbound/outbound.ts');
  try {
    await ('runId' in what ? afterRun(outbound, what, signal) : afterFailure(outbound, what, signal));
  } catch (error) {
    const why = signal.aborted ? 'was stopped; the next run continues it' : describe(error).message;
    warn(`${what.pipeline}: notifications and hand-off after the run: ${why}`);
  }
}
