import { Misconfigured } from '../../core/errors.ts';
import type { Source } from '../../core/stream.ts';
import { excludedOf } from '../../engine/context/select-streams.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import type { Context, Settings, Verb } from '../context.ts';
import { codeOfError, combined, exit, said } from '../exit.ts';
import { configured, pipelines } from '../pipelines.ts';
import { toJson } from '../progress/json.ts';
import { pendingSteps, soon } from '../schema.ts';
import { settingsOf } from '../settings.ts';
import { table } from '../table.ts';
import type { Style } from '../terminal.ts';
import { duration, plural } from '../text.ts';

/** One thing that was looked at. */
interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'failed' | 'not configured';
  readonly where: string | null;
  readonly facts: readonly string[];
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly seconds: number | null;
  readonly exitCode: number;
}

/** What a run asks first of each configured source, and a write and rollback on the warehouse. */
export const check: Verb<object> = async (context) => {
  const config = await context.parts.config();
  const told = context.quiet || context.json ? () => undefined : (text: string) => context.err.line(text);
  const findings: Finding[] = [];
  for (const { name, source: kind } of configured(config)) {
    if (context.signal.aborted) break;
    told(`asking ${name}`);
    findings.push(
      await tried(context, name, config.sources[kind]?.baseUrl ?? null, async () => {
        const source = await context.parts.source(name);
        const { account, dialect, clock, problems } = await source.preflight(context.signal);
        const skew = clock === undefined ? 'sends no Date header: watermarks stay' : skewText(clock);
        const found = dialect.filter((line) => !line.startsWith('account:'));
        return {
          facts: [
            ...(account === undefined ? [] : [`signed in as ${account}`]),
            ...found,
            ...leftOut(source, config),
            skew,
          ],
          ...(problems[0] && { problem: problems[0] }),
        };
      }),
    );
  }
  for (const each of pipelines)
    if (!configured(config).includes(each)) findings.push(nothing(each.name, `set ${each.needs} to use it`));
  if (!context.signal.aborted) {
    told('asking the warehouse');
    findings.push(
      await tried(context, 'warehouse', null, async () => {
        const warehouse = await context.parts.warehouse(soon);
        return {
          facts: [warehouse.address, ...(await writable(warehouse)), ...(await moved(warehouse, config))],
        };
      }),
    );
  }
  show(context, findings);
  const stop = context.received();
  if (stop !== undefined) return exit[stop];
  const codes = findings.map((each) => each.exitCode);
  return codes.includes(exit.connection)
    ? exit.connection
    : combined(codes.filter((code) => code !== exit.ok));
};

/** Streams that runs leave out. */
function leftOut(source: Source, config: Settings): readonly string[] {
  const { exclude = [] } = settingsOf(config, source.name);
  const names = [...excludedOf({ source, exclude })];
  return names.length === 0 ? [] : [`left out: ${names.join(', ')}`];
}

/** What was found; with a problem, it is not enough. */
interface Looked {
  readonly facts: readonly string[];
  readonly problem?: unknown;
}

async function tried(
  { received }: Pick<Context, 'received'>,
  what: string,
  where: string | null,
  look: () => Promise<Looked>,
): Promise<Finding> {
  const start = performance.now();
  const { facts, problem } = await look().catch((error: unknown): Looked => ({ facts: [], problem: error }));
  const seconds = (performance.now() - start) / 1000;
  return problem === undefined
    ? { what, state: 'ok', where, facts, error: null, seconds, exitCode: exit.ok }
    : {
        what,
        state: 'failed',
        where,
        facts,
        error: said(problem),
        seconds,
        exitCode: codeOfError(problem, received()),
      };
}

const nothing = (what: string, advice: string): Finding => ({
  what,
  state: 'not configured',
  where: null,
  facts: [advice],
  error: null,
  seconds: null,
  exitCode: exit.ok,
});

/** Writes what a run would write first, and takes it back: a lease, or where there are no tables yet a schema with a table. */
async function writable(warehouse: Warehouse): Promise<readonly string[]> {
  const { DatabaseError } = await import('pg');
  const missing = await pendingSteps(warehouse);
  const client = await warehouse.pool.connect();
  try {
    const { rows } = await client.query<{ version: string; role: string }>(
      `select current_setting('server_version') as version, current_user as role`,
    );
    await client.query('begin');
    for (const statement of missing.length > 0 ? making : writing) await client.query(statement);
    await client.query('rollback');
    return [
      `Postgres ${rows[0]?.version}, user ${rows[0]?.role}, may write`,
      missing.length === 0
        ? 'schema up to date'
        : `${plural(missing.length, 'step')} of the schema to apply (sync does it, or \`tidemark migrate\`)`,
    ];
  } catch (cause) {
    if (!(cause instanceof DatabaseError)) throw cause;
    throw new Misconfigured(
      `${warehouse.address}: ${cause.message}: the user of DATABASE_URL needs CREATE on the database, and to own what Tidemark made there`,
      { cause },
    );
  } finally {
    // Also ends the transaction of a check that failed half-way.
    client.release(true);
  }
}

/** Sources that are configured at another place than the one whose rows are here. */
async function moved({ pool }: Warehouse, config: Settings): Promise<readonly string[]> {
  const { movedText } = await import('../../engine/state/run-state.ts');
  const { rows: there } = await pool.query<{ there: boolean }>(
    `select to_regclass('ops.sources') is not null as there`,
  );
  if (there[0]?.there !== true) return [];
  const { rows } = await pool.query<{ name: string; base_url: string }>(
    'select name, base_url from ops.sources',
  );
  return configured(config).flatMap(({ name, source }) => {
    const before = rows.find((row) => row.name === name)?.base_url;
    const now = config.sources[source]?.baseUrl;
    return before === undefined || now === undefined || before === now ? [] : [movedText(name, before, now)];
  });
}

const making = [
  'create schema tidemark_check',
  'create table tidemark_check.row (id bigint primary key)',
  'insert into tidemark_check.row values (1)',
];
const writing = [`insert into ops.leases (pipeline) values ('tidemark check')`];

function skewText(clock: Date): string {
  const skew = (Date.now() - clock.getTime()) / 1000;
  return Math.abs(skew) < 60
    ? 'clocks agree'
    : `its clock is ${duration(Math.abs(skew))} ${skew > 0 ? 'behind' : 'ahead of'} ours (watermarks go by its own)`;
}

const styles: Readonly<Record<Finding['state'], Style>> = {
  ok: 'green',
  failed: 'red',
  'not configured': 'dim',
};

function show({ out, json }: Context, findings: readonly Finding[]): void {
  if (json) {
    out.line(toJson({ ok: findings.every((each) => each.state !== 'failed'), checks: findings }, 2));
    return;
  }
  const rows = findings.map((each) => [
    each.what,
    { text: each.state, style: styles[each.state] },
    each.seconds === null ? null : duration(each.seconds),
    [
      ...(each.error === null ? [] : [each.error.message]),
      ...(each.where === null ? [] : [each.where]),
      ...each.facts,
    ].join(' · '),
  ]);
  for (const line of table(
    [
      { title: 'WHAT' },
      { title: 'STATE' },
      { title: 'TOOK', align: 'right' },
      { title: 'FOUND, OR WHAT TO DO' },
    ],
    rows,
    out,
  ))
    out.line(line);
}
