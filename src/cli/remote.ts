/** `remote`: drives the control API of a `tidemark serve` elsewhere. The token comes from the environment, never from a flag. */
import { Agent, request } from 'undici';
import { z } from 'zod';
import { AuthFailed, Misconfigured, UnexpectedContent, Unreachable } from '../core/errors.ts';
import { escaped } from '../core/format.ts';
import { bareHost, isThisMachine } from '../core/this-machine.ts';
import { seconds } from '../core/time.ts';
import type { Verb } from './context.ts';
import { exit } from './exit.ts';
import { facts, print, table, toJson } from './output.ts';
import { unknown } from './pipelines.ts';

interface RemoteOptions {
  readonly action: string;
  readonly dag: string;
  readonly run?: string;
  readonly url?: string;
  readonly params?: string;
  readonly runId?: string;
  readonly limit: number;
}

interface Action {
  readonly post?: true;
  /** Whether it takes the id of a run; `newest` looks it up. */
  readonly run: 'none' | 'optional' | 'required' | 'newest';
  readonly path: (run: string | undefined, limit: number) => string;
}

/** What each action requests, below the path of the DAG. */
const actions: Readonly<Record<string, Action>> = {
  start: { post: true, run: 'none', path: () => 'start' },
  status: { run: 'optional', path: (run) => (run === undefined ? 'status' : `runs/${run}`) },
  stop: { post: true, run: 'none', path: () => 'stop' },
  retry: { post: true, run: 'required', path: (run) => `runs/${run}/retry` },
  runs: { run: 'none', path: (_, limit) => `runs?limit=${limit}` },
  log: { run: 'newest', path: (run, limit) => `runs/${run}/log?tail=${limit}` },
};

/** Throws Misconfigured: ignoring what an action does not take would turn a backfill into a sync. */
function actionOf({ action: name, dag, run, params, runId }: RemoteOptions): Action {
  const action = actions[name];
  if (action === undefined) throw unknown('action', name, Object.keys(actions));
  const wrong =
    run !== undefined && action.run === 'none'
      ? 'has an argument too many after the DAG; a window goes into --params "FROM=2024-01-01 TO=2024-02-01"'
      : run === undefined && action.run === 'required'
        ? `does not say which run: write tidemark remote ${name} ${dag} RUN`
        : name !== 'start' && (params ?? runId) !== undefined
          ? `takes no ${params === undefined ? '--run-id' : '--params'}`
          : undefined;
  if (wrong === undefined) return action;
  throw new Misconfigured(`remote ${name} ${wrong}`);
}

/** Exit codes: 0, 2 (unknown or malformed), 4 (not reached or not let in), 5 (a run is in the way), 1 (anything else). */
export const remote: Verb<RemoteOptions> = async ({ parts, out, err, json, quiet }, options) => {
  const { dag, params, runId, limit } = options;
  const action = actionOf(options);
  const { server } = await parts.config();
  const base = baseOf(options.url ?? `http://${reachable(server.host)}:${server.port}`);
  const { protocol, hostname, host } = new URL(base);
  if (server.apiToken !== undefined && protocol === 'http:' && !isThisMachine(hostname) && !quiet)
    err.line(`warning: the token goes to ${host} unencrypted; use https where the server has it`);
  const agent = new Agent({ connect: { timeout: timeoutMs } });
  const ask = (path: string, body?: object) =>
    call(agent, base, server.apiToken?.reveal(), `/dags/${encodeURIComponent(dag)}/${path}`, body);
  try {
    const run = options.run ?? (action.run === 'newest' ? await newestRun(ask, dag) : undefined);
    const path = action.path(run === undefined ? undefined : encodeURIComponent(run), limit);
    const { code, data, message } = await ask(path, action.post && { params, runId });
    if (code < 400) return print({ out, json }, data, () => shown(data, out));
    const exitCode = code === 409 ? exit.locked : code >= 502 && code <= 504 ? exit.connection : exit.failed;
    err.line(`${err.paint('red', 'tidemark')}: ${escaped(message)}`);
    if (json) out.line(toJson({ type: 'error', error: { code: `http_${code}`, message }, exitCode }));
    return exitCode;
  } finally {
    await agent.destroy();
  }
};

/** Where a server that listens on this host is reached from this machine. */
function reachable(host: string): string {
  const bare = bareHost(host);
  if (bare === '0.0.0.0') return '127.0.0.1';
  return bare.includes(':') ? `[${bare === '::' ? '::1' : bare}]` : bare;
}

function baseOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed && /^https?:$/.test(parsed.protocol) && !parsed.username && !parsed.password)
    return url.replace(/\/+$/, '');
  throw new Misconfigured(
    '--url: give the address of a tidemark serve, such as http://127.0.0.1:8080, without credentials',
  );
}

const timeoutMs = seconds(30);

const envelope = z.object({
  status: z.enum(['success', 'error']),
  data: z.record(z.string(), z.unknown()).optional(),
  message: z.string().default('no reason given'),
});

interface Answer {
  readonly code: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** Throws AuthFailed (401, 403), Misconfigured (400, 404), Unreachable, or UnexpectedContent where the server is no control API. */
async function call(
  dispatcher: Agent,
  base: string,
  token: string | undefined,
  path: string,
  body?: object,
): Promise<Answer> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const json = { 'content-type': 'application/json' };
  const answer = await request(`${base}/api/v1${path}`, {
    ...{ dispatcher, headersTimeout: timeoutMs, bodyTimeout: timeoutMs },
    headers: { ...authorization, ...(body && json) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    throw new Unreachable(`${base} does not answer; is tidemark serve running there?`, { cause });
  });
  const text = await answer.body.text().catch((cause: unknown) => {
    throw new Unreachable(`${base} broke off its answer: whether it did what was requested is not known`, {
      cause,
    });
  });
  const { statusCode: code } = answer;
  const found = envelope.safeParse(parsed(text));
  if (!found.success)
    throw new UnexpectedContent(`${base} answered ${code} without an envelope: it is no control API`);
  const { data = {}, message: reason } = found.data;
  const message = `${base} answered ${code}: ${reason}`;
  if (code === 401 || code === 403) throw new AuthFailed(`${message} (TIDEMARK_API_TOKEN)`);
  if (code === 400 || code === 404) throw new Misconfigured(message);
  return { code, data, message };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function newestRun(ask: (path: string) => Promise<Answer>, dag: string): Promise<string> {
  const { runId } = (await ask('status')).data;
  if (typeof runId === 'string') return runId;
  throw new Misconfigured(`remote log: ${dag} has no run yet; start one with tidemark remote start ${dag}`);
}

/** Lines of a log, a table of runs, or the plain values of one run. */
function shown(
  { lines, runs, run, ...data }: Answer['data'],
  paper: Parameters<typeof facts>[1],
): readonly string[] {
  const rows = z.array(z.record(z.string(), z.unknown()));
  if (lines !== undefined)
    return rows.parse(lines).map(({ at, level, message }) => escaped(`${at} ${level} ${message}`));
  const keys = ['runId', 'does', 'status', 'queuedAt', 'received', 'changed', 'rejected', 'error'];
  if (runs !== undefined) return table(keys, rows.parse(runs), paper);
  const all: Answer['data'] = { ...(typeof run === 'object' ? run : {}), ...data };
  const plain = Object.keys(all).filter((key) => typeof all[key] !== 'object' || key === 'error');
  return facts(all, paper, plain);
}
