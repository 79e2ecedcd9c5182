/** `demo` and `start`: a simulated company, a warehouse for it, two syncs, a reconcile, and a summary. */
import path from 'node:path';
import { checkSize, pipelines, startCompany } from '../../simulators/demo/company.ts';
import { type Facts, isTrue } from '../../simulators/demo/facts.ts';
import { goOn, pages, verdict } from '../../simulators/demo/summary.ts';
import { readConfig } from '../config/config.ts';
import { connectors } from '../connectors/index.ts';
import { LockHeld } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import type { Observe, RunReport } from '../core/run.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import { reconcile } from '../engine/reconcile/reconcile.ts';
import { sync } from '../engine/sync.ts';
import type { Context, Verb } from './context.ts';
import { codeOfReport, exit } from './exit.ts';
import { grid, toJson } from './output.ts';
import { configured } from './pipelines.ts';
import { openProgress, outcome } from './progress.ts';
import { sync as syncAll } from './run.ts';
import { applySteps } from './schema.ts';
import { untilStopped } from './signals.ts';
import { withDeps } from './sources.ts';

interface DemoOptions {
  readonly seed: number;
  readonly issues: number;
  readonly keep?: boolean;
}

/** What `npm start` does: a sync of everything configured; where nothing is, the demo. */
export const start: Verb = async (context) =>
  configured(await context.parts.config()).length > 0
    ? syncAll(context, { pipeline: [] })
    : demo(context, { seed: 7, issues: 5000 });

/** Exit code 1 if the warehouse does not equal the sources at the end. */
export const demo: Verb<DemoOptions> = async (context, { seed, issues, keep = false }) => {
  checkSize(issues);
  const { out, err, say, json, quiet, verbose, parts, received } = context;
  say(err.paint('bold', `A simulated company with ${plural(issues, 'issue')}, two syncs and a reconcile.`));
  const { databaseUrl, home: parent } = await parts.config();
  const home = path.join(parent, 'demo');
  const { url, warehouse } = await emptyWarehouse(context, home);
  say(`warehouse: ${warehouse.address}, data in ${shownPath(home)}`);
  const company = parts.keep(await startCompany(seed, issues), (part) => part.close());
  for (const [name, at] of verbose ? company.urls : []) say(`${name}: ${at}, seed ${seed}`);
  // No .env is read: the company is all that is configured.
  const config = readConfig({ ...company.environment }, path.join(import.meta.dirname, 'none'), connectors);
  const instead = { config, warehouse: async () => warehouse };
  const runs: { what: string; report: RunReport }[] = [];
  const step = async (
    title: string,
    names: readonly string[],
    work: (deps: RunDeps) => Promise<RunReport>,
  ) => {
    say(err.paint('bold', title));
    for (const pipeline of names) {
      const progress = await openProgress(
        { ...context, quiet: quiet || json, json: false },
        { brief: !verbose },
      );
      const observe: Observe = (event) => {
        if (event.type !== 'note' || event.level === 'warn') progress.observe(event);
      };
      const quietly = { observe, say: () => undefined };
      const report = await withDeps(context, pipeline, quietly, work, instead).finally(progress.end);
      runs.push({ what: `${title.slice(3)} (${pipeline})`, report });
    }
  };
  await step('1. first sync: everything', pipelines, (deps) => sync(deps, {}));
  const first = runs.map(({ report }) => report);
  const changes = company.change();
  say(`Meanwhile at the company: ${plural(changes.length, 'change')}`);
  for (const { what } of verbose ? changes : []) say(`  ${what}`);
  await step('2. second sync: what changed', pipelines, (deps) => sync(deps, {}));
  await step('3. reconcile: what is gone', ['tracker'], (deps) => reconcile(deps, {}));

  const facts = await company.facts(warehouse.pool, first, changes);
  const shown = { url: keep ? url : undefined, home: shownPath(home), hasOther: databaseUrl !== undefined };
  if (json) out.line(toJson({ runs, ...facts, url, home }, 2));
  else show(context, facts, runs, shown);
  if (keep) await untilStopped(context.signal);
  const bad = runs.map(({ report }) => codeOfReport(report, received())).find((code) => code !== exit.ok);
  return bad ?? (isTrue(facts) ? exit.ok : exit.failed);
};

interface Shown {
  /** Connection string of a warehouse that stays open. */
  readonly url: string | undefined;
  readonly home: string;
  /** DATABASE_URL is set. */
  readonly hasOther: boolean;
}

function show(
  { out, say, quiet, verbose }: Context,
  facts: Facts,
  runs: readonly { readonly what: string; readonly report: RunReport }[],
  { home, url, hasOther }: Shown,
): void {
  const paper = { paint: out.paint, columns: verbose ? out.columns : Math.min(out.columns ?? 80, 80) };
  const draw: Draw = (titles, rows) => grid(titles, rows, paper);
  const ran = runs.map((run) => ({ ...run, outcome: outcomeText(run.report) }));
  const { style, text } = verdict(facts);
  say('');
  out.line(out.paint(style, text));
  for (const line of pages(facts, ran, { verbose, draw, paint: out.paint })) out.line(line);
  for (const line of quiet ? [] : goOn(home, url, hasOther)) out.line(line);
}

type Draw = Parameters<typeof pages>[2]['draw'];

function outcomeText(report: RunReport): string {
  const fetched = report.streams.reduce((sum, { receipt }) => sum + receipt.fetched, 0);
  return `${report.status.replaceAll('_', ' ')}: ${outcome({ ...report, receipt: { fetched } })}`;
}

/** Starts the demo's own warehouse, with the current schema and no rows. Throws LockHeld. */
async function emptyWarehouse({ parts, signal }: Context, home: string) {
  const embedded = await parts.embeddedIn(home);
  const warehouse = await parts.connected(embedded.own, 8);
  // One demo at a time, because a demo empties the warehouse. The lock ends with its session.
  const lock = parts.keep(await warehouse.pool.connect(), async (session) => session.release(true));
  const { rows } = await lock.query<{ free: boolean }>(
    `select pg_try_advisory_lock(hashtext('tidemark demo')) as free`,
  );
  if (!rows[0]?.free)
    throw new LockHeld(
      'another demo is running in this home; wait for it, or set TIDEMARK_HOME to another directory',
    );
  const schemas = await lock.query<{ name: string }>(
    'select quote_ident(nspname) as name from pg_namespace where nspname = any($1)',
    [[...pipelines, 'bi', 'ops']],
  );
  for (const { name } of schemas.rows) await lock.query(`drop schema ${name} cascade`);
  await applySteps(warehouse, signal);
  return { url: embedded.url, warehouse };
}

/** Relative, if it is below the working directory. */
function shownPath(home: string): string {
  const below = path.relative(process.cwd(), home);
  return below === '' || below.startsWith('..') ? home : below;
}
