/** Does what is asked of a pipeline, and sends what follows from it: for the command line, `serve` and the demo. */
import { nightly } from '../../pipelines/nightly.ts';
import type { Observe, RunReport } from '../core/run.ts';
import { hours } from '../core/time.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import type { PlannedStream } from '../engine/preview.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Ask } from '../scheduler/run-request.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Context, Settings } from './context.ts';
import { describe } from './exit.ts';
import { allPipelines, checkReconcile, current, openSource, settingsOf } from './pipelines.ts';
import { noteRateLimits, type Progress } from './progress.ts';

/** Opens what a run of the pipeline needs, runs `work`, and closes its source. Migrates the warehouse first. `instead`: not the command's own. */
export async function withDeps<T>(
  { parts, signal, version }: Context,
  pipeline: string,
  { observe, say }: Pick<Progress, 'observe' | 'say'>,
  work: (deps: RunDeps) => Promise<T>,
  instead: { readonly config?: Settings; readonly warehouse?: () => Promise<Warehouse> } = {},
): Promise<T> {
  say(`${pipeline}: opening the warehouse`);
  const config = instead.config ?? (await parts.config());
  const { exclude, concurrency, lookbackMs, createdWindowMs, historyStart } = settingsOf(config, pipeline);
  const listeners = { observe, onHttp: noteRateLimits(pipeline, observe) };
  const source = await openSource(pipeline, config, version, listeners);
  try {
    const warehouse = await current(instead.warehouse ?? parts.warehouse, { signal, say });
    const run = { observe, signal, version, trigger: 'manual', deadlineMs: hours(config.runHours) } as const;
    const reading = { exclude, concurrency, lookbackMs, createdWindowMs, historyStart };
    return await work({ source, warehouse, ...run, ...reading });
  } finally {
    await source.close();
  }
}

/** Runs what is asked; a window is a backfill's. Throws as `sync` of the engine does. */
export async function execute(ask: Ask, deps: RunDeps): Promise<RunReport> {
  if (ask.does === 'reconcile') {
    checkReconcile(ask.pipeline);
    return (await import('../engine/reconcile/reconcile.ts')).reconcile(deps, ask);
  }
  const { backfill, sync } = await import('../engine/sync.ts');
  if (ask.window !== undefined) return backfill(deps, { ...ask, ...ask.window });
  return sync(deps, { ...ask, full: ask.does === 'full' });
}

/** What it would read. Asks the source only for counts; writes no rows. */
export async function planOf(ask: Ask, deps: RunDeps): Promise<readonly PlannedStream[]> {
  const { plan } = await import('../engine/preview.ts');
  return plan(deps, { ...ask, full: ask.does === 'full' });
}

/** How a run ended, and the error that ended it, if one did. Throws an error that came before there was a run. */
export async function endOf(
  observe: Observe,
  run: (observe: Observe) => Promise<RunReport>,
): Promise<{ readonly report: RunReport; readonly failure?: unknown }> {
  let report: RunReport | undefined;
  const listening: Observe = (event) => {
    if (event.type === 'run.finished') report = event.report;
    observe(event);
  };
  try {
    return { report: await run(listening) };
  } catch (failure) {
    if (report === undefined) throw failure;
    return { report, failure };
  }
}

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
