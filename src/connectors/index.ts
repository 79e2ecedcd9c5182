/** The connectors by the name of their source. Nothing of a vendor is loaded before its source is opened. */
import type { Part } from '../config/variables.ts';
import type { Engine } from '../core/dag-engine.ts';
import type { Observe } from '../core/run.ts';
import type { Source } from '../core/stream.ts';
import { days, hours } from '../core/time.ts';
import { basic } from '../http/auth.ts';
import type { HttpEvent, HttpOptions } from '../http/http-options.ts';
import { type WorkflowConfig, workflowPart } from './dagu/config.ts';
import { type TrackerConfig, trackerPart } from './jira/config.ts';
import { type AdsConfig, adsPart } from './spotify-ads/config.ts';

export type { HttpEvent } from '../http/http-options.ts';

/** What a source is opened with. */
interface Tools {
  readonly version: string;
  readonly proxies: NonNullable<HttpOptions['proxies']>;
  /** Directory for tokens that a source renews. */
  readonly home: string;
  /** Waits for a lock between processes, which ends with the process that holds it. */
  readonly lock: (file: string, signal: AbortSignal) => Promise<{ release(): unknown }>;
  readonly observe?: Observe | undefined;
  readonly onHttp?: ((event: HttpEvent) => void) | undefined;
  /** Keeps rate limits together with other processes. */
  readonly budget?: HttpOptions['budget'] | undefined;
}

/** A configured source. */
export interface SourceSettings {
  readonly baseUrl: string;
  /** Streams that runs leave out. */
  readonly exclude: readonly string[];
  /** Slices that are read at once. */
  readonly concurrency: number;
  readonly lookbackMs: number;
  readonly createdWindowMs: number;
  readonly historyStart: Date;
  /** Sends nothing yet. Open one for each run. Throws Misconfigured. */
  open(tools: Tools): Promise<Source>;
  /** Where the source can also start DAGs. */
  readonly openEngine?: (
    dags: readonly string[],
    proxies: Tools['proxies'],
  ) => Promise<Engine & { close(): Promise<void> }>;
}

/** Variables and opener of each source; a pipeline names one as its `source`. */
export const connectors = {
  tracker: connector(trackerPart, tracker),
  ads: connector(adsPart, ads),
  workflow: connector(workflowPart, workflow),
} satisfies Readonly<Record<string, Part<SourceSettings | undefined>>>;

function connector<T>(
  part: Part<T | undefined>,
  settings: (given: T) => SourceSettings,
): Part<SourceSettings | undefined> {
  const read: Part<SourceSettings | undefined>['read'] = (from) => {
    const given = part.read(from);
    return given === undefined ? undefined : settings(given);
  };
  return { ...part, read };
}

function tracker(given: TrackerConfig): SourceSettings {
  const { baseUrl, exclude, concurrency, start: historyStart } = given;
  const lookbackMs = hours(given.lookbackHours);
  const createdWindowMs = days(given.createdWindowDays);
  const auth = basic(given.email, given.apiToken);
  const open: SourceSettings['open'] = async (tools) =>
    (await import('./jira/source.ts')).openTracker({ ...given, auth }, depsOf(tools));
  return { baseUrl, exclude, concurrency, historyStart, lookbackMs, createdWindowMs, open };
}

// Lists, and reports by day, need no lookback: they are read whole or restated.
const whole = { lookbackMs: 0, createdWindowMs: 0 };

function ads(given: AdsConfig): SourceSettings {
  const { baseUrl, exclude, concurrency, start: historyStart, credentials } = given;
  const open: SourceSettings['open'] = async (tools) => {
    const { openAds } = await import('./spotify-ads/source.ts');
    if (credentials.kind !== 'refresh') return openAds(given, depsOf(tools));
    const { tokenFile } = await import('./spotify-ads/token-store.ts');
    const { home: directory, lock } = tools;
    const tokens = tokenFile({ directory, name: 'ads-token', configured: credentials.refreshToken, lock });
    return openAds(given, { ...depsOf(tools), tokens });
  };
  return { ...whole, baseUrl, exclude, concurrency, historyStart, open };
}

function workflow(given: WorkflowConfig): SourceSettings {
  const { baseUrl, exclude } = given;
  const source = () => import('./dagu/source.ts');
  return {
    ...{ ...whole, baseUrl, exclude, concurrency: 4, historyStart: new Date(0) },
    open: async (tools) => (await source()).openWorkflow(given, depsOf(tools)),
    openEngine: async (dags, proxies) => (await source()).openEngine(given, dags, { proxies }),
  };
}

const depsOf = ({ version, proxies, onHttp, observe, budget }: Tools) => ({
  http: { version, proxies, ...(onHttp && { observe: onHttp }), ...(budget && { budget }) },
  ...(observe && { observe }),
});
