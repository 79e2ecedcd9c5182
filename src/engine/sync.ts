import type { RunReport } from '../core/run.ts';
import type { RunDeps } from './context/deps.ts';
import { runFlows } from './flows.ts';

export type { RunDeps } from './context/deps.ts';

/**
 * Brings the warehouse up to date with the source: every stream, or the given ones (not what they depend on). `full` walks everything
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
