import { Misconfigured } from '../core/errors.ts';
import type { RunKind, RunReport, StreamReport } from '../core/run.ts';
import type { RunDeps } from './context/deps.ts';
import { tell } from './context/run-context.ts';
import { chosenFlows, excludedOf } from './context/select-streams.ts';
import { withRun } from './execution.ts';
import { runStream } from './stream-run.ts';
import type { Asked } from './sync/plan.ts';

/** Runs the chosen flows, each as soon as those it comes after are done. */
export function runFlows(
  deps: RunDeps,
  kind: RunKind,
  params: Readonly<Record<string, unknown>>,
  streams: readonly string[] | undefined,
  asked: Asked,
): Promise<RunReport> {
  const chosen = chosenFlows(deps, streams);
  const flows =
    asked.window === undefined
      ? chosen
      : chosen.filter((stream) => (stream.windows ?? stream.days) !== undefined);
  if (flows.length === 0)
    throw new Misconfigured(
      `none of the streams ${(streams ?? chosen.map(({ name }) => name)).join(', ')} can be cut by time: there is nothing to backfill`,
    );
  return withRun(deps, kind, params, async ({ context, clock, now, stop }) => {
    const leftOut = streams === undefined ? [...excludedOf(deps)] : [];
    if (leftOut.length > 0) tell(context, 'info', `left out by configuration: ${leftOut.join(', ')}`);
    const done = new Map<string, Promise<StreamReport>>();
    // A stream that failed does not stop the ones behind it: they work with the owners that the warehouse knows.
    const ready = async (names: readonly string[]): Promise<void> => {
      await Promise.allSettled(names.flatMap((name) => done.get(name) ?? []));
    };
    for (const flow of flows) {
      const start = async (): Promise<StreamReport> => {
        await ready(flow.after ?? []);
        return runStream(context, flow, asked, { clock, now, ready });
      };
      // Behind a tick, so that every stream is listed before the first one looks for another.
      const report = Promise.resolve().then(start);
      report.catch(stop);
      done.set(flow.name, report);
    }
    return Promise.allSettled(done.values());
  });
}
