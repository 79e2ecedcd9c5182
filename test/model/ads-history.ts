import type { Fault } from '../../simulators/shared/faults.ts';
import type { AdsOptions } from '../../simulators/spotify-ads/server.ts';
import { AccountsDoNotBalance, Interrupted, TidemarkError } from '../../src/core/errors.ts';
import type { RunReport } from '../../src/core/run.ts';
import { adsDifferences, type Beside } from '../support/ads-compared.ts';
import { adsBooks, beforeOf } from '../support/ads-history.ts';
import { insightDifferences } from '../support/ads-insights.ts';
import { type Picture, pictureOf } from '../support/ads-picture.ts';
import { type AdsRig, openAdsRig } from '../support/ads-rig.ts';
import type { Event, RunKind, Step } from './ads-steps.ts';
import { type AdsWorld, adsWorldOf } from './ads-world.ts';
import { books, checkpoints, expectThat, same, watermarks } from './checks.ts';
import { faults } from './faults.ts';

const day = 86_400_000;
const begin = new Date('2026-06-30T02:00:00Z');
/**
 * The weekly restatement reaches back from the end of the longest history and its quiet days to the first day: a rename changes each row of a
 * report that knows names only, and a day out of reach keeps the names that it was told by.
 */
const reread = [2, 46, 46] as const;
const start = new Date(Math.floor(begin.getTime() / day) * day - 29 * day);
const platform = {
  accounts: 2,
  campaigns: 1,
  adSetsPerCampaign: 1,
  adsPerAdSet: 1,
  days: 29,
  now: begin,
  csv: { polls: 0 },
} as const satisfies AdsOptions;

/** What happened while histories were played: a test whose faults never fired has proved nothing. */
export const seen = new Map<string, number>();
const saw = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);

type Dialect = 'vendor' | 'contract';
type RunStep = Extract<Step, { readonly run: RunKind }>;

/** Plays a history against an ads platform and a warehouse of its own, checks what must hold after each step, and what must hold in the end. */
export async function play(steps: readonly Step[], dialect: Dialect): Promise<void> {
  const rig = await openAdsRig({ ...platform, dialect }, { start, restateDays: reread });
  try {
    const world = adsWorldOf(rig.platform);
    for (const [n, step] of steps.entries()) {
      if (!('change' in step)) await checked(`step ${n + 1}`, rig, world, dialect, step);
      else if (world.change(step.change)) saw(step.change.is);
      rig.platform.clock.advance(7_000);
    }
    await quiet(rig, world, dialect);
    same('the simulator failed', rig.platform.errors.map(String));
    same('shown to the storage', rig.platform.storage.leaked);
  } finally {
    await rig.close();
  }
}

const plain = (run: RunKind): RunStep => ({ run, page: 50, concurrency: 4, during: [] });
const window = { from: new Date(begin.getTime() - 10 * day), to: new Date(begin.getTime() - 4 * day) };

/** The platform is left in peace until its weekly restatement is due: at most two runs make the warehouse equal to it, a third writes nothing. */
async function quiet(rig: AdsRig, world: AdsWorld, dialect: Dialect): Promise<void> {
  world.calm();
  const { clock } = rig.platform;
  const [read] = await rig.rows<{ at: Date | null }>(
    `select greatest((select max(watermark) from ops.checkpoints where stream = 'report_hourly'),
       (select max(source_clock) from ops.walks where stream = 'report_hourly' and status = 'open')) as at`,
  );
  clock.advance(8 * day);
  const first = await checked('first quiet run', rig, world, dialect, plain('sync'));
  if (first?.status === 'succeeded' && !world.wasClosed()) {
    same('who heard it', await insightDifferences(rig.rows, rig.platform.state));
    saw('insights compared');
  }
  clock.advance(60_000);
  const last = await checked('second quiet run', rig, world, dialect, plain('sync'));
  expectThat(last?.status === 'succeeded', `the second quiet run ${last?.status}: ${last?.error?.message}`);
  // Hours further back than the nightly ones are restated each week: what was read since then, and is older, is as it was told then.
  const nightly = midnight(clock.now()).getTime() - reread[0] * day;
  const hours = new Date(Math.min(nightly, midnight(read?.at ?? new Date(0)).getTime()));
  same(
    'in the end',
    await adsDifferences(rig.rows, truthOf(rig, dialect, start, hours), notRead(rig, start, hours)),
  );
  const idle = await checked('a run with nothing to do', rig, world, dialect, plain('sync'));
  const { inserted, updated } = idle?.counts ?? { inserted: -1, updated: -1 };
  expectThat(
    inserted === 0 && updated === 0 && idle?.deleted === 0,
    `a run with nothing to do wrote: ${JSON.stringify(idle?.counts)}, ${idle?.deleted} deleted`,
  );
}

const midnight = (at: Date): Date => new Date(Math.floor(at.getTime() / day) * day);

/** What the platform tells of everything since a day, and since another of hours. */
const truthOf = (rig: AdsRig, dialect: Dialect, from: Date, hoursFrom: Date): Picture =>
  pictureOf(rig.platform.state, { from, hoursFrom, history: dialect === 'vendor' });

/** Rows of days and hours before these, and snapshots of other days: they stay as they are. */
function notRead(rig: AdsRig, from: Date, hoursFrom: Date): Beside {
  const now = rig.platform.clock.now();
  const today = now.toISOString().slice(0, 10);
  const oldest = Math.max(hoursFrom.getTime(), midnight(now).getTime() - 13 * day);
  const hours = new Date(oldest).toISOString();
  const days = from.toISOString().slice(0, 10);
  return (table, row) =>
    (table === 'report_lifetime' && row.captured_on !== today) ||
    (table === 'report_hourly' && (row.hour_start ?? '') < hours) ||
    ((table === 'report_daily' || table === 'report_csv') && (row.day ?? '') < days);
}

/** One run with what happens meanwhile, and everything that must hold after any run, good or bad. */
async function checked(
  name: string,
  rig: AdsRig,
  world: AdsWorld,
  dialect: Dialect,
  step: RunStep,
): Promise<RunReport | undefined> {
  const { rows } = rig;
  const marks = await checkpoints(rows);
  const before = await beforeOf(rows);
  const { report, disturbed } = await run(rig, world, step);
  saw(`${step.run} ${report?.status ?? 'threw'}`);
  const [{ id = '0', stored = '' } = {}] = await rows<{ id: string; stored: string }>(
    'select run_id::text as id, status as stored from ops.runs order by run_id desc limit 1',
  );
  expectThat(stored !== 'running', `${name}: its row still says that it is running`);
  await books(name, rows, report, (stream, status) =>
    status === 'unavailable'
      ? ['change_history', 'target_names'].includes(stream) && dialect === 'contract'
      : status === 'forbidden' && world.wasClosed(),
  );
  await watermarks(name, rows, step.run, report, marks);
  same(`${name}: the histories`, await adsBooks(rows, before));
  await jobsOnce(name, rig);
  await onlyTheDead(name, rig, id);
  if (step.run === 'backfill') await onlyItsWindow(name, rig, id);
  else if (!disturbed && report?.status === 'succeeded') await equalSoFar(name, rig, dialect, report);
  return report;
}

/** A run that was green, and that nothing happened to, has all lists as they are, and the days of the nightly restatement. */
async function equalSoFar(name: string, rig: AdsRig, dialect: Dialect, report: RunReport): Promise<void> {
  const closed = report.streams.some(({ status }) => status === 'forbidden');
  if (closed) return;
  const since = new Date(midnight(rig.platform.clock.now()).getTime() - reread[0] * day);
  same(
    `${name}: it was green, and left`,
    await adsDifferences(rig.rows, truthOf(rig, dialect, since, since), notRead(rig, since, since)),
  );
  saw('compared at once');
}

async function run(
  rig: AdsRig,
  world: AdsWorld,
  step: RunStep,
): Promise<{ readonly report: RunReport | undefined; readonly disturbed: boolean }> {
  const { script, log, tokens, tokenUrl, storage } = rig.platform;
  const stop = new AbortController();
  let disturbed = false;
  script.clear();
  if (step.page < 50) script.at({ times: Number.POSITIVE_INFINITY, match: isList }, pagesOf(step.page));
  for (const event of step.during) plan(event);
  const how = {
    signal: stop.signal,
    settings: {
      concurrency: step.concurrency,
      credentials: {
        kind: 'refresh',
        clientId: tokens.clientId,
        clientSecret: { reveal: () => tokens.clientSecret },
        refreshToken: { reveal: () => tokens.refresh },
        tokenUrl,
      },
    },
  } as const;
  const made = storage.jobs.size;
  try {
    const report =
      step.run === 'backfill'
        ? await rig.backfill(window, how)
        : await rig.sync({ full: step.run === 'full' }, how);
    return { report, disturbed };
  } catch (error) {
    // A run may end badly, with a reason. It may not end by a defect.
    if (!(error instanceof TidemarkError) || error instanceof AccountsDoNotBalance) throw error;
    expectThat(
      step.during.length > 0,
      `nothing was done to it, and it threw ${error.name}: ${error.message}`,
    );
    return { report: undefined, disturbed };
  } finally {
    script.clear();
    if (storage.jobs.size > made)
      for (const name of ['cut', 'truncated']) Reflect.deleteProperty(storage.spoiling, name);
  }

  function plan(event: Event): void {
    const when = (later: number) =>
      'at' in event
        ? log.length + event.at + later
        : 'atList' in event
          ? { match: isList, nth: event.atList + later }
          : { endpoint: '/ad_accounts/{id}/aggregate_reports', nth: event.atReport + later };
    if ('change' in event)
      script.at(when(0), () => {
        disturbed = true;
        if (world.change(event.change)) saw(event.change.is);
      });
    else if ('stop' in event)
      script.at(when(0), () => {
        saw('stop');
        stop.abort(new Interrupted('stopped by the model'));
      });
    else {
      const [fault, times] = faults[event.fault];
      for (let i = 0; i < times; i++) script.at(when(i), () => saw(event.fault), fault);
    }
  }
}

const isList = ({
  endpoint,
  query,
}: {
  readonly endpoint: string;
  readonly query: Readonly<Record<string, string>>;
}) => query.limit !== undefined && !endpoint.endsWith('aggregate_reports');

/** The server gives fewer at once than it is asked for, and says so in `page_size`. */
const pagesOf = (size: number): Fault => ({
  name: `pages of ${size}`,
  call: (call) => {
    const query = new URLSearchParams(call.query);
    query.set('limit', String(Math.min(size, Number(query.get('limit')))));
    return { ...call, query };
  },
});

/** A report is asked for again only where the one before it came to nothing. */
async function jobsOnce(name: string, rig: AdsRig): Promise<void> {
  const jobs = await rig.rows<{ line: string; remote_id: string | null }>(
    `select 'slice ' || slice_id || ': ' || status || ', and another was made' as line, remote_id
     from (select *, lead(attempt) over (partition by slice_id order by attempt) as next from ops.jobs) j
     where next is not null and (status in ('submitted', 'ready') or status = 'creating' and remote_id is not null)
     union all select 'report ' || remote_id || ' is there twice', remote_id from ops.jobs
     where remote_id is not null group by remote_id having count(*) > 1`,
  );
  same(
    `${name}: reports`,
    jobs.map(({ line }) => line),
  );
}

/** Nothing is buried that is alive: what a list did not show for a moment was only passed by (guarantee G10). */
async function onlyTheDead(name: string, rig: AdsRig, runId: string): Promise<void> {
  const tables = [
    'campaigns',
    'ad_sets',
    'ads',
    'assets',
    'audiences',
    'campaign_drafts',
    'ad_set_drafts',
    'ad_drafts',
  ];
  const buried = await rig.rows<{ from: string; id: string }>(
    tables
      .map(
        (table) =>
          `select '${table}' as "from", id from ads.${table} where _run_id = $1 and _deleted_at is not null`,
      )
      .join(' union all '),
    [runId],
  );
  const { state } = rig.platform;
  const isAlive = ({ from, id }: { readonly from: string; readonly id: string }): boolean =>
    from.endsWith('_drafts') ? state.drafts.has(id) : state.find(id) !== undefined;
  for (const one of buried) saw(`tombstone of ${one.from}`);
  same(
    `${name}: buried, and alive`,
    buried.filter(isAlive).map(({ from, id }) => `${from} ${id}`),
  );
}

/** A backfill touches nothing outside its window. */
async function onlyItsWindow(name: string, rig: AdsRig, runId: string): Promise<void> {
  const outside = await rig.rows<{ line: string }>(
    `select 'day ' || day as line from ads.report_daily where _run_id = $1 and not (day >= $2::date and day < $3::date + 1)
     union all select 'day ' || day from ads.report_csv where _run_id = $1 and not (day >= $2::date and day < $3::date + 1)
     union all select 'hour ' || hour_start from ads.report_hourly
       where _run_id = $1 and not (hour_start >= date_trunc('day', $2::timestamptz) and hour_start < date_trunc('day', $3::timestamptz) + interval '1 day')
     union all select 'campaign ' || id from ads.campaigns where _run_id = $1
     union all select 'ad ' || id from ads.ads where _run_id = $1`,
    [runId, window.from.toISOString(), window.to.toISOString()],
  );
  same(
    `${name}: the backfill wrote outside its window`,
    outside.map(({ line }) => line),
  );
}
