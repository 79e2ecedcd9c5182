import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Clock, runningClock, standingClock } from '../shared/clock.ts';
import { compressed, deliver, spoiled, untilGone } from '../shared/deliver.ts';
import { pause, type Scene } from '../shared/faults.ts';
import { type Answer, type Call, lengthOf, Refusal, type Route, routeOf } from '../shared/http.ts';
import { createScript, type LoggedRequest, type Script } from '../shared/script.ts';
import { aggregateRoute, totalsRoute } from './aggregate.ts';
import { type AdsTokens, adsTokens } from './auth.ts';
import { draftRoutes } from './draft-routes.ts';
import { entityRoutes } from './entity-routes.ts';
import { helperRoutes } from './helper-routes.ts';
import { insightRoute } from './insight.ts';
import { jobRoutes } from './jobs.ts';
import { type RateLimits, rateLimiter } from './limits.ts';
import { listRoutes } from './lists.ts';
import { type ErrorShape, type LastToken, siteOf } from './site.ts';
import { AdsState } from './state.ts';
import { type CsvOptions, type Storage, startStorage } from './storage.ts';
import { type AdsTruth, adsTruth } from './truth.ts';

export interface AdsOptions {
  /** The same seed (and sizes and `now`) gives the same advertisers. Default 1. */
  readonly seed?: number;
  /** Default 2. */
  readonly accounts?: number;
  /** Per account. Default 3. */
  readonly campaigns?: number;
  readonly adSetsPerCampaign?: number;
  readonly adsPerAdSet?: number;
  /** Since when they deliver. Default 30 days. */
  readonly days?: number;
  /** `contract`: as contracts/ads.md says. `vendor`: as Spotify Ads v3 answers. Default contract. */
  readonly dialect?: 'contract' | 'vendor';
  /** The platform's clock stands at this instant until it is moved. Absent: it runs with the machine's. */
  readonly now?: Date;
  readonly port?: number;
  readonly latencyMs?: number;
  readonly token?: string;
  /** Another name for every list's key, e.g. `data`. */
  readonly container?: string;
  /** False: lists have no `paging`. Default true. */
  readonly paging?: boolean;
  readonly gzip?: boolean;
  readonly csv?: CsvOptions;
  /** What a request for the list of ad sets is refused with where there is none. Default 405. */
  readonly adSetList?: 404 | 405;
  /** Default `codes`: the vendor's `{sp_trace_id, messages, error_codes}`. */
  readonly errors?: ErrorShape;
  /** What the last page of a report has for `continuation_token`. Default empty. */
  readonly lastToken?: LastToken;
  /** False: reports by day and hour demand `entity_ids`. Default true. */
  readonly wholeAccounts?: boolean;
  /** Metrics of reports that this server does not know: 400. Default none. */
  readonly unknownFields?: readonly string[];
  /** Absent: none. */
  readonly limits?: RateLimits;
}

export interface AdsSimulator {
  /** `http://127.0.0.1:port/ads/v3` */
  readonly url: string;
  /** `http://127.0.0.1:port/api/token` */
  readonly tokenUrl: string;
  readonly tokens: AdsTokens;
  /** Name of the tracking header that is demanded. */
  readonly sdkHeader: string;
  readonly clock: Clock;
  readonly state: AdsState;
  readonly script: Script<AdsState>;
  readonly log: readonly LoggedRequest[];
  readonly errors: readonly unknown[];
  /** Where reports are fetched from: another origin. */
  readonly storage: Storage;
  /** How many requests were refused with 429 by the limits. */
  readonly limited: number;
  /** The truth as reported now: lists as plain data of their own, numbers worked out as they are asked for. */
  truth(): AdsTruth;
  close(): Promise<void>;
}

const bytesOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
};

const prefix = '/ads/v3';

/** Starts an ads platform on the loopback interface. */
export const startAds = async (options: AdsOptions = {}): Promise<AdsSimulator> => {
  const vendor = options.dialect === 'vendor';
  const clock = options.now === undefined ? runningClock() : standingClock(options.now);
  const state = new AdsState(options.seed ?? 1, clock, {
    accounts: options.accounts ?? 2,
    campaigns: options.campaigns ?? 3,
    adSetsPerCampaign: options.adSetsPerCampaign ?? 2,
    adsPerAdSet: options.adsPerAdSet ?? 2,
    days: options.days ?? 30,
  });
  const { script, play } = createScript(state, clock);
  const sdkHeader = vendor ? 'X-Spotify-Ads-Sdk' : 'X-Service-Ads-Sdk';
  const tokens = adsTokens(clock, options.token ?? 'simulated-ads-token');
  const log: LoggedRequest[] = [];
  const errors: unknown[] = [];
  const closing = new AbortController();
  const storage = await startStorage(state, options.csv ?? {}, sdkHeader);
  const limits = rateLimiter(options.limits ?? {});
  const site = siteOf(state, {
    vendor,
    container: options.container,
    paging: options.paging !== false,
    errors: options.errors ?? 'codes',
    lastToken: options.lastToken ?? 'empty',
    wholeAccounts: options.wholeAccounts !== false,
    unknownFields: new Set(options.unknownFields),
  });
  const routes: readonly Route[] = [
    ...listRoutes(site),
    ...entityRoutes(site),
    ...draftRoutes(site),
    ...helperRoutes(site),
    aggregateRoute(site),
    ...(vendor ? [totalsRoute(site)] : []),
    insightRoute(site),
    ...jobRoutes(site, storage),
  ];

  const server = createServer({ keepAliveTimeout: 60_000 });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the simulator listens at no port');
  const base = `http://127.0.0.1:${address.port}`;

  const answerOf = (call: Call): Answer => {
    try {
      if (call.path === '/api/token') return tokens.answer(call);
      if (!call.path.startsWith(`${prefix}/`)) throw site.refused(404, 'no such path', 'NOT_FOUND');
      const path = call.path.slice(prefix.length);
      if (!tokens.knows(call.headers.authorization))
        throw site.refused(401, 'The access token expired', 'UNAUTHORIZED');
      // `<sdk-product>/<version>` (contracts/ads.md, section 5).
      if (!/^[^/\s]+\/\S+$/.test(String(call.headers[sdkHeader.toLowerCase()] ?? '')))
        throw site.refused(400, `${sdkHeader} is required: <product>/<version>`, 'ILLEGAL.HEADER');
      const limited = limits.take(path);
      if (limited !== undefined) return limited;
      const matched = routeOf(routes, path);
      const fitting = matched.find(({ route }) => route.method === call.method);
      if (fitting !== undefined) return fitting.route.handle({ ...call, path, params: fitting.params });
      const hidden = options.adSetList === 404 && /^\/ad_accounts\/[^/]+\/ad_sets$/.test(path);
      throw matched.length > 0 && !hidden
        ? site.refused(405, `Method ${call.method} is not allowed`, 'METHOD_NOT_ALLOWED')
        : site.refused(404, `no endpoint ${path}`, 'NOT_FOUND');
    } catch (error) {
      if (error instanceof Refusal) return error.answer;
      errors.push(error);
      return site.refused(500, String(error), 'INTERNAL').answer;
    }
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const signal = untilGone(response, closing.signal);
    const body = await bytesOf(request);
    const url = new URL(request.url ?? '/', base);
    const path = url.pathname.startsWith(prefix) ? url.pathname.slice(prefix.length) : url.pathname;
    const matched = routeOf(routes, path);
    const heard: LoggedRequest = {
      number: log.length + 1,
      at: clock.now(),
      method: request.method ?? 'GET',
      path,
      endpoint:
        (matched.find(({ route }) => route.method === request.method) ?? matched[0])?.route.path ?? path,
      query: Object.fromEntries(
        [...new Set(url.searchParams.keys())].map((name) => [name, url.searchParams.getAll(name).join(',')]),
      ),
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      ),
      body: body.toString(),
      faults: [],
      status: undefined,
      bytes: 0,
    };
    log.push(heard);
    const faults = play(heard);
    response.sendDate = false;
    response.setHeader('date', clock.now().toUTCString());
    let call: Call = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
      params: {},
      anonymous: false,
    };
    const scene: Scene = {
      call,
      base,
      number: heard.number,
      request,
      response,
      now: clock.now().getTime(),
      signal,
    };
    for (const fault of faults) call = fault.call?.(call) ?? call;
    const replaced = faults.find((one) => one.instead !== undefined)?.instead?.(scene);
    let answer: Answer = replaced === undefined ? answerOf(call) : { ...replaced, body: [replaced.body] };
    answer = spoiled(answer, scene, faults);
    if (options.gzip === true)
      answer = await compressed(answer, request.headers['accept-encoding']?.toString());
    log[heard.number - 1] = {
      ...heard,
      faults: faults.map((one) => one.name),
      status: answer.status,
      bytes: lengthOf(answer.body),
    };
    if (options.latencyMs !== undefined && options.latencyMs > 0) await pause(options.latencyMs, signal);
    await deliver(answer, scene, faults);
  };
  server.on('request', (request, response) => {
    serve(request, response).catch((error: unknown) => {
      // A client that leaves in the middle is no error of ours.
      if (!request.socket.destroyed) errors.push(error);
      request.socket.destroy();
    });
  });

  return {
    url: `${base}${prefix}`,
    tokenUrl: `${base}/api/token`,
    tokens,
    sdkHeader,
    clock,
    state,
    script,
    log,
    errors,
    storage,
    get limited() {
      return limits.refused;
    },
    truth: () => adsTruth(state),
    close: async () => {
      closing.abort();
      await storage.close();
      await new Promise<void>((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      });
    },
  };
};
