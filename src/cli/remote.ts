/** `remote`: drives the control API of a `tidemark serve` elsewhere. The token comes from the environment, never from a flag. */
import { request } from 'undici';
import { z } from 'zod';
import { serverSettings } from '../config/config.ts';
import { AuthFailed, Misconfigured, TidemarkError, UnexpectedContent, Unreachable } from '../core/errors.ts';
import { escaped } from '../core/format.ts';
import { bareHost, isThisMachine } from '../core/this-machine.ts';
import { seconds } from '../core/time.ts';
import { unknown } from '../runs/pipelines.ts';
import * as shape from '../server/api/schemas.ts';
import type { Verb } from './context.ts';
import { type OutputBlock, print } from './output.ts';

type RemoteOptions = Record<'action' | 'dag', string> & { limit: number } & {
  [Name in 'run' | 'url' | 'params' | 'runId']?: string;
};

interface Action {
  readonly post?: true;
  /** What it takes besides the DAG. */
  readonly takes: readonly ('run' | 'params' | 'runId')[];
  readonly path: (run: string | undefined, limit: number) => string;
}

/** What each action requests, below the path of the DAG. */
const actions: Readonly<Record<string, Action>> = {
  start: { post: true, takes: ['params', 'runId'], path: () => 'start' },
  status: { takes: ['run'], path: (run) => (run === undefined ? 'status' : `runs/${run}`) },
  stop: { post: true, takes: [], path: () => 'stop' },
  retry: { post: true, takes: ['run'], path: (run) => `runs/${run}/retry` },
  runs: { takes: [], path: (_, limit) => `runs?limit=${limit}` },
  log: { takes: ['run'], path: (run, limit) => `runs/${run}/log?tail=${limit}` },
};

const spellings = { run: 'RUN; a window goes into --params', params: '--params', runId: '--run-id' } as const;

/** Throws Misconfigured: ignoring what an action does not take would turn a backfill into a sync. */
function actionOf(options: RemoteOptions): Action {
  const { action: name, dag, run } = options;
  const action = actions[name] ?? unknown('action', name, Object.keys(actions));
  for (const what of ['run', 'params', 'runId'] as const)
    if (options[what] !== undefined && !action.takes.includes(what))
      throw new Misconfigured(`remote ${name} takes no ${spellings[what]}`);
  if (name !== 'retry' || run !== undefined) return action;
  throw new Misconfigured(`remote retry does not say which run · write tidemark remote retry ${dag} RUN`);
}

export const remote: Verb<RemoteOptions> = async (context, options) => {
  const { dag, params, runId, limit } = options;
  const action = actionOf(options);
  // Not all of the configuration: pipelines and their secrets are on the server's machine.
  const server = serverSettings(context.host.env, context.host.cwd());
  const base = baseOf(options.url ?? `http://${reachable(server.host)}:${server.port}`);
  const { protocol, hostname, host } = new URL(base);
  if (server.apiToken !== undefined && protocol === 'http:' && !isThisMachine(hostname))
    context.warn(`the token goes to ${host} unencrypted; use https where the server has it`);
  const ask = (path: string, body?: object) =>
    call(base, server.apiToken?.reveal(), `dags/${encodeURIComponent(dag)}/${path}`, body);
  const run = options.run ?? (options.action === 'log' ? newestOf(await ask('status'), dag) : undefined);
  const path = action.path(run === undefined ? undefined : encodeURIComponent(run), limit);
  const data = await ask(path, action.post && { params, runId });
  return print(context, data, shown(data));
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
  const form = 'such as http://127.0.0.1:8080, without credentials';
  throw new Misconfigured(`--url: give the address of a tidemark serve, ${form}`);
}

const timeoutMs = seconds(30);

/** The API answered with an error that has no class of its own, e.g. `http_409`. */
class ApiError extends TidemarkError {
  readonly code: string;
  constructor(status: number, message: string) {
    super(message);
    this.code = `http_${status}`;
  }
}

const envelope = z.union([
  z.object({ status: z.literal('error'), message: z.string().default('no reason given') }),
  z.object({ data: z.union([shape.run, shape.status, shape.runPage, shape.logPage]) }),
]);
type Data = Extract<z.infer<typeof envelope>, { data: unknown }>['data'];

/** Throws AuthFailed (401, 403), Misconfigured (400, 404), Refused, Unreachable, or UnexpectedContent where the server is no control API. */
async function call(base: string, token: string | undefined, path: string, body?: object): Promise<Data> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body && { 'content-type': 'application/json' }),
  };
  const post = body && ({ method: 'POST', body: JSON.stringify(body) } as const);
  const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
  const unreachable = (what: string) => (cause: unknown) => {
    throw new Unreachable(`${base} ${what}`, { cause });
  };
  const silent = unreachable('does not answer; is tidemark serve running there?');
  const answer = await request(`${base}/api/v1/${path}`, { headers, ...limits, ...post }).catch(silent);
  const broken = 'broke off its answer: whether it did what was requested is not known';
  const text = await answer.body.text().catch(unreachable(broken));
  const { statusCode: code } = answer;
  const content = envelopeOf(text);
  if (content !== undefined && 'data' in content && code < 400) return content.data;
  if (content === undefined || 'data' in content)
    throw new UnexpectedContent(`${base} answered ${code} without an envelope: it is no control API`);
  const problem = `${base} answered ${code}: ${content.message}`;
  if (code === 401 || code === 403) throw new AuthFailed(`${problem} (TIDEMARK_API_TOKEN)`);
  throw code === 400 || code === 404 ? new Misconfigured(problem) : new ApiError(code, problem);
}

function envelopeOf(text: string) {
  try {
    return envelope.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function newestOf(data: Data, dag: string): string {
  if ('runId' in data && data.runId !== null) return data.runId;
  throw new Misconfigured(`remote log: ${dag} has no run yet · start one with tidemark remote start ${dag}`);
}

/** Lines of a log, a table of runs, or one run. */
function shown(data: Data): readonly OutputBlock[] {
  if ('lines' in data)
    return data.lines.map(({ at, level, message }) => escaped(`${at} ${level} ${message}`));
  const keys = 'runId does status params queuedAt startedAt finishedAt received changed rejected error';
  if ('next' in data) return [{ rows: data.runs, keys }];
  const fields = 'dag' in data ? { dag: data.name, status: data.status, ...data.run } : data;
  return [{ fields, keys: `dag ${keys}` }];
}
