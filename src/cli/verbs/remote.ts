/** Drives the control API of a `tidemark serve` somewhere else. The token comes from the environment, never from a flag. */

import { Agent, request } from 'undici';
import { AuthFailed, Misconfigured, UnexpectedContent, Unreachable } from '../../core/errors.ts';
import { bareHost, isThisMachine } from '../../core/this-machine.ts';
import { seconds } from '../../core/time.ts';
import type { Context, Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { toJson } from '../progress/json.ts';
import { facts, table } from '../table.ts';
import { escaped, minute } from '../text.ts';

export const actions = ['start', 'status', 'stop', 'retry', 'runs', 'log'] as const;
export type Action = (typeof actions)[number];

/** What `remote` is told besides the action and the DAG. */
export interface Remote {
  readonly action: Action;
  readonly name: string;
  /** retry, status and log: which run; status and log: the newest if absent. */
  readonly id?: string | undefined;
  readonly url?: string | undefined;
  readonly params?: string | undefined;
  readonly runId?: string | undefined;
  readonly limit: number;
}

/** What an action does not take would otherwise be left out without a word: a backfill, say, would be a sync. Throws Misconfigured. */
function assertTaken({ action, id, params, runId }: Remote): void {
  if (id !== undefined && !['retry', 'status', 'log'].includes(action))
    throw new Misconfigured(
      `remote ${action}: there is a word too many after the DAG${action === 'start' ? '; what is to be read goes into --params "FROM=2024-01-01 TO=2024-02-01"' : ''}`,
    );
  if (action === 'start') return;
  for (const [flag, value] of Object.entries({ '--params': params, '--run-id': runId }))
    if (value !== undefined) throw new Misconfigured(`remote ${action} takes no ${flag}`);
}

/** How long an answer may take. */
const patience = seconds(30);

/** Exit codes: 0, 2 (unknown or malformed), 4 (not reached or not let in), 5 (a run is in the way), 1 (anything else). */
export const remote: Verb<Remote> = async (context, options) => {
  assertTaken(options);
  const { server } = await context.parts.config();
  const base = baseOf(options.url ?? `http://${reached(server.host)}:${server.port}`);
  const { protocol, hostname, host } = new URL(base);
  if (server.apiToken !== undefined && protocol === 'http:' && !isThisMachine(hostname) && !context.quiet)
    context.err.line(`warning: the token goes to ${host} unencrypted; use https where the server has it`);
  const agent = new Agent({ connect: { timeout: patience } });
  try {
    const { path, body } = await asked(options, (where) =>
      ask(agent, base, server.apiToken?.reveal(), where),
    );
    const answer = await ask(agent, base, server.apiToken?.reveal(), path, body);
    return show(context, options, answer);
  } finally {
    await agent.destroy();
  }
};

/** Where what listens on this host is reached from this machine, as a URL has it. */
function reached(host: string): string {
  const bare = bareHost(host);
  if (bare === '0.0.0.0') return '127.0.0.1';
  if (bare === '::') return '[::1]';
  return bare.includes(':') ? `[${bare}]` : bare;
}

function baseOf(url: string): string {
  const parsed = URL.parse(url);
  if (
    (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') ||
    parsed.username !== '' ||
    parsed.password !== ''
  )
    throw new Misconfigured(
      '--url: give the address of a tidemark serve, such as http://127.0.0.1:8080, without credentials',
    );
  return url.replace(/\/+$/, '');
}

interface Answer {
  readonly code: number;
  readonly data: unknown;
  readonly message: string;
}

interface Asked {
  readonly path: string;
  /** Present: a POST. */
  readonly body?: Readonly<Record<string, unknown>>;
}

async function asked(options: Remote, look: (path: string) => Promise<Answer>): Promise<Asked> {
  const dag = `/dags/${encodeURIComponent(options.name)}`;
  const { params, runId, id, limit } = options;
  switch (options.action) {
    case 'start':
      return {
        path: `${dag}/start`,
        body: { ...(params === undefined ? {} : { params }), ...(runId === undefined ? {} : { runId }) },
      };
    case 'stop':
      return { path: `${dag}/stop`, body: {} };
    case 'retry':
      if (id === undefined)
        throw new Misconfigured('retry: say which run, e.g. tidemark remote retry tracker RUN');
      return { path: `${dag}/runs/${encodeURIComponent(id)}/retry`, body: {} };
    case 'runs':
      return { path: `${dag}/runs?limit=${limit}` };
    case 'status':
      return { path: id === undefined ? `${dag}/status` : `${dag}/runs/${encodeURIComponent(id)}` };
    case 'log': {
      const newest = id ?? textOf(fieldsOf((await look(`${dag}/status`)).data).runId);
      if (newest === undefined) throw new Misconfigured(`log: ${options.name} has no run`);
      return { path: `${dag}/runs/${encodeURIComponent(newest)}/log?tail=${limit}` };
    }
  }
}

async function ask(
  agent: Agent,
  base: string,
  token: string | undefined,
  path: string,
  body?: Asked['body'],
): Promise<Answer> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answer = await request(`${base}/api/v1${path}`, {
    dispatcher: agent,
    headersTimeout: patience,
    bodyTimeout: patience,
    ...(body === undefined
      ? { headers }
      : {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
  }).catch((error: unknown) => {
    throw new Unreachable(`${base} does not answer; is tidemark serve running there?`, { cause: error });
  });
  const text = await answer.body.text().catch((error: unknown) => {
    throw new Unreachable(`${base} broke off its answer: whether it did what it was asked is not known`, {
      cause: error,
    });
  });
  const envelope = fieldsOf(parsed(text));
  if (envelope.status !== 'success' && envelope.status !== 'error')
    throw new UnexpectedContent(
      `${base} answered ${answer.statusCode} without an envelope: it is no control API`,
    );
  if (answer.statusCode === 401 || answer.statusCode === 403)
    throw new AuthFailed(`${base}: ${textOf(envelope.message) ?? 'refused'} (TIDEMARK_API_TOKEN)`);
  if (answer.statusCode === 400 || answer.statusCode === 404)
    throw new Misconfigured(`${base}: ${textOf(envelope.message) ?? 'refused'}`);
  const message = textOf(envelope.message) ?? `${base} answered ${answer.statusCode} and does not say why`;
  return { code: answer.statusCode, data: envelope.data, message };
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function show(context: Context, { action }: Remote, { code, data, message }: Answer): number {
  const { out, err, json } = context;
  if (code >= 400) {
    err.line(`${err.paint('red', 'tidemark')}: ${escaped(message)}`);
    if (json)
      out.line(toJson({ type: 'error', error: { code: `http_${code}`, message }, exitCode: codeOf(code) }));
    return codeOf(code);
  }
  if (json) out.line(toJson(data, 2));
  else if (action === 'log') for (const line of linesOf(data, 'lines')) out.line(logText(line));
  else if (action === 'runs')
    for (const line of table(heads, linesOf(data, 'runs').map(runRow), out)) out.line(line);
  else for (const line of facts(factsOf(fieldsOf(data)), out)) out.line(line);
  return exit.ok;
}

const codeOf = (code: number): number =>
  code === 409 ? exit.locked : code >= 502 && code <= 504 ? exit.connection : exit.failed;

const heads = [
  { title: 'RUN' },
  { title: 'DOES' },
  { title: 'STATUS' },
  { title: 'QUEUED (UTC)' },
  { title: 'RECEIVED', align: 'right' },
  { title: 'CHANGED', align: 'right' },
  { title: 'REJECTED', align: 'right' },
  { title: 'ERROR', flexible: true },
] as const;

type Fields = Readonly<Record<string, unknown>>;

const runRow = (run: Fields) => [
  shown(run.runId),
  shown(run.does),
  shown(run.status),
  when(run.queuedAt),
  numberOf(run.received),
  numberOf(run.changed),
  numberOf(run.rejected),
  textOf(fieldsOf(run.error).message) ?? '',
];

/** What is known of a run, or of a DAG's status, that is worth a line. */
function factsOf(data: Fields): readonly (readonly [string, string])[] {
  const run = fieldsOf(data.run ?? data);
  const steps = linesOf(data, 'steps').filter((step) => step.status === 'running');
  const error = textOf(fieldsOf(run.error).message);
  return [
    ['run', shown(data.runId)],
    ['status', `${shown(data.status)}${run.stopping === true ? ', stopping' : ''}`],
    ...(textOf(data.params) ? [['params', shown(data.params)] as const] : []),
    ['started', when(data.startedAt)],
    ['finished', when(data.finishedAt)],
    [
      'received',
      `${numberOf(run.received)}, ${numberOf(run.changed)} changed, ${numberOf(run.rejected)} rejected`,
    ],
    ...(steps.length === 0 ? [] : [['running', steps.map((step) => shown(step.name)).join(', ')] as const]),
    ...(error === undefined ? [] : [['error', escaped(error)] as const]),
    ...(textOf(run.againAt) ? [['again', when(run.againAt)] as const] : []),
  ];
}

const logText = (line: Fields): string =>
  `${shown(line.at)} ${line.level === 'info' ? '' : `${shown(line.level)}: `}${shown(line.message)}`;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
const linesOf = (value: unknown, name: string): readonly Fields[] => {
  const list = fieldsOf(value)[name];
  return Array.isArray(list) ? list.map(fieldsOf) : [];
};
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
const shown = (value: unknown): string => escaped(textOf(value) ?? '–');
const when = (value: unknown): string => {
  const at = new Date(textOf(value) ?? Number.NaN);
  return Number.isNaN(at.getTime()) ? '–' : minute(at);
};
