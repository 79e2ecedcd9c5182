/** What a connector is, and how one is declared. */
import type { Configurable, SourceOf } from '../config/pipeline.ts';
import { type GivenOf, type Settings, setting, type ValuesOf } from '../config/settings.ts';
import type { Engine } from '../core/dag-engine.ts';
import type { Observe, ReadingOptions, TurnBudget } from '../core/run.ts';
import type { Http, Preflight, Source, Stream } from '../core/stream.ts';
import type { DeclaredTable } from '../core/table.ts';
import type { Vault } from '../core/vault.ts';
import type { HttpEvent, HttpOptions } from '../http/http-options.ts';

export type { ReadingOptions } from '../core/run.ts';
export type { HttpEvent } from '../http/http-options.ts';

/** What the program gives to a source that is opened. */
export interface OpenOptions {
  readonly pipeline: string;
  readonly version: string;
  readonly proxies: NonNullable<HttpOptions['proxies']>;
  /** Directory for what a source keeps, such as tokens that it renews. */
  readonly home: string;
  /** Waits for a lock between processes, which ends with the process that holds it. */
  readonly lock: (file: string, signal: AbortSignal) => Promise<{ release(): unknown }>;
  /** Keeps secrets for all machines; absent where TIDEMARK_SECRET_KEY is not set. */
  readonly vault?: Vault | undefined;
  readonly observe?: Observe | undefined;
  readonly onHttp?: ((event: HttpEvent) => void) | undefined;
  /** Keeps rate limits together with other processes. */
  readonly budget?: HttpOptions['budget'] | undefined;
  /** For tests: how long retries wait. */
  readonly retry?: NonNullable<HttpOptions['retry']>;
}

/** What `open` of a connector gets besides its settings. */
export interface Tools extends OpenOptions {
  /** What all clients of this source share: version, proxies, requests at once and a second, as configured. */
  readonly httpOptions: Partial<HttpOptions>;
  /** An HTTP client with retries, deadlines and rate limits. Throws Misconfigured for a base URL that is none. */
  http(options: Pick<HttpOptions, 'baseUrl' | 'auth'> & Partial<HttpOptions>): Http;
  /** Tells people something about this source: a line of the run, and of its log. */
  note(message: string): void;
}

/** A source, opened. */
export interface Opened {
  readonly http: Http;
  /** For people. Default: the origin of `http`. */
  readonly baseUrl?: string;
  readonly streams: readonly Stream[];
  readonly finder?: Source['finder'];
  /**
   * One authenticated request before anything is read. Throws AuthFailed, Unreachable or Misconfigured. `clock`: the `date` of the answer, from
   * which the next run goes on; without it watermarks stay where they are.
   */
  check(signal: AbortSignal): Promise<Pick<Preflight, 'clock'> & Partial<Preflight>>;
}

/** Settings that every connector has; one may declare them anew with other defaults. */
const common = {
  exclude: setting.list('streams to leave out, or single owners of them (boards:7), separated by commas'),
  rotate: setting.list('streams read in turn, with requests (insight_reports:18000) or minutes (:90m) a run'),
  // Fast enough for a source that answers within 50 ms, and below the limits that vendors publish.
  concurrency: setting.integer('requests at once', 1, 64).default(8),
  requestsPerSecond: setting.rate('requests a second at most; 0: as many as the server allows').default(0),
};
type Common = typeof common;
type AllOf<S extends Settings> = Omit<Common, keyof S> & S;

/** One kind of source system. Everything that Tidemark knows about it is behind this object. */
export interface Connector<S extends Settings = Settings> extends Configurable<S> {
  /** Postgres schema of its tables. */
  readonly schema: string;
  readonly tables: readonly DeclaredTable[];
  /** How a source is read, where the settings say it. Defaults: everything from 1970 on, no lookback. */
  reading?(values: ValuesOf<S>): Partial<ReadingOptions>;
  /** Sends nothing yet: a source is opened for each run. Throws Misconfigured. */
  open(values: ValuesOf<S>, tools: Tools): Opened | Promise<Opened>;
  /** Where a source can also start DAGs. */
  openEngine?(
    values: ValuesOf<S>,
    dags: readonly string[],
    proxies: OpenOptions['proxies'],
  ): Promise<Engine & { close(): Promise<void> }>;
}

/** A connector that pipeline files call with its settings. */
export interface ConnectorCall<S extends Settings> {
  (given: GivenOf<S>): SourceOf<Connector<S>>;
  /** With all settings from variables that begin with `prefix`: TRACKER_BASE_URL. Without any of them the pipeline is not configured. */
  fromEnv(prefix: string): SourceOf<Connector<S>>;
  readonly connector: Connector<S>;
}

/** Declares a connector. Pipeline files call what it returns: `source: github({ repository: 'octo/hello' })`. */
export function defineConnector<const S extends Settings>(
  declared: Omit<Connector<AllOf<S>>, 'settings'> & { readonly settings: S },
): ConnectorCall<AllOf<S>> {
  const { schema, tables, name } = declared;
  // Its own come first: in this order people are asked for them.
  const settings = { ...declared.settings, ...common, ...declared.settings } as AllOf<S>;
  const connector = { ...declared, settings } as Connector<AllOf<S>>;
  for (const table of tables)
    if (table.schema !== schema)
      throw new TypeError(`connector ${name}: its table ${table.name} is not in its schema ${schema}`);
  const call = (given: GivenOf<AllOf<S>>): SourceOf<Connector<AllOf<S>>> => ({ connector, given });
  return Object.assign(call, {
    connector,
    fromEnv: (prefix: string) => ({ connector, given: {}, prefix }),
  });
}

type SettingValues = Readonly<Record<string, unknown>>;

/** `insight_reports:18000` or `insight_reports:90m`; where it is neither, `most` is no number above zero. */
const rotationIn = (entry: string): readonly [stream: string, turn: TurnBudget] => {
  const [stream = '', most = ''] = entry.split(':', 2);
  return [stream, { most: Number(most.replace(/m$/, '')), of: most.endsWith('m') ? 'minutes' : 'requests' }];
};

/** How the source of a configured pipeline is read. */
export const readingOf = (connector: Connector, values: SettingValues): ReadingOptions => ({
  lookbackMs: 0,
  createdWindowMs: 0,
  historyStart: new Date(0),
  exclude: values.exclude as readonly string[],
  rotate: Object.fromEntries(((values.rotate ?? []) as readonly string[]).map(rotationIn)),
  concurrency: values.concurrency as number,
  ...connector.reading?.(values),
});

/** Opens the source of a configured pipeline. Sends nothing yet. Throws Misconfigured. */
export async function openSource(connector: Connector, values: SettingValues, options: OpenOptions) {
  const { pipeline, version, proxies, observe, onHttp, budget, retry } = options;
  // A sixth of the start-up time of commands that read no source.
  const { createHttp } = await import('../http/client.ts');
  const { closedEndpoints } = await import('../http/closed-endpoints.ts');
  const perSecond = Number(values.requestsPerSecond);
  const httpOptions: Partial<HttpOptions> = {
    version,
    proxies,
    concurrency: Number(values.concurrency),
    ...(onHttp && { observe: onHttp }),
    ...(budget && { budget }),
    ...(retry && { retry }),
    ...(perSecond > 0 && { rates: [{ name: 'all', covers: () => true, perSecond, burst: 1 }] }),
  };
  const opened: Opened = await connector.open(values, {
    ...options,
    httpOptions,
    http: (options) => closedEndpoints(createHttp({ ...httpOptions, ...options }), (at) => opened.check(at)),
    note: (message) => observe?.({ type: 'note', pipeline, level: 'warn', message }),
  });
  return sourceOf(pipeline, connector.schema, opened);
}

/** An opened source under the name of its pipeline. */
export const sourceOf = (name: string, kind: string, opened: Opened): Source => ({
  name,
  kind,
  baseUrl: opened.baseUrl ?? opened.http.origin,
  http: opened.http,
  streams: opened.streams,
  finder: opened.finder,
  preflight: async (signal) => ({
    account: undefined,
    dialect: [],
    problems: [],
    ...(await opened.check(signal)),
  }),
  close: () => opened.http.close(),
});
