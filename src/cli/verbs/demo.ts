import path from 'node:path';
import { checkSize, pipelines, startCompany } from '../../../simulators/demo/company.ts';
import { type Facts, isTrue } from '../../../simulators/demo/facts.ts';
import { type Section, sections, verdict } from '../../../simulators/demo/summary.ts';
import { readConfig } from '../../config/config.ts';
import { connectors } from '../../connectors/index.ts';
import { LockHeld } from '../../core/errors.ts';
import type { RunReport } from '../../core/run.ts';
import type { RunDeps } from '../../engine/context/deps.ts';
import { reconcile } from '../../engine/reconcile/reconcile.ts';
import { sync } from '../../engine/sync.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import type { Context, Settings, Verb } from '../context.ts';
import { codeOfReport, exit } from '../exit.ts';
import { progress } from '../progress/choose.ts';
import { toJson } from '../progress/json.ts';
import { outcome } from '../progress/state.ts';
import { applySteps } from '../schema.ts';
import { settingsOf } from '../settings.ts';
import { table } from '../table.ts';
import type { Sink } from '../terminal.ts';
import { duration, plural } from '../text.ts';
import { untilStopped } from '../until.ts';
import { withWaiting } from '../waiting.ts';

interface Options {
  readonly seed: number;
  readonly issues: number;
  readonly keep?: boolean | undefined;
}

/** Reports by what the run did, in the order of the runs. */
type Runs = readonly (readonly [what: string, report: RunReport])[];

/**
 * Runs everything with nothing set up: a simulated company, a warehouse of its own (emptied first), a sync, changes at the sources, a
 * second sync, a reconciliation, and a summary. Exit code 1 if the warehouse does not equal the sources at the end.
 */
export const demo: Verb<Options> = async (context, { seed, issues, keep }) => {
  checkSize(issues);
  const { out, err, json, quiet, verbose, parts, signal } = context;
  const say = (text: string) => (quiet || json ? undefined : err.line(text));
  const step = (text: string) => say(err.paint('bold', text));
  step(`A simulated company with ${plural(issues, 'issue')}, two syncs and a reconciliation.`);
  const { databaseUrl, home: parent } = await parts.config();
  const home = path.join(parent, 'demo');
  const { url, warehouse } = await emptyWarehouse(context, home);
  say(`warehouse: ${warehouse.address}, data in ${shownPath(home)}`);
  const company = parts.keep(await startCompany(seed, issues), (part) => part.close());
  for (const [name, at] of verbose ? company.urls : []) say(`${`${name}:`.padEnd(11)}${at}, seed ${seed}`);
  const config = configFor(company.environment);

  const runs: (readonly [string, RunReport])[] = [];
  const run = async (title: string, names: readonly string[], work: Work): Promise<readonly RunReport[]> => {
    step(title);
    const reports: RunReport[] = [];
    for (const pipeline of names) {
      const report = await watched(context, pipeline, config, warehouse, work);
      runs.push([`${title.replace(/^\d+\. /, '')} (${pipeline})`, report]);
      reports.push(report);
    }
    return reports;
  };
  const first = await run('1. first sync: everything', pipelines, (deps) => sync(deps, {}));
  const changes = company.change();
  say(`Meanwhile at the company: ${plural(changes.length, 'change')}`);
  for (const { what } of verbose ? changes : []) say(`  ${what}`);
  await run('2. second sync: what changed', pipelines, (deps) => sync(deps, {}));
  await run('3. reconcile: what is gone', ['tracker'], (deps) => reconcile(deps, {}));

  const facts = await company.facts(warehouse.pool, first, changes);
  say('');
  const reports = runs.map(([what, report]) => ({ what, report }));
  if (json) out.line(toJson({ runs: reports, ...facts, url, home }, 2));
  else show(out, facts, runs, verbose);
  if (!quiet && !json) goOn(context, home, keep ? url : undefined, databaseUrl !== undefined);
  if (keep) await untilStopped(signal);
  const codes = reports.map(({ report }) => codeOfReport(report, context.received()));
  return codes.find((code) => code !== exit.ok) ?? (isTrue(facts) ? exit.ok : exit.failed);
};

type Work = (deps: RunDeps) => Promise<RunReport>;

/** Starts the demo's own warehouse, with the current schema and no rows. Throws LockHeld. */
async function emptyWarehouse(
  context: Context,
  home: string,
): Promise<{ url: string; warehouse: Warehouse }> {
  const embedded = await context.parts.embeddedIn(home);
  const warehouse = await context.parts.connected(embedded.own, 8);
  await alone(context, warehouse);
  await empty(warehouse);
  await applySteps(warehouse, context.signal);
  return { url: embedded.url, warehouse };
}

/** The default configuration with these variables; no `.env` is read. */
const configFor = (variables: NodeJS.ProcessEnv): Settings =>
  readConfig(variables, path.join(import.meta.dirname, 'no-such-directory'), connectors);

/** One run against a simulated source, with its progress. */
async function watched(
  context: Context,
  pipeline: string,
  config: Settings,
  warehouse: Warehouse,
  work: Work,
): Promise<RunReport> {
  const shown = progress({
    ...context,
    quiet: context.quiet || context.json,
    json: false,
    brief: !context.verbose,
  });
  const waiting = withWaiting((event) => {
    // The kind of the source was printed with its address.
    if (event.type !== 'note' || event.level === 'warn') shown.observe(event);
  });
  try {
    return await work({
      warehouse,
      source: await context.parts.source(pipeline, waiting, config),
      observe: waiting.observe,
      signal: context.signal,
      version: context.version,
      trigger: 'manual',
      ...settingsOf(config, pipeline),
    });
  } finally {
    shown.end();
  }
}

/** Allows one demo at a time in a home directory, because a demo empties the warehouse. Throws LockHeld. */
async function alone({ parts }: Context, warehouse: Warehouse): Promise<void> {
  const client = await warehouse.pool.connect();
  // The lock ends with its session, however this process ends.
  parts.keep(client, async (session) => session.release(true));
  const { rows } = await client.query<{ free: boolean }>(
    `select pg_try_advisory_lock(hashtext('tidemark demo')) as free`,
  );
  if (!rows[0]?.free)
    throw new LockHeld(
      'another demo is running in this home; wait for it, or set TIDEMARK_HOME to another directory',
    );
}

/** Empties the warehouse: rows of an earlier demo are of another company. */
async function empty(warehouse: Warehouse): Promise<void> {
  const { rows } = await warehouse.pool.query<{ name: string }>(
    'select quote_ident(nspname) as name from pg_namespace where nspname = any($1)',
    [[...pipelines, 'bi', 'ops']],
  );
  if (rows.length > 0)
    await warehouse.pool.query(`drop schema ${rows.map((row) => row.name).join(', ')} cascade`);
}

/** Writes the last page. Without `verbose` it and the lines of progress fit 80 lines of 80 columns. */
function show(out: Sink, facts: Facts, runs: Runs, verbose: boolean): void {
  const columns = verbose ? out.columns : Math.min(out.columns ?? 80, 80);
  const sheet = { columns, paint: out.paint.bind(out) };
  out.line(painted(out, verdict(facts)));
  for (const { title, always, sql, columns: heads, rows } of [whatRan(runs), ...sections(facts)]) {
    if (!always && !verbose) continue;
    out.line(`\n${out.paint('bold', title)}`);
    for (const line of verbose && sql ? sql.split('\n') : []) out.line(out.paint('dim', `  ${line}`));
    for (const line of table(heads, rows, sheet)) out.line(line);
  }
  if (!verbose) out.line('\nWith --verbose: every run, table, receipt and question, with its SQL.');
}

const painted = (out: Sink, { text, style }: ReturnType<typeof verdict>): string => out.paint(style, text);

const whatRan = (runs: Runs): Section => ({
  title: 'What ran',
  columns: [
    { title: 'RUN' },
    { title: 'WHAT' },
    { title: 'TOOK', align: 'right' },
    { title: 'REQUESTS', align: 'right' },
    { title: 'OUTCOME' },
  ],
  rows: runs.map(([what, report]) => [
    report.runId,
    what,
    duration(report.seconds),
    report.requests,
    outcomeOf(report),
  ]),
});

function outcomeOf(report: RunReport): string {
  const fetched = report.streams.reduce((sum, stream) => sum + stream.receipt.fetched, 0);
  const receipt = { expected: null, fetched, landed: fetched };
  return `${report.status.replaceAll('_', ' ')}: ${outcome({ ...report, receipt })}`;
}

/** Says how to look at the warehouse. `url`: its connection string, if it stays open. */
function goOn({ out }: Context, home: string, url: string | undefined, hasOther: boolean): void {
  const command = `  TIDEMARK_HOME=${quoted(shownPath(home))} npx tidemark`;
  out.line(`\n${out.paint('bold', 'Go on')}`);
  if (hasOther) out.line('  DATABASE_URL is set: remove it from the environment and .env for these.');
  out.line(url === undefined ? `${command} warehouse  # for psql and BI tools` : `  psql '${url}'`);
  out.line(`${command} status     # also: runs, streams`);
  out.line('  Your own sources: copy .env.example to .env, fill it in, and run npm start.');
}

/** The path as seen from here, if it is below the working directory. */
function shownPath(home: string): string {
  const below = path.relative(process.cwd(), home);
  return below === '' || below.startsWith('..') ? home : below;
}

/** A word for a shell. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
