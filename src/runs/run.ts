/** One run of a pipeline: opens what it needs, runs it, and closes its source. The command line, `serve` and programs use it. */
import type { HttpEvent } from '../connectors/connector.ts';
import { duration } from '../core/format.ts';
import { memoizeAsync } from '../core/memoize-async.ts';
import type { Observe, RunReport } from '../core/run.ts';
import { hours, seconds } from '../core/time.ts';
import { noteEnd, traced } from '../core/traced.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import type { PlannedStream } from '../engine/preview.ts';
import { type Estimated, estimated, estimateOf } from '../planner/estimate.ts';
import { pastOf } from '../planner/history.ts';
import { budgetsOf } from '../warehouse/budgets.ts';
import { type Warehouse, withConnectLimit } from '../warehouse/connect.ts';
import type { Ask } from './ask.ts';
import type { Parts } from './assemble.ts';
import * as lookup from './pipelines.ts';

/** What a run is set up from. */
export interface RunContext {
  readonly parts: Pick<Parts, 'config' | 'warehouse'>;
  readonly signal: AbortSignal;
  readonly version: string;
}

/** Who follows a run. */
export interface Following {
  readonly observe: Observe;
  /** Prints a line of talk. */
  readonly say: (text: string) => void;
}

/** Opens what a run of the pipeline needs, runs `work`, and closes its source. Migrates the warehouse first. */
export async function withDeps<T>(
  { parts, signal, version }: RunContext,
  pipeline: string,
  { observe, say }: Following,
  work: (deps: RunDeps) => Promise<T>,
): Promise<T> {
  say(`${pipeline}: opening the warehouse`);
  const config = await parts.config();
  const settings = lookup.readingOptions(config, pipeline);
  // The source is opened before the warehouse is, and sends nothing until then.
  const shared = Promise.withResolvers<Warehouse['db']>();
  const budget = budgetsOf(shared.promise);
  const warn = (message: string) => observe({ type: 'note', pipeline, level: 'warn', message });
  const opening = { parts, signal, say, warn };
  const vault = await lookup.vaultOf(opening);
  const more = { observe, onHttp: noteRateLimits(pipeline, observe), budget, vault };
  const source = await lookup.openSource(pipeline, config, version, more);
  try {
    const warehouse = await lookup.current(opening);
    shared.resolve(withConnectLimit(warehouse, seconds(1)));
    const common = { observe, signal, version, deadlineMs: hours(config.runHours) };
    return await work({ source, warehouse, ...settings, ...common, trigger: 'manual' });
  } finally {
    await source.close();
  }
}

type Executed = { readonly report: RunReport; readonly failure?: unknown };

/** Runs what is asked: how the run ended, and the error that ended it, if one did. Throws an error that came before there was a run. */
export async function execute(ask: Ask, deps: RunDeps): Promise<Executed> {
  let report: RunReport | undefined;
  const observe: Observe = (event) => {
    if (event.type === 'run.finished') report = event.report;
    deps.observe(event);
  };
  // Asked for when the first stream is done: an estimate does not delay a run, nor end it.
  const past = memoizeAsync(() => pastOf(withConnectLimit(deps.warehouse, seconds(1)), ask.pipeline));
  const estimate: NonNullable<RunDeps['estimate']> = async (size) => estimateOf(size, await past());
  const { pipeline, does } = ask;
  const attributes = { 'tidemark.pipeline': pipeline, 'tidemark.does': does };
  try {
    return await traced(`run ${pipeline}`, attributes, async (span) => {
      const ended = await run(ask, { ...deps, observe, estimate });
      noteEnd(span, ended.status);
      return { report: ended };
    });
  } catch (failure) {
    if (report === undefined) throw failure;
    return { report, failure };
  }
}

/** Throws as `sync` of the engine does. */
async function run(ask: Ask, deps: RunDeps): Promise<RunReport> {
  if (ask.does === 'reconcile')
    return (await import('../engine/reconcile/reconcile.ts')).reconcile(deps, ask);
  return (await import('../engine/sync.ts')).sync(deps, { ...ask, full: ask.does === 'full' });
}

/** What it would read, and what that will cost. Asks the source only for counts; writes no rows. */
export async function planOf(ask: Ask, deps: RunDeps): Promise<readonly Estimated<PlannedStream>[]> {
  const { plan } = await import('../engine/preview.ts');
  const planned = await plan(deps, { ...ask, full: ask.does === 'full' });
  const past = await pastOf(deps.warehouse.db, ask.pipeline);
  return planned.map((stream) => estimated(stream, past));
}

/** A longer wait is noted anew after this time. */
const noteEveryMs = 30_000;

/** Reports waits for the source's rate limit as notes, so that a stream that does not move says why. */
export function noteRateLimits(pipeline: string, observe: Observe): (event: HttpEvent) => void {
  let noted = 0;
  return (event) => {
    if (event.type === 'unshared') {
      const message = `other processes do not share the rate limit for now: ${event.reason}`;
      observe({ type: 'note', pipeline, level: 'warn', message });
    }
    if (event.type !== 'throttled' || event.untilMs < noted + noteEveryMs) return;
    noted = event.untilMs;
    const wait = duration(Math.max(0, event.untilMs - Date.now()) / 1000);
    const message = `waiting for the rate limit until ${new Date(noted).toISOString().slice(11, 19)} UTC (${wait})`;
    observe({ type: 'note', pipeline, level: 'info', message });
  };
}
