/** Verbs that set things up: `check`, `notify test`, `migrate` and `reset`; and `simulate` and `warehouse`, which run servers until Ctrl-C. */
import fs from 'node:fs/promises';
import { codeOf, Misconfigured, saidBy } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import { endsSoon } from '../core/token-end.ts';
import type { Embedded } from '../embedded/embedded.ts';
import { excludedOf } from '../engine/context/deps.ts';
import { channelsOf } from '../runs/after.ts';
import { lackOfConnections } from '../runs/assemble.ts';
import * as lookup from '../runs/pipelines.ts';
import { type Context, untilStopped, type Verb } from './context.ts';
import { codeOfError, combined, describe, exit } from './exit.ts';
import { type OutputBlock, print } from './output.ts';

/** Applies the steps of the schema that are missing, or only names them. */
export const migrate: Verb<{ dryRun?: boolean }> = async (context, { dryRun = false }) => {
  const { parts, say, signal } = context;
  say('opening the warehouse');
  const warehouse = await parts.warehouse(lookup.briefRetryMs);
  const { address } = warehouse;
  const config = await parts.config();
  const steps = dryRun
    ? await lookup.pendingSteps(warehouse, config)
    : await lookup.applySteps(warehouse, config, { signal });
  const lines = steps.map((step) => `${dryRun ? 'would apply' : 'applied'} ${step}`);
  const upToDate = `The schema of ${address} is up to date.`;
  const data = { warehouse: address, [dryRun ? 'pending' : 'applied']: steps };
  return print(context, data, lines.length === 0 ? [upToDate] : lines);
};

/** Makes the stored facts of the reporting schema anew. */
export const derive: Verb = async (context) => {
  const warehouse = await lookup.filled(context);
  context.say('deriving all facts');
  const { rebuildFacts } = await import('../warehouse/migrate.ts');
  const startedAt = Date.now();
  await rebuildFacts(warehouse, context.signal);
  const seconds = (Date.now() - startedAt) / 1000;
  return print(context, { warehouse: warehouse.address, seconds }, [
    `All facts of ${warehouse.address} are derived anew; it took ${seconds.toFixed(1)} s.`,
  ]);
};

/** Forgets a stream's watermark and open reads; its rows stay. */
export const reset: Verb<{ stream: string; pipeline?: string }> = async (context, options) => {
  const warehouse = await lookup.filled(context);
  const found = await lookup.streamNamed(warehouse, options.stream, options.pipeline);
  const { pipeline, stream } = found;
  const { resetStream } = await import('../engine/reset.ts');
  await resetStream(warehouse, pipeline, stream);
  const what = `${pipeline}.${stream} is reset: its rows stay, the next sync reads all of it again.`;
  return print(context, { reset: found }, [what]);
};

/** Every value of the configuration and where it comes from; of secrets only whether they are set. */
export const config: Verb = async (context) => {
  const settings = await context.parts.config();
  await lookup.checkSchedules(settings);
  const { shown, pipelines, nightly } = settings;
  const timed = [...pipelines, nightly].map(({ name, file, jobs, ...each }) => ({
    pipeline: name,
    file,
    configured: 'values' in each ? each.values !== undefined : lookup.partsOfNightly(settings).length > 0,
    schedule: jobs
      .map(({ does, on, within }) => `${does} ${within ?? `${on.cron} ${on.timeZone}`}`)
      .join(', '),
  }));
  return print(context, { values: shown, pipelines: timed }, [
    { rows: timed, keys: 'pipeline configured schedule file' },
    { rows: shown.filter(({ value }) => value !== '' || context.verbose), keys: 'name value from' },
  ]);
};

/** What was found. A problem means that it is not enough. */
interface CheckResult {
  readonly facts: readonly (string | false | undefined)[];
  readonly problem?: unknown;
}

/** What a run asks first of each configured source, and a write that is rolled back on the warehouse. */
export const check: Verb = async (context) => {
  const checks = [];
  const { pipelines, notify } = await context.parts.config();
  for (const each of pipelines)
    checks.push(await checked(context, each.name, () => askSource(context, each)));
  checks.push(await checked(context, 'warehouse', () => askWarehouse(context)));
  checks.push(await checked(context, 'notifications', async () => whereSent(notify)));
  const bad = checks.map(({ exitCode }) => exitCode).filter((code) => code !== exit.ok);
  print(context, { ok: bad.length === 0, checks }, [tableOf(checks)]);
  return bad.includes(exit.connection) ? exit.connection : combined(bad, context.received());
};

/** `notify test`: sends a test message to each channel of notifications, and says which of them took it. */
export const test: Verb = async (context) => {
  const channels = channelsOf(await context.parts.config());
  const { sendTest } = await import('../outbound/deliver.ts');
  const sent = await sendTest(channels, context.signal);
  if (sent.length === 0)
    throw new Misconfigured(
      'no channel is set · set TIDEMARK_WEBHOOK_URL, TIDEMARK_SLACK_WEBHOOK_URL, TIDEMARK_PAGERDUTY_ROUTING_KEY or TIDEMARK_SMTP_URL',
    );
  const rows = sent.map((each) => ({ ...each, state: each.problem === null ? 'ok' : 'failed' }));
  const codes = sent.map(({ problem }) => (problem === null ? exit.ok : exit.failed));
  return print(context, { sent }, [{ rows, keys: 'channel state problem' }], combined(codes));
};

/** What was checked, one a line. */
export const tableOf = (checks: readonly Awaited<ReturnType<typeof checked>>[]): OutputBlock => ({
  rows: checks.map((each) => ({
    ...each,
    found: [each.error?.message, ...each.facts].filter(Boolean).join(' · '),
  })),
  keys: 'what state seconds found',
});

/** `ask` gives facts alone where there is nothing to ask. Throws Interrupted after a signal. */
export async function checked(
  { say, signal, received }: Context,
  what: string,
  ask: () => Promise<CheckResult | string>,
) {
  signal.throwIfAborted();
  say(`checking ${what === 'warehouse' ? 'the warehouse' : what}`);
  const start = performance.now();
  const found = await ask().catch((problem: unknown): CheckResult => ({ facts: [], problem }));
  if (typeof found === 'string')
    return { what, state: 'not configured', facts: [found], seconds: null, error: null, exitCode: exit.ok };
  const { problem } = found;
  const facts = found.facts.filter((fact) => typeof fact === 'string');
  const isBad = problem !== undefined;
  const [error, exitCode] = isBad ? [describe(problem), codeOfError(problem, received())] : [null, exit.ok];
  const seconds = (performance.now() - start) / 1000;
  return { what, state: isBad ? 'failed' : 'ok', facts, seconds, error, exitCode };
}

/** One authenticated request. */
export async function askSource(context: Context, { name, needs, values }: lookup.Pipeline) {
  const { parts, signal, version } = context;
  const config = await parts.config();
  if (values === undefined) return `set ${needs} to use it`;
  const { exclude } = lookup.readingOptions(config, name);
  const vault = await lookup.vaultOf(context);
  const source = await lookup.openSource(name, config, version, { vault });
  const excluded = [...excludedOf({ source, exclude })];
  const nothing = { account: undefined, dialect: [], clock: undefined, tokenEnds: undefined };
  const { account, dialect, clock, tokenEnds, problems } = await source
    .preflight(signal)
    .catch((problem: unknown) => ({ ...nothing, problems: [problem] }))
    // Before the warehouse closes, where a renewed token may have to be kept.
    .finally(() => source.close());
  const facts = [
    source.baseUrl,
    account && `signed in as ${account}`,
    endsSoon(tokenEnds, clock ?? new Date()),
    ...dialect.filter((line) => !line.startsWith('account:')),
    excluded.length > 0 && `left out: ${excluded.join(', ')}`,
    problems.length === 0 && !clock && 'sends no Date header: watermarks stay where they are',
  ];
  return { facts, problem: problems[0] };
}

/** Where messages go. */
const whereSent = (channels: Awaited<ReturnType<Context['parts']['config']>>['notify']) => {
  const facts = channels.map((each) =>
    each.name === 'email' ? `email to ${each.to.join(', ')}` : each.name,
  );
  if (facts.length === 0) return 'no message is sent when a pipeline fails';
  return { facts: [...facts, 'no message was sent'] };
};

/** Writes what a run writes first: a lease; where there are no tables yet, a schema with a table. */
async function askWarehouse({ parts }: Context): Promise<CheckResult> {
  const warehouse = await parts.warehouse(lookup.briefRetryMs);
  const { address, pool, line } = warehouse;
  const { sharesSessions } = await import('../warehouse/connect.ts');
  if (await sharesSessions(warehouse)) throw new Misconfigured(`${address}: ${ofPooler}`);
  const config = await parts.config();
  const missing = await lookup.pendingSteps(warehouse, config);
  const lease = `insert into ops.leases (pipeline) values ('check')`;
  const write = missing.length > 0 ? 'create schema tidemark_check' : lease;
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ about: string }>(
      `select 'Postgres ' || current_setting('server_version') || ', user ' || current_user as about`,
    );
    for (const statement of ['begin', write, 'rollback']) await client.query(statement);
    const steps = `${plural(missing.length, 'step')} of the schema to apply (sync does it, or \`tidemark migrate\`)`;
    const schema = missing.length === 0 ? 'schema up to date' : steps;
    const more = [await lackOfConnections(warehouse, config), await freeSpace(await parts.embedded())];
    return { facts: [address, `${rows[0]?.about}, may write`, `primary, ${line}`, schema, ...more] };
  } catch (cause) {
    const { DatabaseError } = await import('pg');
    if (!(cause instanceof DatabaseError)) throw cause;
    throw new Misconfigured(
      `${address}: ${cause.message}: the user of DATABASE_URL needs CREATE on the database, and to own what Tidemark made there`,
      { cause },
    );
  } finally {
    // Destroys the connection, and with it a transaction that failed half-way.
    client.release(true);
  }
}

/** What is free where an embedded server keeps its data. No role may ask a Postgres for it, so of others nothing is said. */
async function freeSpace(embedded: Embedded | undefined): Promise<string | undefined> {
  if (embedded === undefined) return undefined;
  const { bavail, bsize } = await fs.statfs(embedded.data);
  return `${((bavail * bsize) / 1e9).toFixed(1)} GB free for ${embedded.data}`;
}

/** What to do about transaction pooling. */
const ofPooler =
  'a pooler gives each transaction another session of the server, and Tidemark needs its own (settings, staging tables, leases): ' +
  'name the server itself in DATABASE_URL, or a port of the pooler that pools by session (pool_mode = session in PgBouncer)';

/** An error of listening as Misconfigured where the user can correct it. `change`: the flag or variable to change. */
export function listenError(error: unknown, change: string): unknown {
  if (!/^(EADDR|EACCES|EAFNOSUPPORT|EINVAL|ENOTFOUND|EAI_)/.test(codeOf(error) ?? '')) return error;
  return new Misconfigured(`cannot listen: ${saidBy(error)} · change ${change}`, { cause: error });
}

type SimulateOptions = Record<'seed' | 'issues' | 'port' | 'latency', number> & {
  dialect: 'contract' | 'vendor';
};

/** Starts simulated sources; prints the lines that configure them. */
export const simulate: Verb<SimulateOptions> = async (context, { latency: latencyMs, ...options }) => {
  const { say, parts, signal } = context;
  const { seed, issues, dialect } = options;
  say(`making a company with ${plural(issues, 'issue')} (seed ${seed})`);
  const { startSources } = await import('../../simulators/start.ts');
  const started = await startSources({ ...options, latencyMs }).catch((error: unknown) => {
    throw listenError(error, '--port (0 takes a free one)');
  });
  const { environment: env } = parts.keep(started, (each) => each.close());
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  print(context, { dialect, seed, issues, env }, lines);
  say('Put these lines into .env (without DATABASE_URL) and run `tidemark sync`. Ctrl-C ends the sources.');
  await untilStopped(signal);
  return exit.ok;
};

/** Starts the embedded warehouse and prints how to connect. */
export const warehouse: Verb = async (context) => {
  const { parts, say, signal } = context;
  say('starting the warehouse');
  const embedded = await parts.embedded();
  const { address } = await lookup.current(context);
  if (embedded === undefined)
    return print(context, { embedded: false, address }, [
      `DATABASE_URL is set: the warehouse is ${address}, which Tidemark does not start or stop.`,
    ]);
  const { url, port, data } = embedded;
  const fields = { connection: url, psql: `psql '${url}'`, data };
  print(context, { embedded: true, url, host: '127.0.0.1', port, data }, [{ fields }]);
  say('The warehouse is open. Ctrl-C closes it.');
  await untilStopped(signal);
  return exit.ok;
};
