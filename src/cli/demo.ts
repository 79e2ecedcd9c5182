/** `demo` and `start`: a simulated company, a warehouse for it, two syncs, a reconcile, and a summary. */
import path from 'node:path';
import { checkSize, pipelines } from '../../simulators/demo/company.ts';
import { isTrue } from '../../simulators/demo/facts.ts';
import { play } from '../../simulators/demo/story.ts';
import { lastPage } from '../../simulators/demo/summary.ts';
import { readConfig } from '../config/config.ts';
import { shippedPipelines } from '../config/pipeline-files.ts';
import type { Connector } from '../connectors/connector.ts';
import { LockHeld } from '../core/errors.ts';
import type { Observe, RunReport } from '../core/run.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import { applySteps, configured } from '../runs/pipelines.ts';
import { execute, withDeps } from '../runs/run.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { type Context, untilStopped, type Verb } from './context.ts';
import { codeOfReport, exit } from './exit.ts';
import { grid, print } from './output.ts';
import { openProgress } from './progress.ts';
import { outcomeOf, sync } from './run.ts';

/** What `npm start` does: a sync of everything configured; where nothing is, the demo. */
export const start: Verb = async (context) =>
  configured(await context.parts.config()).length > 0
    ? sync(context, { pipeline: [] })
    : demo(context, { seed: 7, issues: 5000 });

/** Exit code 1 if the warehouse does not equal the sources at the end. */
export const demo: Verb<{ seed: number; issues: number; keep?: boolean }> = async (context, options) => {
  const { out, err, say, quiet, verbose, parts } = context;
  checkSize(options.issues);
  const { databaseUrl, home: parent } = await parts.config();
  const home = path.join(parent, 'demo');
  const { url, warehouse } = await emptyWarehouse(context, home);
  say(`warehouse: ${warehouse.address}, data in ${shownPath(home)}`);
  const { runs, facts } = await play(options, {
    say,
    verbose,
    pool: warehouse.pool,
    keep: parts.keep,
    title: (text) => say(err.paint('bold', text)),
    run: (pipeline, does, environment) => runQuietly(context, warehouse, pipeline, does, environment),
  });
  const columns = verbose ? out.columns : Math.min(out.columns ?? 80, 80);
  const page = lastPage(facts, runs, {
    verbose,
    quiet,
    home: shownPath(home),
    url: options.keep ? url : undefined,
    hasOther: databaseUrl !== undefined,
    paint: out.paint,
    outcomeOf: ended,
    draw: (titles, rows) => grid(titles, rows, { paint: out.paint, columns }),
  });
  say('');
  print(context, { runs, ...facts, url, home }, page);
  if (options.keep) await untilStopped(context.signal);
  const codes = runs.map(({ report }) => codeOfReport(report, context.received()));
  return codes.find((code) => code !== exit.ok) ?? (isTrue(facts) ? exit.ok : exit.failed);
};

const ended = (report: RunReport): string => `${report.status.replaceAll('_', ' ')}: ${outcomeOf(report)}`;

/** One run of the demo. Of its notes only warnings are shown. */
async function runQuietly(
  context: Context,
  warehouse: Warehouse,
  pipeline: string,
  does: 'sync' | 'reconcile',
  environment: NodeJS.ProcessEnv,
): Promise<RunReport> {
  const { quiet, json, verbose } = context;
  const progress = await openProgress({ ...context, quiet: quiet || json, json: false }, { brief: !verbose });
  const observe: Observe = (event) => {
    if (event.type !== 'note' || event.level === 'warn') progress.observe(event);
  };
  // No .env is read: the company is all that is configured.
  const nowhere = path.join(import.meta.dirname, 'none');
  const config = readConfig(environment, nowhere, await shippedPipelines<Connector>());
  const parts = { config: async () => config, warehouse: async () => warehouse };
  const silent = { observe, say: () => undefined };
  const run = (deps: RunDeps) => execute({ pipeline, does }, deps);
  const running = withDeps({ ...context, parts }, pipeline, silent, run);
  const { report, failure } = await running.finally(progress.end);
  if (failure !== undefined) throw failure;
  return report;
}

/** Starts the demo's own warehouse, with the current schema and no rows. Throws LockHeld. */
async function emptyWarehouse({ parts, signal }: Context, home: string) {
  const embedded = await parts.embeddedIn(home);
  const warehouse = await parts.connected(embedded.own, { max: 8 });
  // One demo at a time, because a demo empties the warehouse. The lock ends with its session.
  const lock = parts.keep(await warehouse.pool.connect(), async (session) => session.release(true));
  const { rows } = await lock.query(`select where pg_try_advisory_lock(hashtext('tidemark demo'))`);
  if (rows.length === 0)
    throw new LockHeld('another demo is running in this home · wait for it, or set another TIDEMARK_HOME');
  for (const schema of [...pipelines, 'bi', 'bi_pii', 'ref', 'ops'])
    await lock.query(`drop schema if exists ${schema} cascade`);
  await applySteps(warehouse, { pipelines: [] }, { signal });
  return { url: embedded.url, warehouse };
}

/** Relative, if it is below the working directory. */
function shownPath(home: string): string {
  const below = path.relative(process.cwd(), home);
  return below === '' || below.startsWith('..') ? home : below;
}
