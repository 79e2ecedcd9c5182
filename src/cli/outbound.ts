/** Who is told what, from the configuration and the pipeline files. */
import { nightly } from '../../pipelines/nightly.ts';
import type { Channel } from '../outbound/deliver.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Settings } from './context.ts';
import { pipelines } from './pipelines.ts';

/** The channels that are configured. */
export const channelsOf = ({ notify, proxies }: Settings): readonly Channel[] =>
  notify.map((channel) => ({ ...channel, proxies }));

/** What the pipelines declare, joined with the channels and the engine that is handed over to. */
export const outboundOf = (warehouse: Warehouse, config: Settings): Outbound => {
  const openEngine = config.sources.workflow?.openEngine;
  const declared = [...pipelines, nightly].flatMap(({ name, onSuccess }) =>
    onSuccess === undefined ? [] : [[name, onSuccess] as const],
  );
  return {
    db: warehouse.db,
    channels: channelsOf(config),
    onSuccess: Object.fromEntries(declared),
    ...(openEngine !== undefined &&
      declared.length > 0 && {
        openEngine: () =>
          openEngine(
            declared.map(([, { dag }]) => dag),
            config.proxies,
          ),
      }),
  };
};

/** What is said where `what` could not be told, or handed over: what was cut short by a signal waits in the warehouse. */
export const untold = (what: string, signal: AbortSignal): string =>
  signal.aborted
    ? `telling of ${what}, and handing it over, was cut short: what is left goes on behind the next run, or in \`tidemark serve\``
    : `nobody could be told of ${what}`;
