import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Clock, runningClock, standingClock } from '../shared/clock.ts';
import { compressed, deliver, spoiled, untilGone } from '../shared/deliver.ts';
import { pause, type Scene } from '../shared/faults.ts';
import { type Answer, type Call, lengthOf, Refusal, type Route, routeOf } from '../shared/http.ts';
import { createScript, type LoggedRequest, type Script } from '../shared/script.ts';
import { agileRoutes } from './agile-routes.ts';
import { callerOf } from './auth.ts';
import { company } from './company.ts';
import { dataCenterCompany, dataCenterRoutes } from './data-center.ts';
import { type DialectName, dialectOf } from './dialect.ts';
import { entities } from './entities.ts';
import { createFragments } from './fragments.ts';
import { historyRoutes } from './history-routes.ts';
import { issueWriter, type Projection } from './issue-json.ts';
import { issueRoutes } from './issue-routes.ts';
import { JqlError } from './jql.ts';
import { listRoutes } from './list-routes.ts';
import { type Oracle, oracle, type Tally, tally } from './oracle.ts';
import { type Found, find, type SearchRules } from './search.ts';
import { contractSearch } from './search-routes.ts';
import type { Site } from './site.ts';
import { TrackerState } from './state.ts';
import { vendorSearch } from './vendor-search.ts';
import { worklogRoutes } from './worklog-routes.ts';

export interface TrackerOptions {
  /** The same seed (and sizes and `now`) gives the same company. Default 1. */
  readonly seed?: number;
  /** Default 1000. */
  readonly issues?: number;
  /** Default 8. */
  readonly projects?: number;
  /** Default 120. */
  readonly users?: number;
  /** About how many changelog entries an issue has. Default 6; below 5 only the last ones are kept, and no comments or worklogs. */
  readonly history?: number;
  /** Each so-many-th issue has a history of 220 changes. Default: none. */
  readonly longEvery?: number;
  /** Over how many years the issues are spread. Default 3. */
  readonly years?: number;
  /** `contract`: as contracts/tracker.md says. `vendor`: as Jira Cloud answers; `data-center`: as Jira Data Center does. Default contract. */
  readonly dialect?: DialectName;
  /** Contract dialect with its seven endpoints only: everything else is 404. Default false. */
  readonly bare?: boolean;
  /** The tracker's clock stands at this instant until it is moved, and the history ends there. Absent: it runs with the machine's. */
  readonly now?: Date;
  /** Zone of the account: `/myself`, time stamps, date literals in JQL. Default Europe/Berlin. */
  readonly timeZone?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Each answer is this much later. Default 0. */
  readonly latencyMs?: number;
  readonly email?: string;
  readonly token?: string;
  /** False: JQL on `updated` is answered 400. Default true. */
  readonly updatedFilter?: boolean;
  /** False: epoch milliseconds are no dates in JQL. Default true. */
  readonly epochDates?: boolean;
  /** False: answers have no `Date`. Default true. */
  readonly dateHeader?: boolean;
  /** Answers are compressed if the client takes gzip. Default false. */
  readonly gzip?: boolean;
  /** How much later than a write the search shows it, ms of the tracker's clock. Default 0. */
  readonly indexLagMs?: number;
  /** How long page tokens live. Default seven days. */
  readonly tokenLifetimeMs?: number;
  /** What an expired page token is answered with. Default 400. */
  readonly expiredToken?: 400 | 410;
  /** Lengths of the lists inside an issue. Default 40 changes, 20 comments, 20 worklogs. */
  readonly embedded?: { readonly changelog?: number; readonly comments?: number; readonly worklogs?: number };
  /** Issues without links to themselves, pictures, empty custom fields and details of related issues: about a third of the size. */
  readonly lean?: boolean;
  /** Written issues are kept up to this many megabytes. Default 1024. */
  readonly cacheMegabytes?: number;
}

export interface TrackerSimulator {
  /** `http://127.0.0.1:port`, without a slash at the end. */
  readonly url: string;
  readonly email: string;
  readonly token: string;
  readonly clock: Clock;
  /** What the tracker holds, and everything that can happen to it. */
  readonly state: TrackerState;
  readonly script: Script<TrackerState>;
  /** Every request, in the order of arrival. */
  readonly log: readonly LoggedRequest[];
  /** Errors of the simulator itself (answered 500): a test should find none. */
  readonly errors: readonly unknown[];
  /** The truth, as plain data. */
  oracle(): Oracle;
  /** The truth, counted. */
  tally(): Tally;
  /** Writes all issues beforehand, as a search for these fields shows them, so that serving costs next to nothing. */
  warm(fields: readonly string[], options?: { readonly changelog?: boolean }): void;
  close(): Promise<void>;
}

const bytesOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
};

const jsonOf = (body: Buffer): unknown => {
  if (body.length === 0) return undefined;
  const text = body.toString();
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    // The log keeps what came; what to answer is the route's business.
    return text;
  }
};

const flat = (headers: IncomingMessage['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );

/** Searches and keeps the last few results while nothing changes: each page of a walk asks the same query again. */
const searching = (
  state: TrackerState,
  clock: Clock,
  rules: SearchRules,
): ((jql: string, fresh?: readonly number[]) => Found) => {
  const known = new Map<string, Found>();
  let changes = state.changes;
  return (jql, fresh = []) => {
    const ask = (): Found =>
      find(
        state,
        jql,
        rules,
        { zone: state.timeZone, now: clock.now().getTime(), epoch: rules.epochDates },
        fresh,
      );
    const moving = state.lagging().size > 0 || /now\(|[+-]?\d[mhdw]\b/i.test(jql);
    if (moving) return ask();
    if (changes !== state.changes || known.size > 200) {
      known.clear();
      changes = state.changes;
    }
    const kept = known.get(jql) ?? ask();
    known.set(jql, kept);
    return kept;
  };
};

/** Starts a tracker on the loopback interface. Rejects if the port is taken. */
export const startTracker = async (options: TrackerOptions = {}): Promise<TrackerSimulator> => {
  const email = options.email ?? 'sync@example.com';
  const token = options.token ?? 'simulated-api-token';
  const seed = options.seed ?? 1;
  const timeZone = options.timeZone ?? 'Europe/Berlin';
  const clock = options.now === undefined ? runningClock() : standingClock(options.now);
  const size = { projects: options.projects ?? 8, users: options.users ?? 120, years: options.years ?? 3 };
  const isDataCenter = options.dialect === 'data-center';
  const hired = company({ seed, ...size, email, timeZone, end: clock.now().getTime() });
  const made = isDataCenter ? dataCenterCompany(hired) : hired;
  const state = new TrackerState(made, {
    seed,
    issues: options.issues ?? 1000,
    history: options.history ?? 6,
    longEvery: options.longEvery,
    timeZone,
    clock,
  });
  state.indexLagMs = options.indexLagMs ?? 0;
  const { script, play } = createScript(state, clock);
  const log: LoggedRequest[] = [];
  const errors: unknown[] = [];
  const closing = new AbortController();

  const server = createServer({ keepAliveTimeout: 60_000 });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error(`the simulator listens at ${String(address)}, not at a port`);
  const base = `http://127.0.0.1:${address.port}`;

  const dialect = dialectOf(options.dialect ?? 'contract', base);
  const writer = issueWriter(
    state,
    base,
    {
      changelog: 40,
      comments: 20,
      worklogs: 20,
      ...options.embedded,
      ...(isDataCenter && { comments: 1_048_576 }),
    },
    options.lean,
  );
  const fragments = createFragments(state, writer, (options.cacheMegabytes ?? 1024) * 1024 * 1024);
  const bare = !dialect.vendor && (options.bare ?? false);
  const search = searching(state, clock, {
    updatedFilter: options.updatedFilter ?? true,
    epochDates: options.epochDates ?? true,
    strictKeys: dialect.vendor,
  });
  const hiddenPlace = (position: number): boolean =>
    state.projects.get(state.store.projectId(position))?.hidden === true;
  const site: Site = {
    state,
    clock,
    dialect,
    entities: entities(state, base),
    writer,
    fragments,
    base,
    bare,
    tokens: { lifetimeMs: options.tokenLifetimeMs ?? 7 * 86_400_000, expired: options.expiredToken ?? 400 },
    find: (jql, fresh) => {
      try {
        return search(jql, fresh);
      } catch (error) {
        if (error instanceof JqlError) throw dialect.refused(400, error.message);
        throw error;
      }
    },
    members: (sprintId) =>
      state.store
        .inSprint(sprintId)
        .filter((position) => !hiddenPlace(position))
        .map((position) => ({ position, stale: undefined })),
    seen: (idOrKey) => {
      const position = state.store.find(idOrKey) ?? state.store.findKey(idOrKey);
      if (position === undefined || !state.store.isLive(position) || hiddenPlace(position)) return undefined;
      return state.store.at(position);
    },
    visible: (idOrKey) => {
      const issue = site.seen(idOrKey);
      if (issue === undefined)
        throw dialect.refused(404, 'Issue does not exist or you do not have permission to see it.');
      return issue;
    },
  };
  const all: readonly Route[] = [
    ...(dialect.vendor ? [...vendorSearch(site), ...historyRoutes(site)] : [contractSearch(site)]),
    ...listRoutes(site),
    ...issueRoutes(site),
    ...(dialect.name === 'contract' ? [] : worklogRoutes(site)),
    ...agileRoutes(site),
  ];
  const offered = bare ? all.filter((one) => one.inContract) : all;
  const routes = isDataCenter ? dataCenterRoutes(site, all) : offered;

  const answerOf = (call: Call, matched: ReturnType<typeof routeOf>): Answer => {
    try {
      const fitting = matched.find(({ route }) => route.method === call.method);
      if (fitting !== undefined) return fitting.route.handle({ ...call, params: fitting.params });
      const [other] = matched;
      if (other !== undefined)
        throw dialect.problem(405, 'Method Not Allowed', `Method '${call.method}' is not supported.`);
      throw dialect.problem(404, 'Not Found', `No endpoint ${call.method} ${call.path}.`);
    } catch (error) {
      if (error instanceof Refusal) return error.answer;
      errors.push(error);
      return dialect.json({ message: String(error), 'status-code': 500 }, 500);
    }
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const signal = untilGone(response, closing.signal);
    const body = await bytesOf(request);
    const url = new URL(request.url ?? '/', base);
    const matched = routeOf(routes, url.pathname);
    const number = log.length + 1;
    const heard: LoggedRequest = {
      number,
      at: clock.now(),
      method: request.method ?? 'GET',
      path: url.pathname,
      endpoint:
        (matched.find(({ route }) => route.method === request.method) ?? matched[0])?.route.path ??
        url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: flat(request.headers),
      body: jsonOf(body),
      faults: [],
      status: undefined,
      bytes: 0,
    };
    // Written down before anything can go wrong with it.
    log.push(heard);
    const faults = play(heard);
    const date = clock.now();
    response.sendDate = false;
    if (options.dateHeader !== false) response.setHeader('date', date.toUTCString());

    const caller = callerOf(dialect, request.headers, email, token);
    let call: Call = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
      params: {},
      anonymous: caller.who !== 'account',
    };
    const scene: Scene = { call, base, number, request, response, now: date.getTime(), signal };
    for (const fault of faults) call = fault.call?.(call) ?? call;
    const replaced = faults.find((one) => one.instead !== undefined)?.instead?.(scene);
    let answer: Answer =
      replaced !== undefined
        ? { ...replaced, body: [replaced.body] }
        : caller.who === 'refused'
          ? caller.answer
          : answerOf(call, matched);
    if (caller.who === 'nobody') answer = { ...answer, headers: { ...answer.headers, ...caller.headers } };
    answer = spoiled(answer, scene, faults);
    if (options.gzip === true) answer = await compressed(answer, flat(request.headers)['accept-encoding']);
    log[number - 1] = {
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
    url: base,
    email,
    token,
    clock,
    state,
    script,
    log,
    errors,
    oracle: () => oracle(state),
    tally: () => tally(state),
    warm: (fields, wanted = {}) => {
      const projection: Projection = {
        fields,
        changelog: wanted.changelog === true,
        agile: false,
        sparse: dialect.vendor,
      };
      const positions = state.store.byKey;
      for (let at = 0; at < positions.length; at += 1000)
        fragments.list(
          positions.slice(at, at + 1000).map((position) => ({ position, stale: undefined })),
          projection,
        );
    },
    close: async () => {
      closing.abort();
      await new Promise<void>((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      });
    },
  };
};
