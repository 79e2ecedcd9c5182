import path from 'node:path';
import { type Config, readConfig } from '../../config/config.ts';
import { LockHeld, Misconfigured } from '../../core/errors.ts';
import type { RunEvent, RunReport } from '../../core/run.ts';
import type { RunDeps } from '../../engine/context/deps.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import type { Context, Verb } from '../context.ts';
import { advertise } from '../demo/ads-changes.ts';
import { fewestIssues, happen } from '../demo/changes.ts';
import { orchestrate } from '../demo/engine-changes.ts';
import { askFacts, isTrue } from '../demo/facts.ts';
import { show } from '../demo/show.ts';
import { codeOfReport, exit } from '../exit.ts';
import { progress } from '../progress/choose.ts';
import { toJson } from '../progress/json.ts';
import { settingsOf } from '../settings.ts';
import { plural } from '../text.ts';
import { untilStopped } from '../until.ts';
import { withWaiting } from '../waiting.ts';

/**
 * Everything at once, with nothing set up: a simulated company, a warehouse of its own (emptied first), a sync, changes at the source, a
 * second sync, a reconciliation, and what came of it. Exit code 1 if the warehouse does not equal the source at the end.
 */
export const demo: Verb<{
  readonly seed: number;
  readonly issues: number;
  readonly keep?: boolean | undefined;
}> = async (context, { seed, issues, keep }) => {
  if (issues < fewestIssues)
    throw new Misconfigured(`the demo needs at least ${fewestIssues} issues, not ${issues}`);
  const { out, err, json, quiet, parts, signal } = context;
  const say = (text: string) => (quiet || json ? undefined : err.line(text));
  const step = (text: string) => say(err.paint('bold', text));
  step(
    `A simulated company with ${plural(issues, 'issue')}, its advertising and its nightly jobs, a warehouse of its own, two syncs and a reconciliation.`,
  );

  const home = path.join((await parts.config()).home, 'demo');
  const embedded = await parts.embeddedIn(home);
  const warehouse = await parts.connected(embedded.own, 8);
  await alone(context, warehouse);
  await empty(warehouse);
  const { migrate } = await import('../../warehouse/migrate.ts');
  await migrate(warehouse, { signal });
  say(`warehouse: ${warehouse.address}, data in ${home}`);

  const { startTracker } = await import('../../../simulators/jira/server.ts');
  // At the beginning of today: the same seed gives the same company all day, and its last sprint is this week's.
  const now = new Date(new Date().setUTCHours(0, 0, 0, 0));
  const { people, advertising } = issues < 1000 ? small : middling;
  const tracker = parts.keep(await startTracker({ seed, issues, now, ...people }), (part) => part.close());
  say(`tracker:   ${tracker.url}, seed ${seed}`);
  const { startAds } = await import('../../../simulators/spotify-ads/server.ts');
  const platform = parts.keep(await startAds({ seed, now, ...advertising }), (part) => part.close());
  say(`ads:       ${platform.url}, seed ${seed}`);
  const { startWorkflow } = await import('../../../simulators/dagu/server.ts');
  const { inhabit } = await import('../../../simulators/dagu/company.ts');
  // The vendor's API tells of weeks of runs; the contract's, of the current one.
  const engine = parts.keep(await startWorkflow({ now, dialect: 'dagu-v2' }), (part) => part.close());
  const jobs = inhabit(engine, { seed });
  say(`workflow:  ${engine.url}, seed ${seed}`);
  const config = configFor({
    TRACKER_BASE_URL: tracker.url,
    TRACKER_EMAIL: tracker.email,
    TRACKER_API_TOKEN: tracker.token,
    ADS_BASE_URL: platform.url,
    ADS_ACCESS_TOKEN: platform.tokens.token,
    ADS_ACCOUNT_IDS: [...platform.state.accounts.keys()].join(','),
    ADS_REPORT_HOSTS: new URL(platform.storage.origin).host,
    // Nobody else uses this platform.
    ADS_REQUESTS_PER_SECOND: '0',
    ADS_REPORT_REQUESTS_PER_SECOND: '0',
    ADS_START: new Date(now.getTime() - advertising.days * 86_400_000).toISOString().slice(0, 10),
    WORKFLOW_BASE_URL: engine.url,
  });

  const { sync } = await import('../../engine/sync.ts');
  const { reconcile } = await import('../../engine/reconcile/reconcile.ts');
  const runs: (readonly [string, RunReport])[] = [];
  const run = async (
    what: string,
    pipelines: readonly string[],
    work: (deps: RunDeps) => Promise<RunReport>,
  ): Promise<readonly RunReport[]> => {
    step(`\n${what}`);
    const reports: RunReport[] = [];
    for (const pipeline of pipelines) {
      const report = await watched(context, pipeline, config, warehouse, work);
      runs.push([`${what.replace(/^\d+\. /, '')} (${pipeline})`, report]);
      reports.push(report);
    }
    return reports;
  };
  const all = ['tracker', 'ads', 'workflow'];
  const first = await run('1. first sync: everything', all, (deps) => sync(deps, {}));
  const changes = [...happen(tracker), ...advertise(platform), ...orchestrate(engine, jobs)];
  say('\nMeanwhile at the company');
  for (const { what } of changes) say(`  ${what}`);
  await run('2. second sync: what changed', all, (deps) => sync(deps, {}));
  await run('3. reconcile: what is gone', ['tracker'], (deps) => reconcile(deps, {}));

  const facts = await askFacts(warehouse.pool, first, changes, {
    tracker: tracker.tally(),
    ads: platform.state,
    workflow: engine.truth(),
  });
  say('');
  if (json)
    out.line(
      toJson(
        { runs: runs.map(([what, report]) => ({ what, report })), ...facts, url: embedded.url, home },
        2,
      ),
    );
  else show(out, facts, runs);
  if (!quiet && !json)
    goOn(context, home, embedded.url, keep === true, (await parts.config()).databaseUrl !== undefined);
  if (keep) await untilStopped(signal);
  const failed = runs
    .map(([, report]) => codeOfReport(report, context.received()))
    .find((code) => code !== exit.ok);
  return failed ?? (isTrue(facts) ? exit.ok : exit.failed);
};

/** The company that a user sees; its two advertisers are small enough to be read in seconds. */
const middling = {
  people: {},
  advertising: {
    accounts: 2,
    campaigns: 4,
    adSetsPerCampaign: 2,
    adsPerAdSet: 3,
    days: 60,
    csv: { polls: 0 },
  },
};

/** A company in proportion to few issues. */
const small = {
  people: { projects: 3, users: 30, years: 1 },
  advertising: { ...middling.advertising, campaigns: 2, adSetsPerCampaign: 1, adsPerAdSet: 2, days: 20 },
};

/** The defaults a user gets, read from these variables and from no `.env`. */
const configFor = (variables: NodeJS.ProcessEnv): Config =>
  readConfig(variables, path.join(import.meta.dirname, 'no-such-directory'));

/** One run against a simulated source, with its progress. */
async function watched(
  context: Context,
  pipeline: string,
  config: Config,
  warehouse: Warehouse,
  work: (deps: RunDeps) => Promise<RunReport>,
): Promise<RunReport> {
  const shown = progress({ ...context, quiet: context.quiet || context.json, json: false });
  const told = withWaiting((event) => {
    // What kind of source it is has been told with its address.
    if (event.type !== 'note' || event.level === 'warn') shown.observe(withoutReason(event));
  });
  try {
    return await work({
      warehouse,
      source: await context.parts.source(pipeline, told, config),
      observe: told.observe,
      signal: context.signal,
      version: context.version,
      trigger: 'manual',
      ...settingsOf(config, pipeline),
    });
  } finally {
    shown.end();
  }
}

/** That a simulated source has not what the contract does not promise is said in a word; `tidemark streams` says why. */
function withoutReason(event: RunEvent): RunEvent {
  if (event.type !== 'stream.finished' || event.report.status !== 'unavailable') return event;
  const { reason: _, ...report } = event.report;
  return { ...event, report };
}

/** One demo at a time in a home: the next one empties the warehouse. Throws LockHeld. */
async function alone({ parts }: Context, warehouse: Warehouse): Promise<void> {
  const client = await warehouse.pool.connect();
  // The session is kept to the end: the lock goes with it, however this process ends.
  parts.keep(client, async (session) => session.release(true));
  const { rows } = await client.query<{ free: boolean }>(
    `select pg_try_advisory_lock(hashtext('tidemark demo')) as free`,
  );
  if (!rows[0]?.free)
    throw new LockHeld(
      'another demo is running in this home; wait for it, or set TIDEMARK_HOME to another directory',
    );
}

/** A demo begins with nothing: its company is made anew each time, so rows of an earlier one would be of another company. */
async function empty(warehouse: Warehouse): Promise<void> {
  const { rows } = await warehouse.pool.query<{ name: string }>(
    `select quote_ident(nspname) as name from pg_namespace where nspname in ('tracker', 'ads', 'workflow', 'bi', 'ops')`,
  );
  if (rows.length > 0)
    await warehouse.pool.query(`drop schema ${rows.map((row) => row.name).join(', ')} cascade`);
}

function goOn({ out }: Context, home: string, url: string, open: boolean, hasOther: boolean): void {
  const shown = path.relative(process.cwd(), home);
  const prefix = `TIDEMARK_HOME=${quoted(shown === '' || shown.startsWith('..') ? home : shown)}`;
  out.line();
  out.line(out.paint('bold', 'Go on'));
  if (hasOther)
    out.line(
      '  DATABASE_URL is set, and would be asked instead: take it out of the environment and .env for these.',
    );
  if (open) out.line(`  psql '${url}'`);
  else {
    out.line(`  ${prefix} npx tidemark warehouse     opens this warehouse again; then, elsewhere:`);
    out.line(`  psql '${url}'`);
  }
  out.line(
    `  ${prefix} npx tidemark status        how fresh it is; also runs, streams, why tracker.issues KEY`,
  );
  out.line('  Your own sources: copy .env.example to .env, fill it in, and run npm start.');
}

/** A word for a shell. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
