/** What follows a run: notifications and hand-offs. */
import type { QueryExecutorProvider } from 'kysely';
import { nightlyName } from '../config/configured.ts';
import { describe } from '../core/describe-error.ts';
import type { RunReport } from '../core/run.ts';
import { enqueueHandoff } from '../outbound/handoff-queue.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { EndedRequest } from './ask.ts';
import type { ProgramSettings } from './assemble.ts';
import * as lookup from './pipelines.ts';

/** Where notifications are sent. */
export const channelsOf = ({ notify, proxies }: ProgramSettings): Outbound['channels'] =>
  notify.map((channel) => ({ ...channel, proxies }));

/** Channels of notifications, and the hand-offs that the pipelines declare. */
export function outboundOf({ db }: Pick<Warehouse, 'db'>, config: ProgramSettings): Outbound {
  const { proxies, pipelines, nightly } = config;
  const engine = lookup.configured(config).find(({ connector }) => connector.openEngine !== undefined);
  const openEngine = engine?.connector.openEngine;
  const declared = [...pipelines, nightly].flatMap(({ name, onSuccess }) =>
    onSuccess === undefined ? [] : [[name, onSuccess] as const],
  );
  const dags = declared.map(([, { dag }]) => dag);
  return {
    db,
    channels: channelsOf(config),
    onSuccess: Object.fromEntries(declared),
    ...(openEngine &&
      dags.length > 0 && { openEngine: () => openEngine(engine?.values ?? {}, dags, proxies) }),
  };
}

/** Queues the hand-off of a night whose parts have all succeeded. Does nothing for other requests. */
export async function handOverNight(
  db: QueryExecutorProvider,
  { onSuccess }: Pick<Outbound, 'onSuccess'>,
  { id, ask: { pipeline, does }, status }: EndedRequest,
): Promise<void> {
  const next = onSuccess[nightlyName];
  // Only a sync of every pipeline says that they are up to date.
  const isSync = pipeline === nightlyName && (does === 'sync' || does === 'full');
  if (!isSync || next === undefined || status !== 'succeeded') return;
  await enqueueHandoff(db, { pipeline, runKey: id, ofAll: true }, next);
}

/** What messages and hand-offs follow: a run, what failed before it was one, or a night. */
type Followed = RunReport | { readonly pipeline: string; readonly cause: string } | EndedRequest;

/** Sends notifications and hand-offs. A failure of that is only reported: a good run stays good. */
export async function notifyAfter(
  { signal }: { readonly signal: AbortSignal },
  outbound: Outbound,
  what: Followed,
  warn: (text: string) => void,
): Promise<void> {
  const { afterFailure, afterRun, sendAll } = await import('../outbound/outbound.ts');
  const follow = async (): Promise<void> => {
    if ('runId' in what) return afterRun(outbound, what, signal);
    if ('cause' in what) return afterFailure(outbound, what, signal);
    await handOverNight(outbound.db, outbound, what);
    return sendAll(outbound, signal);
  };
  await follow().catch((error: unknown) => {
    const why = signal.aborted ? 'was stopped; the next run continues it' : describe(error).message;
    const { pipeline } = 'ask' in what ? what.ask : what;
    warn(`${pipeline}: notifications and hand-off after the run: ${why}`);
  });
}
