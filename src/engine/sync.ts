import { Misconfigured } from '../core/errors.ts';
import type { RunKind, RunReport, StreamReport } from '../core/run.ts';
import type { Stream } from '../core/stream.ts';
import type { RunDeps } from './context/deps.ts';
import { tell } from './context/run-context.ts';
import { chosenStreams, excludedOf } from './context/select-streams.ts';
import { withRun } from './execution.ts';
import { runStream } from './stream-run.ts';
import type { Request } from './sync/plan.ts';

export type { RunDeps } from './context/deps.ts';

/**
 * Brings the warehouse up to date with the source: every stream, or the given ones (not what they depend on).
 * `full` reads everything again and lets what is read win. Throws LockHeld, AuthFailed, Unreachable,
 * Misconfigured, Interrupted or Fenced; every other failure is in the report.
 */
export function sync(
  deps: RunDeps,
  { streams, full = false }: { readonly streams?: readonly string[]; readonly full?: boolean },
): Promise<RunReport> {
  const params = { streams: streams ?? null, full };
  return runStreams(deps, full ? 'full' : 'sync', params, streams, { full, window: undefined });
}

/**
 * Reads exactly the records created in `[from, to)` (UTC); the same window again resumes it. No watermark
 * moves. Throws as `sync`.
 */
export function backfill(
  deps: RunDeps,
  { streams, ...window }: { readonly from: Date; readonly to: Date; readonly streams?: readonly string[] },
): Promise<RunReport> {
  const [from, to] = [window.from.toISOString(), window.to.toISOString()];
  if (!(window.from < window.to)) throw new Misconfigured(`--from ${from} is not before --to ${to}`);
  const params = { streams: streams ?? null, from, to };
  return runStreams(deps, 'backfill', params, streams, { full: false, window });
}

/** Runs the chosen streams, each as soon as those it comes after are done. */
function runStreams(
  deps: RunDeps,
  kind: RunKind,
  params: Readonly<Record<string, unknown>>,
  names: readonly string[] | undefined,
  request: Request,
): Promise<RunReport> {
  const chosen = chosenStreams(deps, names);
  const streams = request.window === undefined ? chosen : chosen.filter(({ by }) => by !== 'list');
  if (streams.length === 0) {
    const all = (names ?? chosen.map(({ name }) => name)).join(', ');
    throw new Misconfigured(`none of the streams ${all} can be cut by time: there is nothing to backfill`);
  }
  return withRun(deps, kind, params, async (context, stop) => {
    const leftOut = names === undefined ? [...excludedOf(deps)] : [];
    if (leftOut.length > 0) tell(context, 'info', `left out by configuration: ${leftOut.join(', ')}`);
    const done = new Map<string, Promise<StreamReport>>();
    // A stream that failed does not stop those after it: they work with the owners that the warehouse knows.
    const ready = async (after: readonly string[]): Promise<void> => {
      await Promise.allSettled(after.flatMap((name) => done.get(name) ?? []));
    };
    const run = async (stream: Stream): Promise<StreamReport> => {
      // After a tick, so that every stream is listed before the first one looks for another.
      await Promise.resolve();
      await ready(stream.after ?? []);
      return runStream(context, stream, request, ready);
    };
    for (const stream of streams) done.set(stream.name, run(stream));
    for (const report of done.values()) report.catch(stop);
    await Promise.allSettled(done.values());
    await Promise.all(done.values());
  });
}
