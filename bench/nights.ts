/** (m): a night over many sites with one, two and four processes of `serve`, what idle pipelines cost, and a reader that keeps its snapshot. */
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openQueue, type Trx } from '../src/scheduler/queue.ts';
import type { Warehouse } from '../src/warehouse/connect.ts';
import { type PrivateCluster, privateCluster } from '../test/fault/private-cluster.ts';
import type { Lent } from './ads.ts';
import { type Address, pipelinesOf, serving, start } from './fleet.ts';
import { look, service } from './processes.ts';
import type { Figure } from './report.ts';
import { median } from './statistics.ts';

const sites = 50;
const latencyMs = 400;
const fleets = [1, 2, 4] as const;

/** Configured pipelines that have nothing to do. */
const idle = 500;
const idleSeconds = 60;
const starts = 20;

/** In two hours: 500 pipelines each quarter of an hour, and what eight workers show of themselves every three seconds. */
const jobs = 4_000;
const signsOfLife = 5;
const block = 500;

type Own = Pick<Lent, 'folder' | 'times' | 'say'> & { readonly cluster: PrivateCluster };

export async function measureNights(
  lent: Pick<Lent, 'folder' | 'times' | 'say'>,
): Promise<readonly Figure[]> {
  // Four processes with four runs each need more connections than the embedded server has.
  const cluster = await privateCluster({ max_connections: '300', shared_buffers: '192MB' });
  try {
    const own = { ...lent, cluster };
    return [...(await nights(own)), ...(await idling(own)), ...(await besideReader(own))];
  } finally {
    await cluster.remove();
  }
}

/** A migrated database. */
async function opened(cluster: PrivateCluster, name: string) {
  const url = await cluster.database(name);
  return { url, warehouse: await cluster.connect(name) };
}

interface Night {
  readonly seconds: number;
  /** Share of all cores that was busy meanwhile, with whatever else the machine did. */
  readonly busy: number;
}

async function nights({ folder, times, cluster, say }: Own): Promise<readonly Figure[]> {
  const source = await service<readonly Address[]>('bench/sites.ts', [String(sites), String(latencyMs)]);
  const { url, warehouse } = await opened(cluster, 'bench_nights');
  const variables = pipelinesOf(path.join(folder, 'nights'), source.ready, url);
  const night = async (processes: number): Promise<Night> => {
    await source.ask('');
    const fleet = await serving(processes, variables);
    try {
      const [first] = fleet;
      if (first === undefined) throw new Error('no process');
      const before = ticksOfCores();
      const began = performance.now();
      await succeeds(warehouse, await start(first, 'nightly'));
      const seconds = (performance.now() - began) / 1000;
      const after = ticksOfCores();
      return { seconds, busy: (after.busy - before.busy) / (after.all - before.all) };
    } finally {
      await Promise.all(fleet.map((one) => one.stop()));
    }
  };
  try {
    say(`first night over ${sites} sites: ${(await night(4)).seconds.toFixed(1)} s`);
    const taken = new Map<number, Night[]>(fleets.map((processes) => [processes, []]));
    for (let round = 0; round < times; round += 1)
      for (const processes of fleets) {
        const one = await night(processes);
        taken.get(processes)?.push(one);
        say(`night with ${processes} × serve: ${one.seconds.toFixed(1)} s, cores ${percent(one.busy)} busy`);
      }
    const of = (processes: number, what: keyof Night): number =>
      median((taken.get(processes) ?? []).map((one) => one[what]));
    return fleets.slice(1).map((processes): Figure => {
      const value = of(1, 'seconds') / of(processes, 'seconds');
      const busy = of(processes, 'busy');
      const least = 0.8 * processes;
      return {
        name: `(m) a night over ${sites} sites of ${latencyMs} ms a request, ${processes} processes (cores ${percent(busy)} busy): speed against one`,
        value,
        goal: `at least ${least}, or the cores are the bound`,
        ok: value >= least || busy >= 0.95,
      };
    });
  } finally {
    await source.stop();
    await warehouse.close();
  }
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** Time of all cores since the machine began, in ticks. */
function ticksOfCores(): { readonly busy: number; readonly all: number } {
  const all = os.cpus().map(({ times }) => times);
  const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0);
  const busy = sum(({ user, nice, sys, irq }) => user + nice + sys + irq);
  return { busy, all: busy + sum((one) => one.idle) };
}

/** Waits until the request is over. */
async function succeeds({ pool }: Warehouse, id: string): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ status: string; error_message: string | null }>(
      'select status, error_message from ops.dag_runs where dag_run_id = $1 and finished_at is not null',
      [id],
    );
    const [row] = rows;
    if (row?.status === 'succeeded') return;
    if (row !== undefined) throw new Error(`${id} ${row.status}: ${row.error_message}`);
    await sleep(50);
  }
}

async function idling({ folder, cluster, say }: Own): Promise<readonly Figure[]> {
  const source = await service<readonly Address[]>('bench/sites.ts', ['1', '0']);
  const { url, warehouse } = await opened(cluster, 'bench_idle');
  const [site] = source.ready;
  if (site === undefined) throw new Error('no site');
  const many = Array.from({ length: idle }, () => site);
  const fleet = await serving(
    1,
    pipelinesOf(path.join(folder, 'idle'), many, url, `, schedule: { sync: '0 2 * * *' }`),
  );
  try {
    const [only] = fleet;
    if (only === undefined) throw new Error('no process');
    for (let noted = 0; noted < idle; await sleep(1_000)) {
      const { rows } = await warehouse.pool.query<{ count: number }>(
        'select count(*)::int from ops.schedules',
      );
      noted = rows[0]?.count ?? 0;
    }
    await sleep(10_000);
    const before = await statements(warehouse);
    const cpuBefore = look(only.pid).cpu;
    await sleep(idleSeconds * 1000);
    // The first of the two looks is among them.
    const rate = ((await statements(warehouse)) - before - 2) / idleSeconds;
    const core = (look(only.pid).cpu - cpuBefore) / idleSeconds;
    const waits: number[] = [];
    for (let n = 0; n < starts; n += 1) {
      const id = await start(only, `site_${String(n + 1).padStart(3, '0')}`);
      await succeeds(warehouse, id);
      const { rows } = await warehouse.pool.query<{ ms: number }>(
        'select extract(epoch from started_at - queued_at)::float8 * 1000 as ms from ops.dag_runs where dag_run_id = $1',
        [id],
      );
      waits.push(rows[0]?.ms ?? Number.NaN);
    }
    say(
      `${idle} idle pipelines: ${rate.toFixed(2)} statements/s, ${(100 * core).toFixed(2)} % of a core; starts ${waits.map((ms) => ms.toFixed(0)).join(', ')} ms`,
    );
    const name = `(m) ${idle} configured and idle pipelines, one process`;
    const slowest = Math.max(...waits);
    return [
      { name: `${name}: statements a second`, value: rate, goal: 'at most 2', ok: rate <= 2 },
      { name: `${name}: share of a core`, value: core, goal: 'at most 0.01', ok: core <= 0.01 },
      {
        name: `${name}: until the slowest of ${starts} starts is picked up (median ${median(waits).toFixed(0)} ms), ms`,
        value: slowest,
        goal: 'at most 200',
        ok: slowest <= 200,
      },
    ];
  } finally {
    await Promise.all(fleet.map((one) => one.stop()));
    await source.stop();
    await warehouse.close();
  }
}

/** Transactions of the database until now: each statement of an idle process is one. */
async function statements({ pool }: Warehouse): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select xact_commit::int as count from pg_stat_database where datname = current_database()',
  );
  return rows[0]?.count ?? Number.NaN;
}

/** The queue by itself, with workers that do nothing: its speed in two hours of jobs while a reader keeps its snapshot, against the speed before. */
async function besideReader({ cluster, say }: Own): Promise<readonly Figure[]> {
  const { warehouse } = await opened(cluster, 'bench_queue');
  const queue = await openQueue(warehouse, (error) => {
    throw error;
  });
  const { db, pool } = warehouse;
  let left = 0;
  let done = Promise.withResolvers<void>();
  await queue.work(8, 5_000, async (job) => {
    for (let n = 0; n < signsOfLife; n += 1)
      await pool.query('update pgboss.job set heartbeat_on = now() where id = $1', [job.id]);
    await queue.complete(db, job);
    left -= 1;
    if (left === 0) done.resolve();
  });
  const seconds = async (count: number): Promise<number> => {
    left = count;
    done = Promise.withResolvers();
    const began = performance.now();
    await db.transaction().execute(async (trx: Trx) => {
      for (let n = 0; n < count; n += 1)
        await queue.offer(trx, `site_${n}`, { requestId: String(n), failures: 0 });
    });
    await done.promise;
    return (performance.now() - began) / 1000;
  };
  const reader = await pool.connect();
  try {
    const some = async (count: number, rounds: number): Promise<number> => {
      const taken: number[] = [];
      for (let n = 0; n < rounds; n += 1) taken.push(await seconds(count));
      return median(taken);
    };
    await seconds(block);
    const before = await some(block, 3);
    const aloneBefore = await some(1, 9);
    await reader.query('begin isolation level repeatable read');
    await reader.query('select count(*) from ops.runs');
    const beside: number[] = [];
    for (let n = 0; n < jobs / block; n += 1) {
      beside.push(await seconds(block));
      await queue.reap();
    }
    const alone = await some(1, 9);
    const last = median(beside.slice(-3));
    say(
      `${block} jobs: ${before.toFixed(2)} s before; beside a reader ${beside.map((one) => one.toFixed(2)).join(', ')} s; then one job ${(1000 * alone).toFixed(0)} ms`,
    );
    const name = `(m) the queue after ${jobs} jobs (two hours) beside a reader that keeps its snapshot`;
    return [
      {
        name: `${name}: speed against before`,
        value: before / last,
        goal: 'at least 0.8',
        ok: before / last >= 0.8,
      },
      {
        name: `${name}: one job from its start to its end, ms (${(1000 * aloneBefore).toFixed(0)} before)`,
        value: 1000 * alone,
        goal: 'at most 200',
        ok: alone <= 0.2,
      },
    ];
  } finally {
    await reader.query('rollback');
    reader.release();
    await queue.end();
    await warehouse.close();
  }
}
