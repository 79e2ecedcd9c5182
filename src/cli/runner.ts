/** Runs one request in this process: a pipeline from lease to goodbye, or `nightly`: all of them in turn. */

import { setTimeout as sleep } from 'node:timers/promises';
import { nightly } from '../../pipelines/nightly.ts';
import { Fenced, Interrupted, LockHeld, Misconfigured } from '../core/errors.ts';
import type { Observe, RunKind, RunReport } from '../core/run.ts';
import type { Source } from '../core/stream.ts';
import { hours, seconds } from '../core/time.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import type { Ask, PlanLine, Runner } from '../scheduler/control.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { combinedReport, type Part } from './combined.ts';
import type { Context, Settings } from './context.ts';
import { said } from './exit.ts';
import { openSource } from './opening.ts';
import { outboundOf, untold } from './outbound.ts';
import { checkReconcile, configured, hasReconcile } from './pipelines.ts';
import { planLines } from './plan-lines.ts';
import type { Progress } from './progress/types.ts';
import { reconcileDue } from './reconcile-due.ts';
import { runDeps } from './running.ts';

/** How a part is run. */
type How = Parameters<Runner['run']>[1];

/** While another run holds a pipeline, `nightly` looks again so often. */
const heldPause = seconds(5);

/**
 * `own`: the process's connections, by which people are told. `warehouseOf`: connections for a pipeline's runs, its own, so that no run takes those
 * of another. `shown`: the process's own display. `trouble`: told when nobody outside could be told of a run.
 */
export function openRunner(
  context: Context,
  config: Settings,
  own: Warehouse,
  warehouseOf: (pipeline: string) => Promise<Warehouse>,
  shown: Progress,
  trouble: (what: string, error: unknown) => void,
): Runner {
  const names = configured(config).map(({ name }) => name);

  /** With what a run of the pipeline needs; its source is closed behind it. */
  const during = async <T>(
    pipeline: string,
    how: { readonly signal: AbortSignal; readonly observe: Observe },
    work: (deps: RunDeps) => Promise<T>,
  ): Promise<T> => {
    let opened: Source | undefined;
    const parts: Context['parts'] = {
      ...context.parts,
      warehouse: () => warehouseOf(pipeline),
      source: async (name, told) => {
        opened = await openSource(name, config, context.version, told);
        return opened;
      },
    };
    const observe: Observe = (event) => {
      shown.observe(event);
      how.observe(event);
    };
    try {
      return await work(
        await runDeps({ ...context, parts, signal: how.signal }, pipeline, { ...shown, observe }),
      );
    } finally {
      await opened?.close();
    }
  };

  const part = async (ask: Ask, how: How): Promise<RunReport> => {
    if (ask.does === 'reconcile') checkReconcile(ask.pipeline);
    let ended: RunReport | undefined;
    const observe: Observe = (event) => {
      if (event.type === 'run.finished') ended = event.report;
      how.observe(event);
    };
    try {
      return await during(ask.pipeline, { ...how, observe }, (deps) =>
        runOf(ask, { ...deps, trigger: how.trigger }),
      );
    } catch (error) {
      // It never was a run that could say so itself. What was stopped, or waits for its turn, has not failed.
      if (
        ended === undefined &&
        !how.signal.aborted &&
        !(error instanceof LockHeld) &&
        !(error instanceof Fenced)
      )
        await tell(ask.pipeline, { failed: said(error).message });
      throw error;
    } finally {
      // Also of a run that ended with an error: it has said itself what became of it. One that was lost is taken up again, or told when it is not.
      if (ended !== undefined && ended.status !== 'lost') await tell(ask.pipeline, { ended });
    }
  };

  const tell = async (
    pipeline: string,
    what: { readonly ended: RunReport } | { readonly failed: string },
  ): Promise<void> => {
    const { afterFailure, afterRun } = await import('../outbound/outbound.ts');
    const outbound = outboundOf(own, config);
    try {
      if ('ended' in what) await afterRun(outbound, what.ended, context.signal);
      else await afterFailure(outbound, { pipeline, cause: what.failed }, context.signal);
    } catch (error) {
      const of = 'ended' in what ? `run ${what.ended.runId}` : 'what failed';
      trouble(`${pipeline}: ${untold(of, context.signal)}`, error);
    }
  };

  const all = async (ask: Ask, how: How): Promise<RunReport> => {
    const started = performance.now();
    const until = started + hours(config.runHours);
    const done: Part[] = [];
    const isDone = (name: string, kind: RunKind): boolean =>
      how.done?.some((run) => run.pipeline === name && run.kind === kind) === true;
    const parts = names.filter((name) => takesPart(name, ask) && !isDone(name, ask.does));
    const waiting: Ask[] = parts.map((pipeline) => ({ ...ask, pipeline }));
    let reconcileAsked = ask.does !== 'sync' && ask.does !== 'full';
    for (;;) {
      const next = waiting.shift();
      if (next === undefined) {
        if (reconcileAsked) break;
        reconcileAsked = true;
        for (const pipeline of names)
          if (await reconcileDue((await warehouseOf(pipeline)).db, pipeline))
            waiting.push({ pipeline, does: 'reconcile' });
        continue;
      }
      try {
        const report = await part(next, how);
        if (report.status === 'lost')
          throw new Fenced(report.error?.message ?? `${next.pipeline}: its run was lost`);
        done.push({ pipeline: next.pipeline, report });
      } catch (error) {
        // It is taken up again as a whole, with what is left.
        if (error instanceof Fenced) throw error;
        if (how.signal.aborted) throw how.signal.reason ?? new Interrupted('stopped');
        if (error instanceof LockHeld && performance.now() < until) {
          how.observe({
            type: 'note',
            pipeline: next.pipeline,
            level: 'info',
            message: `${error.message}; it comes later`,
          });
          waiting.push(next);
          await sleep(heldPause, undefined, { signal: how.signal }).catch(() => undefined);
        } else done.push({ pipeline: next.pipeline, error });
      }
      if (how.signal.aborted) throw how.signal.reason ?? new Interrupted('stopped');
    }
    return combinedReport(nightly.name, ask.does, done, (performance.now() - started) / 1000);
  };

  return {
    configured: names,
    run: (ask, how) => (ask.pipeline === nightly.name ? all(ask, how) : part(ask, how)),
    async preview(ask, signal) {
      const lines: PlanLine[] = [];
      for (const pipeline of ask.pipeline === nightly.name ? names : [ask.pipeline]) {
        const planned = await during(pipeline, { signal, observe: () => undefined }, (deps) =>
          planLines(deps, ask),
        );
        const prefix = ask.pipeline === nightly.name ? `${pipeline}.` : '';
        lines.push(...planned.map((line) => ({ ...line, stream: `${prefix}${line.stream}` })));
      }
      return lines;
    },
  };
}

const takesPart = (name: string, { does }: Ask): boolean => does !== 'reconcile' || hasReconcile(name);

async function runOf({ does, streams, window }: Ask, deps: RunDeps): Promise<RunReport> {
  const some = streams === undefined ? {} : { streams };
  switch (does) {
    case 'reconcile':
      return (await import('../engine/reconcile/reconcile.ts')).reconcile(deps, some);
    case 'backfill':
      if (window === undefined) throw new Misconfigured('a backfill needs FROM and TO');
      return (await import('../engine/backfill.ts')).backfill(deps, { ...window, ...some });
    default:
      return (await import('../engine/sync.ts')).sync(deps, { ...some, full: does === 'full' });
  }
}
