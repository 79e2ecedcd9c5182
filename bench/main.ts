import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { withFigures } from '../docs/figures.ts';
import { shippedTables } from '../src/connectors/index.ts';
import type { RunReport } from '../src/core/run.ts';
import { openEmbedded } from '../src/embedded/embedded.ts';
import { connect, type Warehouse } from '../src/warehouse/connect.ts';
import { migrate } from '../src/warehouse/migrate.ts';
import { adsParts, measureAds } from './ads.ts';
import { against } from './against.ts';
import { measureEstimates } from './estimates.ts';
import { measureLimit } from './limit.ts';
import { measureMillion, millionHead } from './million.ts';
import { measureNights } from './nights.ts';
import { type Cost, measure, service } from './processes.ts';
import { dump, rawCopy, tablesOf } from './raw-copy.ts';
import { type Figure, report } from './report.ts';
import { measureRequests } from './requests.ts';
import { median } from './statistics.ts';
import { measureViews, viewsHead } from './views.ts';

/** The default of TRACKER_CONCURRENCY. */
const concurrency = 8;

/**
 * Speed as ratios within one run: machines differ, ratios less so. Writes docs/performance.md. `npm run bench -- a d` runs these parts only
 * ((b), (c) and (d) are measured against (a), so they run it, too) and prints them. Part (i) is a section of its own, which is also written when
 * it runs alone. Part (k) takes an hour and runs only alone; it writes its section of docs/scaling.md.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    issues: { type: 'string', default: '100000' },
    small: { type: 'string', default: '20000' },
    large: { type: 'string', default: '200000' },
    /** Of the limited source of (h). */
    pages: { type: 'string', default: '1200' },
    /** Of the sites of (k), in this order. */
    sizes: { type: 'string', default: '100000,400000,1000000' },
    /** Changes an issue has in (k). */
    history: { type: 'string', default: '6' },
    /** Repetitions of what is timed; medians are reported. */
    times: { type: 'string', default: '3' },
    /** Print only, leave docs/performance.md alone. */
    dry: { type: 'boolean', default: false },
    /** Compare with this commit, in turns, instead. */
    against: { type: 'string' },
  },
});
const parts = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm'] as const;
const unknown = positionals.filter((part) => !parts.some((one) => one === part));
if (unknown.length > 0) throw new Error(`no part ${unknown.join(', ')}: there are ${parts.join(', ')}`);
const runs = (...some: readonly (typeof parts)[number][]): boolean =>
  positionals.length === 0 || some.some((part) => positionals.includes(part));
const issues = Number(values.issues);
const times = Number(values.times);
const pageSize = 100;

interface Address {
  readonly url: string;
  readonly email: string;
  readonly token: string;
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-bench-'));
// As root the server runs as somebody else, who must be able to pass through.
fs.chmodSync(folder, 0o711);
const server = await openEmbedded(path.join(folder, 'home'));
const admin = await connect(server.url);
// No checkpoint of the server's own accord: the pages that are written first behind one go into the WAL whole, whoever's turn it is.
await admin.pool.query("alter system set checkpoint_timeout = '1d'");
await admin.pool.query("alter system set max_wal_size = '64GB'");
await admin.pool.query('select pg_reload_conf()');

async function freshDatabase(name: string): Promise<{ readonly url: string; readonly warehouse: Warehouse }> {
  await admin.pool.query(`drop database if exists ${name} with (force)`);
  await admin.pool.query(`create database ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  // Without time limits: what reads a dump would keep its timer, and this process, for minutes.
  const warehouse = await connect(url.href, { statementTimeout: 0 });
  await migrate(warehouse, shippedTables);
  await warehouse.pool.query('checkpoint').catch(() => undefined);
  return { url: url.href, warehouse };
}

const walBytes = async (): Promise<number> => {
  const { rows } = await admin.pool.query<{ n: string }>(
    "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as n",
  );
  return Number(rows[0]?.n);
};

/** What the server still does for the rows of an earlier run (autovacuum, hint bits) is done now: the next run, in whichever database, has its own work only. */
async function settled({ pool }: Warehouse): Promise<void> {
  await pool.query('vacuum');
}

/** Takes away the triggers that keep stored facts. */
async function withoutFacts({ pool }: Warehouse): Promise<void> {
  const { rows } = await pool.query<{ table: string }>(
    `select distinct tgrelid::regclass::text as table from pg_trigger where tgname like 'keep_facts%'`,
  );
  for (const { table } of rows) await pool.query(`alter table ${table} disable trigger user`);
}

interface Synced {
  readonly cost: Cost;
  /** Seconds of the stream `issues`, without the program's start. */
  readonly seconds: number;
  readonly run: RunReport;
  readonly wal: number;
}

async function syncOnce(url: string, at: Address, ...flags: readonly string[]): Promise<Synced> {
  const before = await walBytes();
  const cost = await measure(['src/tidemark.js', 'sync', '--json', '--stream', 'issues', ...flags], {
    DATABASE_URL: url,
    TRACKER_BASE_URL: at.url,
    TRACKER_EMAIL: at.email,
    TRACKER_API_TOKEN: at.token,
    TRACKER_CONCURRENCY: String(concurrency),
  });
  if (cost.code !== 0) throw new Error(`sync ended with ${cost.code}: ${cost.err}`);
  const last = JSON.parse(cost.out.trim().split('\n').at(-1) ?? '{}') as { report: RunReport };
  const stream = last.report.streams.find((one) => one.stream === 'issues');
  return { cost, seconds: stream?.seconds ?? Number.NaN, run: last.report, wal: (await walBytes()) - before };
}

/** Every measure reads answers that the simulator has given before: it is the reader that is measured. */
const httpOnce = async (at: Address, ...since: readonly string[]): Promise<number> => {
  const cost = await measure(
    ['bench/http-only.ts', at.url, at.email, at.token, String(concurrency), ...since],
    {},
  );
  if (cost.code !== 0) throw new Error(cost.err);
  return (JSON.parse(cost.out) as { seconds: number }).seconds;
};

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const figures: Figure[] = [];
const firsts: number[] = [];
/** First syncs that store no facts. */
const plain: number[] = [];
const raws: number[] = [];
const https: number[] = [];
const peaks: number[] = [];
let first: Synced | undefined;
let again = Number.NaN;
let touched = Number.NaN;
let remote = Number.NaN;
let tables: readonly { readonly name: string; readonly rows: number }[] = [];

/** (a), and (b) and (c) on what it has loaded. */
async function fromNearby(): Promise<void> {
  say(`tracker with ${issues} issues …`);
  const tracker = await service<Address>('bench/simulator.ts', [String(issues), '0']);
  await httpOnce(tracker.ready);
  let database = await freshDatabase('bench');
  first = await syncOnce(database.url, tracker.ready);
  const dumped = path.join(folder, 'dump');
  fs.mkdirSync(dumped);
  await dump(database.warehouse.pool, 'tracker', dumped);
  tables = await tablesOf(database.warehouse.pool, 'tracker');
  for (let i = 0; i < times; i += 1) {
    const raw = await freshDatabase('bench_raw');
    raws.push(await rawCopy(raw.warehouse.pool, 'tracker', dumped));
    await settled(raw.warehouse);
    await raw.warehouse.close();
    https.push(await httpOnce(tracker.ready));
    const bare = await freshDatabase('bench_plain');
    await withoutFacts(bare.warehouse);
    plain.push((await syncOnce(bare.url, tracker.ready)).seconds);
    await bare.warehouse.close();
    await database.warehouse.close();
    database = await freshDatabase('bench');
    first = await syncOnce(database.url, tracker.ready);
    firsts.push(first.seconds);
    say(
      `round ${i + 1}: first sync ${first.seconds.toFixed(2)} s, without facts ${plain.at(-1)?.toFixed(2)} s, raw \\copy ${raws.at(-1)?.toFixed(2)} s, HTTP and parse ${https.at(-1)?.toFixed(2)} s`,
    );
  }
  const a = median(firsts);
  figures.push({
    name: '(a) first sync to raw `\\copy` of the same rows',
    value: median(raws) / a,
    goal: 'at least 0.45',
    ok: median(raws) / a >= 0.45,
  });
  figures.push({
    name: '(a) first sync to HTTP plus parse alone',
    value: median(https) / a,
    goal: 'at least 0.75',
    ok: median(https) / a >= 0.75,
  });
  figures.push({
    name: '(a) its time to that of one that stores no facts',
    value: a / median(plain),
    goal: 'at most 1.15',
    ok: a <= median(plain) * 1.15,
  });
  await settled(database.warehouse);
  if (runs('b')) await nothingChanged(database.url, tracker.ready, a, first.wal);
  if (runs('c')) {
    const rounds: Synced[] = [];
    for (let i = 0; i < times; i += 1) {
      const before = new Date();
      await tracker.ask({ touch: Math.floor(issues / 100) });
      await httpOnce(tracker.ready, before.toISOString());
      rounds.push(await syncOnce(database.url, tracker.ready));
    }
    littleChanged(rounds, a);
  }
  await database.warehouse.close();
  await tracker.stop();
}

async function nothingChanged(url: string, at: Address, a: number, wal: number): Promise<void> {
  const rounds: Synced[] = [];
  for (let i = 0; i < times; i += 1) rounds.push(await syncOnce(url, at, '--full'));
  again = median(rounds.map(({ seconds }) => seconds));
  const written = median(rounds.map((round) => round.wal));
  figures.push({
    name: '(b) the same again, nothing changed: speed against (a)',
    value: a / again,
    goal: 'at least 1',
    ok: again <= a,
  });
  figures.push({
    name: '(b) its WAL against that of (a)',
    value: written / wal,
    goal: 'under 0.01',
    ok: written < wal / 100,
  });
}

function littleChanged(rounds: readonly Synced[], a: number): void {
  touched = median(rounds.map(({ seconds }) => seconds));
  figures.push({
    name: `(c) after 1 % changed (${rounds[0]?.run.counts.updated} rows): time against (a)`,
    value: touched / a,
    goal: 'at most 0.05',
    ok: touched <= a * 0.05,
  });
  const requests = median(rounds.map(({ run }) => run.requests));
  figures.push({ name: '(c) its requests', value: requests, goal: 'at most 12', ok: requests <= 12 });
  const whole = median(rounds.map(({ cost }) => cost.seconds));
  figures.push({
    name: '(c) the whole command, seconds',
    value: whole,
    goal: 'at most 0.8',
    ok: whole <= 0.8,
  });
}

async function fromAfar(): Promise<void> {
  say('the same with 50 ms a request …');
  const far = await service<Address>('bench/simulator.ts', [String(issues), '50']);
  await httpOnce(far.ready);
  const rounds: number[] = [];
  for (let i = 0; i < times; i += 1) {
    const slow = await freshDatabase('bench');
    rounds.push((await syncOnce(slow.url, far.ready)).seconds);
    await slow.warehouse.close();
  }
  remote = median(rounds);
  await far.stop();
  const ceiling = (concurrency * pageSize) / 0.05;
  const smaller = Math.min(issues / median(firsts), ceiling);
  figures.push({
    name: '(d) with 50 ms latency: against the smaller of (a) and the network’s ceiling',
    value: issues / remote / smaller,
    goal: 'at least 0.8',
    ok: issues / remote >= 0.8 * smaller,
  });
}

/** A long run has more moments to be the largest one than a short run: the short one is made until it has read as much, and its largest counts. */
async function memory(): Promise<void> {
  for (const size of [Number(values.small), Number(values.large)]) {
    const rounds = Math.ceil(Number(values.large) / size);
    say(`peak memory at ${size} issues …`);
    const some = await service<Address>('bench/simulator.ts', [String(size), '0']);
    let peak = 0;
    for (let i = 0; i < rounds; i += 1) {
      const target = await freshDatabase('bench');
      peak = Math.max(peak, (await syncOnce(target.url, some.ready)).cost.peakMb);
      await target.warehouse.close();
    }
    peaks.push(peak);
    await some.stop();
  }
  const [small = 0, large = 0] = peaks;
  figures.push({
    name: `(e) peak memory at ${values.large} issues, MB`,
    value: large,
    goal: 'at most 256',
    ok: large <= 256,
  });
  figures.push({
    name: `(e) peak memory at ${values.large} against ${values.small} issues`,
    value: large / small,
    goal: 'at most 1.1',
    ok: large <= small * 1.1,
  });
}

async function end(): Promise<void> {
  await admin.close();
  await server.release();
  fs.rmSync(folder, { recursive: true, force: true });
}

if (values.against !== undefined) {
  await admin.pool.query('alter system set autovacuum = off');
  await admin.pool.query('select pg_reload_conf()');
  const emptyDatabase = async (name: string): Promise<string> => {
    await admin.pool.query(`drop database if exists ${name} with (force)`);
    await admin.pool.query(`create database ${name}`);
    return Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
  };
  await against(values.against, {
    folder,
    times,
    issues,
    concurrency,
    letters: positionals,
    emptyDatabase,
    say,
  });
  await end();
  process.exit();
}

if (positionals.join() === 'k') {
  // As a user's server has them: a load of this size goes through many checkpoints.
  await admin.pool.query('alter system reset all');
  await admin.pool.query('select pg_reload_conf()');
  const text = await measureMillion(values.sizes.split(',').map(Number), Number(values.history), {
    freshDatabase,
    say,
  });
  const scaling = path.resolve(import.meta.dirname, '../docs/scaling.md');
  const [rest = ''] = fs.readFileSync(scaling, 'utf8').split(millionHead);
  console.log(text);
  if (!values.dry) fs.writeFileSync(scaling, `${rest.trimEnd()}\n\n${text}`);
  await end();
  process.exit();
}
if (runs('a', 'b', 'c', 'd')) await fromNearby();
if (runs('d')) await fromAfar();
if (runs('e')) await memory();
for (const part of adsParts)
  if (runs(part.letter))
    figures.push(...(await measureAds(part, { folder, times, freshDatabase, settled, walBytes, say })));
if (runs('h')) figures.push(...(await measureLimit(Number(values.pages), { freshDatabase, say })));
if (runs('j')) figures.push(...(await measureRequests(issues, { freshDatabase, say })));
if (runs('l')) figures.push(...(await measureEstimates({ freshDatabase, say })));
if (runs('m')) figures.push(...(await measureNights({ folder, times, say })));
const views = runs('i') ? await measureViews({ freshDatabase, say }) : '';
const page = path.resolve(import.meta.dirname, '../docs/performance.md');
/** Part (i) alone leaves the rest of the page as it is. */
const onlyViews = positionals.join() === 'i';
const rest = onlyViews
  ? fs.readFileSync(page, 'utf8').split(`${viewsHead}\n`)[0]
  : report(figures, {
      issues,
      times,
      concurrency,
      firsts,
      raws,
      https,
      again,
      touched,
      remote,
      peaks,
      tables,
      cpu: first?.cost.cpu ?? Number.NaN,
    });
const text = `${rest?.trimEnd()}\n\n${views}`;
console.log(text);
if (!values.dry && (positionals.length === 0 || onlyViews)) {
  fs.writeFileSync(page, text);
  const readme = path.resolve(import.meta.dirname, '../README.md');
  fs.writeFileSync(readme, withFigures(fs.readFileSync(readme, 'utf8'), text));
}
await end();
