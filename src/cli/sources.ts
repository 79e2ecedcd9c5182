/** Opens what a run needs from the configuration: its source, its dependencies, and who is notified after it. */
import { nightly } from '../../pipelines/nightly.ts';
import { Misconfigured } from '../core/errors.ts';
import type { RunReport } from '../core/run.ts';
import type { Source } from '../core/stream.ts';
import { hours } from '../core/time.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import { excludedOf } from '../engine/context/select-streams.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Context, Listeners, Settings } from './context.ts';
import { describe } from './exit.ts';
import { chosenPipelines, pipelines, settingsOf, unknown } from './pipelines.ts';
import { noteRateLimits, type Progress } from './progress.ts';
import { current } from './schema.ts';

/** How long a process waits for another one that renews the same token. */
const tokenLockMs = 60_000;

/** Sends nothing yet. Throws Misconfigured where the source is not configured, or its excluded streams are wrong. */
export async function openSource(
  pipeline: string,
  config: Settings,
  version: string,
  listeners: Listeners = {},
): Promise<Source> {
  const settings = settingsOf(config, pipeline);
  const source = await settings.open({
    version,
    proxies: config.proxies,
    home: config.home,
    lock: async (file, signal) => (await import('../embedded/locks.ts')).exclusive(file, tokenLockMs, signal),
    ...listeners,
  });
  try {
    checkExcluded(source, settings.exclude);
    return source;
  } catch (error) {
    await source.close();
    throw error;
  }
}

function checkExcluded(source: Source, names: readonly string[]): void {
  const variable = `${source.name.toUpperCase()}_EXCLUDE`;
  const all = source.streams.map(({ name }) => name);
  for (const name of names)
    if (!all.includes(name)) throw new Misconfigured(`${variable}: ${unknown('stream', name, all).message}`);
  if (excludedOf({ source, exclude: names }).size >= all.length)
    throw new Misconfigured(`${variable} leaves nothing of ${source.name} to read`);
}

/** A pipeline with its named streams; `streams` is undefined where all are meant. */
export interface Chosen {
  readonly pipeline: string;
  readonly streams: readonly string[] | undefined;
}

/**
 * The named pipelines (or all) and the named streams of each. A stream may be written `tracker.issues`; the name of a child table means its
 * parent's stream. Pipelines that have none of the named streams are left out. Sends nothing. Throws Misconfigured for a name that none has.
 */
export async function choose(
  { parts, version }: Context,
  pipelines: readonly string[],
  streams: readonly string[] = [],
): Promise<readonly Chosen[]> {
  const config = await parts.config();
  const chosen = chosenPipelines(pipelines, config);
  if (streams.length === 0) return chosen.map((pipeline) => ({ pipeline, streams: undefined }));
  const listed = await Promise.all(
    chosen.map(async (pipeline) =>
      (await streamsOf(pipeline, config, version)).map(({ stream, children }) => {
        const names = [stream, ...children];
        return { pipeline, stream, names: [...names, ...names.map((name) => `${pipeline}.${name}`)] };
      }),
    ),
  );
  const all = listed.flat();
  for (const name of streams)
    if (!all.some(({ names }) => names.includes(name)))
      throw unknown(
        'stream',
        name,
        all.map(({ stream }) => stream).concat(all.flatMap(({ names }) => names)),
      );
  return listed.flatMap((each) => {
    const own = each.filter(({ names }) => streams.some((name) => names.includes(name)));
    return own[0] ? [{ pipeline: own[0].pipeline, streams: own.map(({ stream }) => stream) }] : [];
  });
}

/** The streams of a configured pipeline with the children that come with each. Sends nothing to the source. */
export async function streamsOf(pipeline: string, config: Settings, version: string) {
  const source = await openSource(pipeline, config, version);
  await source.close();
  return source.streams.map(({ name, children = {} }) => ({ stream: name, children: Object.keys(children) }));
}

/** Another configuration or warehouse than the command's own. */
export interface Instead {
  readonly config?: Settings;
  readonly warehouse?: () => Promise<Warehouse>;
}

/** Opens what a run of the pipeline needs, runs `work`, and closes its source. Migrates the warehouse first. */
export async function withDeps<T>(
  { parts, signal, version }: Context,
  pipeline: string,
  { observe, say }: Pick<Progress, 'observe' | 'say'>,
  work: (deps: RunDeps) => Promise<T>,
  instead: Instead = {},
): Promise<T> {
  say(`${pipeline}: opening the warehouse`);
  const config = instead.config ?? (await parts.config());
  const { exclude, concurrency, lookbackMs, createdWindowMs, historyStart } = settingsOf(config, pipeline);
  const listeners = { observe, onHttp: noteRateLimits(pipeline, observe) };
  const source = await openSource(pipeline, config, version, listeners);
  try {
    const warehouse = await current(instead.warehouse ?? parts.warehouse, signal, say);
    const run = { observe, signal, version, trigger: 'manual', deadlineMs: hours(config.runHours) } as const;
    const reading = { exclude, concurrency, lookbackMs, createdWindowMs, historyStart };
    return await work({ source, warehouse, ...run, ...reading });
  } finally {
    await source.close();
  }
}

/** Channels of notifications, and the hand-offs that the pipelines declare. */
export function outboundOf({ db }: Pick<Warehouse, 'db'>, config: Settings): Outbound {
  const { notify, proxies, sources } = config;
  const openEngine = sources.workflow?.openEngine;
  const declared = [...pipelines, nightly].flatMap(({ name, onSuccess }) =>
    onSuccess === undefined ? [] : [[name, onSuccess] as const],
  );
  const dags = declared.map(([, { dag }]) => dag);
  return {
    db,
    channels: notify.map((channel) => ({ ...channel, proxies })),
    onSuccess: Object.fromEntries(declared),
    ...(openEngine && dags.length > 0 && { openEngine: () => openEngine(dags, proxies) }),
  };
}

/** Sends notifications and hand-offs after a run. That this fails is only reported: a good run stays good. */
export async function notifyAfter(
  signal: AbortSignal,
  outbound: Outbound,
  what: RunReport | { readonly pipeline: string; readonly cause: string },
  warn: (text: string) => void,
): Promise<void> {
  const { afterFailure, afterRun } = await import('../outbound/outbound.ts');
  try {
    if ('runId' in what) await afterRun(outbound, what, signal);
    else await afterFailure(outbound, what, signal);
  } catch (error) {
    const why = signal.aborted ? 'was stopped; the next run continues it' : describe(error).message;
    warn(`${what.pipeline}: notifications and hand-off after the run: ${why}`);
  }
}
