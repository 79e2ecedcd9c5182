import { Misconfigured } from '../core/errors.ts';
import type { RunReport } from '../core/run.ts';
import type { Stream } from '../core/stream.ts';
import { chosenStreams, excludedOf, type RunDeps } from './context/deps.ts';
import { tell } from './context/run-context.ts';
import { withRun } from './execution.ts';
import { runStream } from './stream-run.ts';
import type { SyncOptions } from './sync/plan.ts';

export type { RunDeps } from './context/deps.ts';

/**
 * Brings the warehouse up to date with the source: every stream, or the given ones (not what they depend on), each as
 * soon as those it comes after are done. `full` reads everything again and lets what is read win. With a window it is a
 * backfill: it reads exactly the records created in it, the same window again resumes it, and no watermark moves. Throws
 * LockHeld, AuthFailed, Unreachable, Misconfigured, Interrupted or Fenced; every other failure is in the report.
 */
export function sync(
  deps: RunDeps,
  { streams: names, full = false, window }: SyncOptions,
): Promise<RunReport> {
  const [from, to] = [window?.from, window?.to].map((at) => at?.toISOString() ?? '');
  if (window && !(window.from < window.to))
    throw new Misconfigured(`--from ${from} is not before --to ${to}`);
  const kind = window ? 'backfill' : full ? 'full' : 'sync';
  const params = { streams: names ?? null, ...(window ?? { full }) };
  const chosen = chosenStreams(deps, names);
  const streams = window === undefined ? chosen : chosen.filter(({ by }) => by !== 'list');
  if (streams.length === 0) {
    const all = (names ?? chosen.map(({ name }) => name)).join(', ');
    throw new Misconfigured(`none of the streams ${all} can be cut by time: there is nothing to backfill`);
  }
  return withRun(deps, kind, params, async (run) => {
    const leftOut = names === undefined ? [...excludedOf(deps)] : [];
    if (leftOut.length > 0) tell(run, 'info', `left out by configuration: ${leftOut.join(', ')}`);
    const done = new Map<string, Promise<void>>();
    // A stream that failed does not stop those after it: they work with the owners that the warehouse knows.
    const ready = async (after: readonly string[]): Promise<void> => {
      await Promise.allSettled(after.flatMap((name) => done.get(name) ?? []));
    };
    const start = async (stream: Stream): Promise<void> => {
      // After a tick, so that every stream is listed before the first one looks for another.
      await Promise.resolve();
      await ready(stream.after ?? []);
      return runStream(run, stream, { full, window }, ready);
    };
    for (const stream of streams) done.set(stream.name, start(stream));
    await Promise.allSettled(done.values());
    await Promise.all(done.values());
  });
}
