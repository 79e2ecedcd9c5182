import { Misconfigured } from '../core/errors.ts';
import type { RunKind, RunReport, StreamReport } from '../core/run.ts';
import type { Flow } from '../core/stream.ts';
import { withRun } from './execution.ts';
import type { RunDeps } from './shared/deps.ts';
import { runStream } from './stream.ts';
import type { Asked } from './walk/plan.ts';

/** Runs the chosen flows, each as soon as those it comes after are done. */
export function runFlows(
  deps: RunDeps,
  kind: RunKind,
  params: Readonly<Record<string, unknown>>,
  streams: readonly string[] | undefined,
  asked: Asked,
): Promise<RunReport> {
  const chosen = chooseFlows(deps.source.flows, streams);
  const flows =
    asked.window === undefined ? chosen : chosen.filter(({ stream }) => (stream.windows ?? stream.days) !== undefined);
  if (flows.length === 0)
    throw new Misconfigured(
      `none of the streams ${streams?.join(', ')} can be cut by time: there is nothing to backfill`,
    );
  return withRun(deps, kind, params, async ({ context, clock, now, stop }) => {
    const done = new Map<string, Promise<StreamReport>>();
    // A stream that failed does not stop the ones behind it: they work with the owners that the warehouse knows.
    const ready = async (names: readonly string[]): Promise<void> => {
      await Promise.allSettled(names.flatMap((name) => done.get(name) ?? []));
    };
    for (const flow of flows) {
      const start = async (): Promise<StreamReport> => {
        await ready(flow.stream.after ?? []);
        return runStream(context, flow, asked, { clock, now, ready });
      };
      // Behind a tick, so that every stream is listed before the first one looks for another.
      const report = Promise.resolve().then(start);
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
