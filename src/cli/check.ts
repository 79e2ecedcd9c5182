/** `check`: what a run asks first of each configured source, and a write that is rolled back on the warehouse. */
import { Misconfigured } from '../core/errors.ts';
import { duration, plural } from '../core/format.ts';
import { excludedOf } from '../engine/context/select-streams.ts';
import type { Context, Settings, Verb } from './context.ts';
import { codeOfError, combined, describe, exit } from './exit.ts';
import { print, table } from './output.ts';
import { configured, pipelines, settingsOf } from './pipelines.ts';
import { pendingSteps, shortPatienceMs } from './schema.ts';
import { openSource } from './sources.ts';

/** One line of the table, and one element of the JSON. */
interface CheckResult {
  readonly what: string;
  readonly state: 'ok' | 'failed' | 'not configured';
  readonly seconds: number | null;
  readonly facts: readonly string[];
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly exitCode: number;
}

export const check: Verb = async (context) => {
  const { parts, signal, say, received } = context;
  const config = await parts.config();
  const results: CheckResult[] = [];
  for (const { name } of configured(config)) {
    if (signal.aborted) break;
    say(`asking ${name}`);
    results.push(await tried(context, name, () => askSource(context, config, name)));
  }
  const untried = { seconds: null, error: null, exitCode: exit.ok };
  for (const { name: what, needs } of pipelines.filter((each) => !configured(config).includes(each)))
    results.push({ what, state: 'not configured', facts: [`set ${needs} to use it`], ...untried });
  if (!signal.aborted) {
    say('asking the warehouse');
    results.push(await tried(context, 'warehouse', () => askWarehouse(context)));
  }
  print(context, { ok: results.every(({ state }) => state !== 'failed'), checks: results }, () => {
    const rows = results.map((each) => ({
      ...each,
      'found, or what to do': [each.error?.message, ...each.facts]
        .filter((text) => text !== undefined)
        .join(' · '),
    }));
    return table(['what', 'state', 'seconds', 'found, or what to do'], rows, context.out);
  });
  const stop = received();
  if (stop !== undefined) return exit[stop];
  const bad = results.map(({ exitCode }) => exitCode).filter((code) => code !== exit.ok);
  return bad.includes(exit.connection) ? exit.connection : combined(bad);
};

/** What was found; a `problem` means that it is not enough. */
interface Found {
  readonly facts: readonly string[];
  readonly problem?: unknown;
}

async function tried({ received }: Context, what: string, ask: () => Promise<Found>): Promise<CheckResult> {
  const start = performance.now();
  const { facts, problem } = await ask().catch((problem: unknown): Found => ({ facts: [], problem }));
  const base = { what, facts, seconds: (performance.now() - start) / 1000 };
  if (problem === undefined) return { ...base, state: 'ok', error: null, exitCode: exit.ok };
  return { ...base, state: 'failed', error: describe(problem), exitCode: codeOfError(problem, received()) };
}

async function askSource(
  { parts, signal, version }: Context,
  config: Settings,
  name: string,
): Promise<Found> {
  const { baseUrl, exclude } = settingsOf(config, name);
  const source = parts.keep(await openSource(name, config, version), (each) => each.close());
  const { account, dialect, clock, problems } = await source.preflight(signal).catch((problem: unknown) => ({
    ...{ account: undefined, dialect: [], clock: undefined },
    problems: [problem],
  }));
  const excluded = [...excludedOf({ source, exclude })];
  const facts = [
    baseUrl,
    account && `signed in as ${account}`,
    ...dialect.filter((line) => !line.startsWith('account:')),
    excluded.length > 0 && `left out: ${excluded.join(', ')}`,
    problems.length === 0 && clockText(clock),
  ];
  return { facts: facts.filter((fact) => typeof fact === 'string'), problem: problems[0] };
}

function clockText(clock: Date | undefined): string {
  if (clock === undefined) return 'sends no Date header: watermarks stay where they are';
  const skew = (Date.now() - clock.getTime()) / 1000;
  if (Math.abs(skew) < 60) return 'clocks agree';
  return `its clock is ${duration(Math.abs(skew))} ${skew > 0 ? 'behind' : 'ahead of'} ours (watermarks use its clock)`;
}

/** What a run writes first: a lease; where there are no tables yet, a schema with a table. */
const writes = {
  lease: [`insert into ops.leases (pipeline) values ('tidemark check')`],
  schema: ['create schema tidemark_check', 'create table tidemark_check.row as select 1 as id'],
};

async function askWarehouse({ parts }: Context): Promise<Found> {
  const warehouse = await parts.warehouse(shortPatienceMs);
  const { address, pool } = warehouse;
  const missing = await pendingSteps(warehouse);
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ about: string }>(
      `select 'Postgres ' || current_setting('server_version') || ', user ' || current_user as about`,
    );
    await client.query('begin');
    for (const statement of missing.length > 0 ? writes.schema : writes.lease) await client.query(statement);
    await client.query('rollback');
    const steps = `${plural(missing.length, 'step')} of the schema to apply (sync does it, or \`tidemark migrate\`)`;
    const schema = missing.length === 0 ? 'schema up to date' : steps;
    return { facts: [address, `${rows[0]?.about}, may write`, schema] };
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
