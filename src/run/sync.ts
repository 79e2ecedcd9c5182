import { Misconfigured } from '../core/errors.ts';
import type { RunKind, RunReport, StreamReport } from '../core/run.ts';
import type { Flow } from '../core/stream.ts';
import type { RunDeps } from './deps.ts';
import { withRun } from './execution.ts';
import { runStream } from './stream.ts';

export type { RunDeps } from './deps.ts';

/**
 * Brings the warehouse up to date with the source: every stream, or the given ones (with what they need first). `full` walks everything
 * again and lets what is read win. Throws LockHeld, AuthFailed, Unreachable, Misconfigured, Interrupted or Fenced; every other failure is
 * in the report.
 */
export function sync(
  deps: RunDeps,
  options: { readonly streams?: readonly string[]; readonly full?: boolean },
): Promise<RunReport> {
  const full = options.full === true;
  return runFlows(deps, full ? 'full' : 'sync', { streams: options.streams ?? null, full }, options.streams, {
    full,
    window: undefined,
  });
}

/** Walks exactly the records created in `[from, to)`, resumable by the same words; no watermark moves. */
export function backfill(
  deps: RunDeps,
  options: { readonly from: Date; readonly to: Date; readonly streams?: readonly string[] },
): Promise<RunReport> {
  const { from, to } = options;
  if (!(from < to)) throw new Misconfigured(`--from ${from.toISOString()} is not before --to ${to.toISOString()}`);
  const params = { streams: options.streams ?? null, from: from.toISOString(), to: to.toISOString() };
  return runFlows(deps, 'backfill', params, options.streams, { full: false, window: { from, to } });
}

function runFlows(
  deps: RunDeps,
  kind: RunKind,
  params: Readonly<Record<string, unknown>>,
  streams: readonly string[] | undefined,
  asked: Parameters<typeof runStream>[2],
): Promise<RunReport> {
  const chosen = chooseFlows(deps.source.flows, streams);
  const flows = asked.window === undefined ? chosen : chosen.filter((flow) => flow.stream.windows !== undefined);
  if (flows.length === 0)
    throw new Misconfigured(
      `none of the streams ${streams?.join(', ')} can be cut by time: there is nothing to backfill`,
    );
  return withRun(deps, kind, params, async ({ context, clock, now, stop }) => {
    const done = new Map<string, Promise<StreamReport>>();
    for (const flow of flows) {
      const before = (flow.stream.after ?? []).flatMap((name) => done.get(name) ?? []);
      const start = async (): Promise<StreamReport> => {
        // A stream that failed does not stop the ones behind it: they work with the owners that the warehouse knows.
        await Promise.allSettled(before);
        return runStream(context, flow, asked, clock, now);
      };
      const report = start();
      report.catch(stop);
      done.set(flow.stream.name, report);
    }
    return Promise.allSettled(done.values());
  });
}

/** The flows of the named streams (a child's name means its parent's flow), in the source's order. */
export function chooseFlows(flows: readonly Flow[], names: readonly string[] | undefined): readonly Flow[] {
  if (names === undefined || names.length === 0) return flows;
  const owns = (flow: Flow, name: string): boolean => flow.stream.name === name || Object.hasOwn(flow.children, name);
  const unknown = names.filter((name) => !flows.some((flow) => owns(flow, name)));
  if (unknown.length > 0)
    throw new Misconfigured(
      `no stream is called ${unknown.join(', ')}; there are ${flows.map((flow) => flow.stream.name).join(', ')}`,
    );
  return flows.filter((flow) => names.some((name) => owns(flow, name)));
}
