import fs from 'node:fs';
import os from 'node:os';
import type { RunReport } from '../src/core/run.ts';
import type { Warehouse } from '../src/warehouse/connect.ts';
import type { Lent } from './ads.ts';
import { cpuOfTree, measure, service } from './processes.ts';

interface Address {
  readonly url: string;
  readonly email: string;
  readonly token: string;
}

/** What one run cost. */
interface Ran {
  readonly seconds: number;
  /** CPU seconds of the program, and of Postgres meanwhile. */
  readonly program: number;
  readonly postgres: number;
  readonly peakMb: number;
  readonly requests: number;
  readonly written: number;
}

interface Size {
  readonly issues: number;
  readonly first: Ran;
  readonly nothing: Ran;
  readonly night: Ran;
  readonly reconcile: Ran;
  readonly disk: string;
}

/** The section of docs/scaling.md that this part writes; nothing follows it. */
export const millionHead = '## One million issues, measured';

/** How much of what it wrote the tracker keeps, MB: next to nothing, each page is made when it is asked for. */
const cacheMegabytes = 64;

const changed = 1000;

const whole = (count: number): string => Math.round(count).toLocaleString('en');
const perThousand = (seconds: number, issues: number): string => (seconds / (issues / 1000)).toFixed(3);

/** (k): a first sync of a site of each size, and the nights after it. The tracker makes each page when it is asked for it. */
export async function measureMillion(
  sizes: readonly number[],
  history: number,
  { freshDatabase, say }: Pick<Lent, 'freshDatabase' | 'say'>,
): Promise<string> {
  const measured: Size[] = [];
  for (const issues of sizes) {
    say(`a site of ${whole(issues)} issues …`);
    const args = [issues, 0, '', 'bulk', cacheMegabytes, history].map(String);
    const tracker = await service<Address>('bench/simulator.ts', args);
    const { url, warehouse } = await freshDatabase('bench_million');
    try {
      const postmaster = await postmasterOf(warehouse);
      const run = async (what: string, ...verb: readonly string[]): Promise<Ran> => {
        const ran = await runOnce(url, tracker.ready, postmaster, verb);
        say(`${what}: ${JSON.stringify(ran)}`);
        return ran;
      };
      const first = await run('first sync', 'sync');
      const nothing = await run('nothing changed', 'sync');
      await tracker.ask({ change: changed });
      const night = await run('night', 'sync');
      const reconcile = await run('reconcile', 'reconcile');
      measured.push({ issues, first, nothing, night, reconcile, disk: await diskOf(warehouse) });
      say(measured.at(-1)?.disk ?? '');
    } finally {
      await warehouse.close();
      await tracker.stop();
    }
  }
  return sectionOf(measured, history);
}

/** The parent of the process that serves this session. */
async function postmasterOf({ pool }: Warehouse): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const stat = fs.readFileSync(`/proc/${rows[0]?.pid}/stat`, 'utf8');
  return Number(stat.split(') ')[1]?.split(' ')[1]);
}

async function runOnce(url: string, at: Address, postmaster: number, verb: readonly string[]): Promise<Ran> {
  const before = cpuOfTree(postmaster);
  const cost = await measure(['src/tidemark.js', ...verb, 'tracker', '--json'], {
    DATABASE_URL: url,
    TRACKER_BASE_URL: at.url,
    TRACKER_EMAIL: at.email,
    TRACKER_API_TOKEN: at.token,
  });
  const last = JSON.parse(cost.out.trim().split('\n').at(-1) ?? '{}') as { report: RunReport };
  if (cost.code !== 0)
    throw new Error(`${verb.join(' ')} ended with ${cost.code}: ${cost.err}\n${cost.out.slice(-3000)}`);
  const { requests, counts } = last.report;
  return {
    seconds: cost.seconds,
    program: cost.cpu,
    postgres: cpuOfTree(postmaster) - before,
    peakMb: cost.peakMb,
    requests,
    written: counts.inserted + counts.updated,
  };
}

/** Rows of the table: the largest tables with their indexes, parts counted with their whole. */
async function diskOf({ pool }: Warehouse): Promise<string> {
  const { rows } = await pool.query<{
    name: string;
    rows: string;
    mb: number;
    indexes: number;
    all: number;
  }>(`
    select c.root::regclass::text as name, sum(greatest(c.reltuples, 0))::bigint as rows,
      round(sum(pg_total_relation_size(c.oid)) / 1e6)::int as mb, round(sum(pg_indexes_size(c.oid)) / 1e6)::int as indexes,
      round(pg_database_size(current_database()) / 1e6)::int as all
    from (select coalesce(pg_partition_root(oid), oid) as root, oid, reltuples from pg_class where relkind in ('r', 'm')) c
    group by c.root order by 3 desc limit 14`);
  const lines = rows.map(
    ({ name, rows: count, mb, indexes }) =>
      `| \`${name}\` | ${whole(Number(count))} | ${whole(mb)} | ${whole(indexes)} |`,
  );
  return [
    '| table | rows | MB | indexes of these |',
    '|---|--:|--:|--:|',
    ...lines,
    `| all | | ${whole(rows[0]?.all ?? 0)} | |`,
  ].join('\n');
}

const rowOf = (what: string, { seconds, program, postgres, peakMb, requests, written }: Ran): string =>
  `| ${[what, seconds.toFixed(1), program.toFixed(1), postgres.toFixed(1), `${peakMb.toFixed(0)} MB`, whole(requests), whole(written)].join(' | ')} |`;

function sectionOf(sizes: readonly Size[], history: number): string {
  const firsts = sizes.map(({ issues, first }) =>
    [
      whole(issues),
      perThousand(first.seconds, issues),
      perThousand(first.program, issues),
      perThousand(first.postgres, issues),
      `${first.peakMb.toFixed(0)} MB`,
      whole(first.requests),
    ].join(' | '),
  );
  const largest = sizes.at(-1);
  const runs = sizes.flatMap(({ issues, first, nothing, night, reconcile }) => [
    rowOf(`${whole(issues)}: first sync`, first),
    rowOf('nothing changed', nothing),
    rowOf(`night of ${whole(changed)} changes`, night),
    rowOf('reconcile (ids only)', reconcile),
  ]);
  return `${millionHead}

Written by \`npm run bench -- k\`: whole syncs of a simulated site that makes each page when it is asked for, ${history} ${history === 1 ? 'change' : 'changes'} an issue.
Node ${process.versions.node}, ${os.cpus().length} cores, load average ${(os.loadavg()[0] ?? 0).toFixed(1)} at the end; simulator, program and Postgres share them, so
CPU seconds say more than seconds.

| issues | seconds a thousand | CPU of the program | CPU of Postgres | peak memory | requests |
|--:|--:|--:|--:|--:|--:|
${firsts.map((row) => `| ${row} |`).join('\n')}

| run | seconds | CPU of the program | CPU of Postgres | peak memory | requests | rows written |
|---|--:|--:|--:|--:|--:|--:|
${runs.join('\n')}

Disk at ${whole(largest?.issues ?? 0)} issues:

${largest?.disk ?? ''}
`;
}
