/** What follows a run: notifications and hand-offs. */
import { describe } from '../core/describe-error.ts';
import type { RunReport } from '../core/run.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { ProgramSettings } from './assemble.ts';
import * as lookup from './pipelines.ts';

/** Channels of notifications, and the hand-offs that the pipelines declare. */
export function outboundOf({ db }: Pick<Warehouse, 'db'>, config: ProgramSettings): Outbound {
  const { notify, proxies, pipelines, nightly } = config;
  const engine = lookup.configured(config).find(({ connector }) => connector.openEngine !== undefined);
  const openEngine = engine?.connector.openEngine;
  const declared = [...pipelines, nightly].flatMap(({ name, onSuccess }) =>
    onSuccess === undefined ? [] : [[name, onSuccess] as const],
  );
  const dags = declared.map(([, { dag }]) => dag);
  return {
    db,
    channels: notify.map((channel) => ({ ...channel, proxies })),
    onSuccess: Object.fromEntries(declared),
    ...(openEngine &&
      dags.length > 0 && { openEngine: () => openEngine(engine?.values ?? {}, dags, proxies) }),
  };
}

/** Sends notifications and hand-offs after a run, or after what failed before it was one. A failure of that is only reported: a good run stays good. */
export async function notifyAfter(
  { signal }: { readonly signal: AbortSignal },
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
