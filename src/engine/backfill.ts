import { Misconfigured } from '../core/errors.ts';
import type { RunReport } from '../core/run.ts';
import type { RunDeps } from './context/deps.ts';
import { runFlows } from './flows.ts';

/** Walks exactly the records created in `[from, to)`, resumable by the same words; no watermark moves. */
export function backfill(
  deps: RunDeps,
  options: { readonly from: Date; readonly to: Date; readonly streams?: readonly string[] },
): Promise<RunReport> {
  const { from, to } = options;
  if (!(from < to))
    throw new Misconfigured(`--from ${from.toISOString()} is not before --to ${to.toISOString()}`);
  const params = { streams: options.streams ?? null, from: from.toISOString(), to: to.toISOString() };
  return runFlows(deps, 'backfill', params, options.streams, { full: false, window: { from, to } });
}
