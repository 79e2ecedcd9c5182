import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Clock, runningClock, standingClock } from '../shared/clock.ts';
import { deliver, spoiled, untilGone } from '../shared/deliver.ts';
import { pause, type Scene } from '../shared/faults.ts';
import { type Answer, type Call, lengthOf, Refusal, routeOf } from '../shared/http.ts';
import { createScript, type LoggedRequest, type Script } from '../shared/script.ts';
import { type TrueRun, truth, WorkflowState } from './state.ts';
import { json, statusRoutes } from './status-routes.ts';
import { vendorRoutes } from './vendor-routes.ts';

export interface WorkflowOptions {
  /**
   * contract: start, status and stop in the contract's envelope · dagu-v2: the vendor's API under /api/v2 (1.17 to
   * 1.30) · dagu-2.x: the same under /api/v1. Default contract.
   */
  readonly dialect?: 'contract' | 'dagu-v2' | 'dagu-2.x';
  /** Whether a status of the contract has the run's id. Default true. */
  readonly ids?: boolean;
  /** The most runs in one answer of the vendor. Default 1000, or 500 with pages. */
  readonly most?: number;
  /** A bearer token that is accepted. Without it and `login` no login is asked for. */
  readonly token?: string;
  /** Basic authentication that is accepted. */
  readonly login?: { readonly username: string; readonly password: string };
  /** Other engines that a request with `remoteNode` is passed on to, by their names. */
  readonly remoteNodes?: Readonly<Record<string, Pick<WorkflowSimulator, 'state'>>>;
  /** The engine's clock stands at this instant until it is moved. Absent: it runs with the machine's. */
  readonly now?: Date;
  /** Default 0: any free port. */
  readonly port?: number;
  /** How much later each answer comes. */
  readonly latencyMs?: number;
}

export interface WorkflowSimulator {
  /** `http://127.0.0.1:port`, before `/api/v1`. */
  readonly url: string;
  readonly clock: Clock;
  readonly state: WorkflowState;
  readonly script: Script<WorkflowState>;
  /** Every request, in the order of arrival. */
  readonly log: readonly LoggedRequest[];
  /** Errors of the simulator itself (answered 500): a test should find none. */
  readonly errors: readonly unknown[];
  /** What a warehouse must hold that has seen everything. */
  truth(): readonly TrueRun[];
  close(): Promise<void>;
}

/** Starts an engine without any DAG on the loopback interface. Rejects if the port is taken. */
export const startWorkflow = async (options: WorkflowOptions = {}): Promise<WorkflowSimulator> => {
  const clock = options.now === undefined ? runningClock() : standingClock(options.now);
  const state = new WorkflowState(clock);
  const { script, play } = createScript(state, clock);
  const log: LoggedRequest[] = [];
  const errors: unknown[] = [];
  const closing = new AbortController();
  const routes = routesOf(state, options);
  // Since 2.0 Basic is asked for only where it is set up; 1.30 always does (measured).
  const hasBasic = options.dialect !== 'dagu-2.x' || options.login !== undefined;
  const challenge = `${hasBasic ? 'Basic' : 'Bearer'} realm="restricted"`;
  const server = createServer({ keepAliveTimeout: 60_000 });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error(`the simulator listens at ${String(address)}, not at a port`);
  const base = `http://127.0.0.1:${address.port}`;

  const answerOf = (call: Call): Answer => {
    if (!isLoggedIn(options, call.headers.authorization))
      return { status: 401, headers: { 'www-authenticate': challenge }, body: [] };
    const node = call.query.get('remoteNode');
    const remote = node === null ? undefined : options.remoteNodes?.[node];
    if (node !== null && remote === undefined)
      return json({ code: 'bad_request', message: `remote node ${node} not found` }, 400);
    const matched = routeOf(remote ? routesOf(remote.state, options) : routes, call.path);
    const fitting = matched.find(({ route }) => route.method === call.method);
    if (fitting === undefined) return nothing(matched.length > 0);
    try {
      return fitting.route.handle({ ...call, params: fitting.params });
    } catch (error) {
      if (error instanceof Refusal) return error.answer;
      errors.push(error);
      return json({ message: String(error) }, 500);
    }
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const signal = untilGone(response, closing.signal);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const url = new URL(request.url ?? '/', base);
    const { pathname: path, searchParams: query } = url;
    const { method = 'GET', headers } = request;
    const body = Buffer.concat(chunks);
    const matched = routeOf(routes, path);
    const number = log.length + 1;
    const heard: LoggedRequest = {
      number,
      at: clock.now(),
      method,
      path: request.url?.split('?', 1)[0] ?? '/',
      endpoint: (matched.find(({ route }) => route.method === method) ?? matched[0])?.route.path ?? path,
      query: Object.fromEntries(query),
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, String(value ?? '')]),
      ),
      body: body.length === 0 ? undefined : body.toString(),
      faults: [],
      status: undefined,
      bytes: 0,
    };
    // Written down before anything can go wrong with it.
    log.push(heard);
    const faults = play(heard);
    const now = clock.now();
    response.sendDate = false;
    response.setHeader('date', now.toUTCString());
    let call: Call = { method, path, query, headers, body, params: {}, anonymous: false };
    for (const fault of faults) call = fault.call?.(call) ?? call;
    const scene: Scene = { call, base, number, request, response, now: now.getTime(), signal };
    const replaced = faults.find((one) => one.instead !== undefined)?.instead?.(scene);
    const made = replaced === undefined ? answerOf(call) : { ...replaced, body: [replaced.body] };
    const answer = spoiled(made, scene, faults);
    const names = faults.map((one) => one.name);
    log[number - 1] = { ...heard, faults: names, status: answer.status, bytes: lengthOf(answer.body) };
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
    clock,
    state,
    script,
    log,
    errors,
    truth: () => truth(state),
    close: async () => {
      closing.abort();
      await new Promise<void>((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      });
    },
  };
};

/** All ways that are set up are accepted beside each other. */
const isLoggedIn = ({ token, login }: WorkflowOptions, authorization: string | undefined): boolean => {
  if (token === undefined && login === undefined) return true;
  if (token !== undefined && authorization === `Bearer ${token}`) return true;
  const [, sent = ''] = /^Basic (.*)$/.exec(authorization ?? '') ?? [];
  return (
    login !== undefined && Buffer.from(sent, 'base64').toString() === `${login.username}:${login.password}`
  );
};

const routesOf = (state: WorkflowState, { dialect = 'contract', ...options }: WorkflowOptions) => {
  const { ids = true } = options;
  if (dialect === 'contract') return statusRoutes(state, { ids });
  if (dialect === 'dagu-v2') return vendorRoutes(state, { prefix: '/api/v2', most: options.most ?? 1000 });
  return vendorRoutes(state, { prefix: '/api/v1', most: options.most ?? 500 });
};

/** As the vendor answers a path it does not know (measured). */
const nothing = (known: boolean): Answer => ({
  status: known ? 405 : 404,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: [Buffer.from('no matching operation was found')],
});
