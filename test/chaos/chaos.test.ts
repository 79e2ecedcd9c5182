/** Four processes of `serve`, twelve pipelines, two sources that misbehave: whatever a seed does to them, nothing is lost, late or twice. */

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFailed, onTestFinished, test } from 'vitest';
import { privateCluster } from '../fault/private-cluster.ts';
import { until } from '../support/processes.ts';
import { ask, operate } from '../unit/server/api/api.ts';
import { noteStates, wrongBooks } from './books.ts';
import { type Company, companyOf, cutSource, mute, silenceSource } from './company.ts';
import { type Member, memberOf } from './fleet.ts';
import { type Fault, faultsOf, type Kind, kinds } from './schedule.ts';
import { type Draw, drawOf, minutes, seed } from './seed.ts';
import type { Site } from './site.ts';

const size = { ms: minutes * 60_000, processes: 4, sources: 2 };

/** While other sources answer nothing, a pipeline is read within this time, ms, or twice the time that it takes else: the machine may be busy. */
const slotMs = 60_000;
/** After the last fault something that waits is over within this time, again and again, ms. */
const calmMs = 240_000;

test('a seed gives the same faults, and each kind of them', () => {
  const faults = faultsOf(7, { ...size, ms: 120_000 });
  expect(faultsOf(7, { ...size, ms: 120_000 })).toEqual(faults);
  expect(faultsOf(8, { ...size, ms: 120_000 })).not.toEqual(faults);
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(kinds));
});

test('under faults nothing is lost, late or twice', async () => {
  const stage = await staged();
  onTestFinished(stage.close);
  onTestFailed(() => keepWhatWasSaid(stage.members));
  const { company, members, rows } = stage;
  say(`CHAOS_SEED=${seed} CHAOS_MINUTES=${minutes}`);
  const began = performance.now();

  const over = new AbortController();
  const accepted = new Set<string>();
  const busy = [changing(company, over.signal), asking(stage, accepted, over.signal)];
  const fired = await played(stage, began);
  over.abort();
  await Promise.all(busy);
  expect(fired.failed).toEqual([]);
  if (minutes >= 2) expect(new Set(fired.kinds)).toEqual(new Set(kinds));

  await calm(stage);
  for (const { script } of company.bad) expect(script.fired.length).toBeGreaterThan(0);
  const wrong = [...(await fair(stage))];
  await all(company.sites, async (site) => {
    for (const { params, differences } of site.closing) {
      await succeeds(stage, site, params);
      wrong.push(...(await differences(rows)).map((line) => `${site.name}: ${line}`));
    }
  });
  for (const member of members) await member.close();
  wrong.push(...members.flatMap((member) => member.wrong), ...(await wrongBooks(rows)));
  wrong.push(...(await lost(stage, accepted)));
  wrong.push(
    ...company.sites.flatMap(({ name, errors }) => errors.map((error) => `simulator ${name}: ${error}`)),
  );
  say(await figures(stage, accepted.size));
  expect(wrong, `CHAOS_SEED=${seed} CHAOS_MINUTES=${minutes}`).toEqual([]);
});

/** Writes what the processes said into files, and says where. */
function keepWhatWasSaid(members: readonly Member[]): void {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), `chaos-${seed}-`));
  for (const [n, member] of members.entries())
    fs.writeFileSync(path.join(folder, `process-${n + 1}.log`), member.said());
  say(`what the processes said is in ${folder}`);
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

type Stage = Awaited<ReturnType<typeof staged>>;

async function staged() {
  const cluster = await privateCluster({ max_connections: '300', shared_buffers: '128MB' });
  const url = new URL(await cluster.database('chaos'));
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-chaos-'));
  const company = await companyOf(seed, size.sources);
  writePipelines(directory, company.sites);
  const warehouse = await cluster.connect('chaos', { max: 2 });
  await warehouse.pool.query(noteStates);
  const env = (databaseUrl: string): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    HOME: directory,
    DATABASE_URL: databaseUrl,
    TIDEMARK_PIPELINES: path.join(directory, 'pipelines'),
    TIDEMARK_API_TOKEN: operate,
    ...company.env(),
  });
  const members: Member[] = [];
  for (let n = 0; n < size.processes; n += 1)
    members.push(await memberOf(`process ${n + 1}`, directory, url, env));
  await until('every process serves', () => members.every(({ base }) => base !== undefined));
  return {
    cluster,
    company,
    members,
    rows: async <R extends object>(query: string, values: readonly unknown[] = []): Promise<readonly R[]> =>
      (await warehouse.pool.query<R>(query, [...values])).rows,
    async close(): Promise<void> {
      await Promise.all(members.map((member) => member.close()));
      await warehouse.close();
      await company.close();
      await cluster.remove();
      fs.rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A pipeline a site, each with a schedule of its own, and a night over all of them. */
function writePipelines(directory: string, sites: readonly Site[]): void {
  const folder = path.join(directory, 'pipelines');
  fs.mkdirSync(folder);
  const head = `import { dagu, jira, nightly, pipeline, spotifyAds } from 'tidemark';\nexport default `;
  for (const { name, connector, exclude } of sites) {
    const source = `source: ${connector}.fromEnv('${name.toUpperCase()}')`;
    const schedule = `schedule: { sync: '* * * * *', reconcile: false }`;
    fs.writeFileSync(
      path.join(folder, `${name}.ts`),
      `${head}pipeline({ name: '${name}', ${source}, ${schedule}, exclude: ${JSON.stringify(exclude)} });`,
    );
  }
  const names = JSON.stringify(sites.map(({ name }) => name));
  fs.writeFileSync(path.join(folder, 'nightly.ts'), `${head}nightly({ pipelines: ${names} });`);
}

/** Something changes at the sources until the signal. */
async function changing(company: Company, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    company.change();
    await sleep(200);
  }
}

/** Runs are asked for until the signal, the first of them a night. `accepted`: the ids of those that were answered 202. */
async function asking(stage: Stage, accepted: Set<string>, signal: AbortSignal): Promise<void> {
  const draw = drawOf(seed, 3);
  for (let n = 0; !signal.aborted; n += 1) {
    const site = stage.company.sites[draw.between(0, stage.company.sites.length - 1)];
    const member = someMember(stage.members, draw);
    const id = await (site === undefined || n % 40 === 0
      ? start(member, 'nightly')
      : start(member, site.name, draw.oneOf(site.asks)));
    if (id !== undefined) accepted.add(id);
    await sleep(2_000);
  }
}

const someMember = (members: readonly Member[], draw: Draw): Member | undefined =>
  members[draw.between(0, members.length - 1)];

/** Asks for a run. Its id; undefined where the answer was another one than 202, or none. */
async function start(member: Member | undefined, name: string, params?: string): Promise<string | undefined> {
  if (member?.base === undefined) return undefined;
  const body = JSON.stringify(params === undefined ? {} : { params });
  const headers = { 'content-type': 'application/json' };
  const how = { method: 'POST', headers, body, signal: AbortSignal.timeout(5_000) };
  const answer = await ask(`${member.base}/api/v1/dags/${name}/start`, how).catch(() => undefined);
  return answer?.code === 202 ? answer.body.data.runId : undefined;
}

/** Plays the schedule. What happens to one process, source or warehouse happens in turn. Which kinds fired, and what did not. */
async function played(stage: Stage, began: number) {
  const failed: string[] = [];
  const fired: Kind[] = [];
  const turns = new Map<string, Promise<void>>();
  for (const fault of faultsOf(seed, size)) {
    await sleep(Math.max(0, began + fault.at - performance.now()));
    const place = `${fault.to} ${fault.which}`;
    const one = async (): Promise<void> => {
      say(`${seconds(performance.now() - began)} ${textOf(fault)}`);
      await done(stage, fault).then(
        () => fired.push(fault.kind),
        (error) => failed.push(`${textOf(fault)}: ${error}`),
      );
    };
    turns.set(place, (turns.get(place) ?? Promise.resolve()).then(one));
  }
  await Promise.all(turns.values());
  return { failed, kinds: fired };
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const textOf = ({ kind, at, to, which, ms }: Fault): string =>
  `${kind} (${to} ${which}, ${seconds(ms)}, due at ${seconds(at)})`;

/** Throws where the fault does not fire. */
async function done({ cluster, company, members }: Stage, { kind, which, ms }: Fault): Promise<void> {
  const member = members[which - 1];
  const site = company.bad[which - 1];
  const acts: Record<Kind, () => Promise<void> | undefined> = {
    'kill a process': () => member?.kill(ms),
    'stop a process': () => member?.stop(ms),
    'end a process in good order': () => member?.end(ms),
    'step the clock of a process': () => member?.step(ms),
    'cut a process from the warehouse': () => member?.cut(),
    'silence the warehouse for a process': () => member?.silence(ms),
    'cut a source': () => site && cutSource(site),
    'silence a source': () => site && silenceSource(site, ms),
    'restart the warehouse': () => cluster.restart(() => sleep(ms)),
    'crash the warehouse': () => cluster.crash(() => sleep(ms)),
  };
  await acts[kind]();
}

/** Asks for a run of the site until it is accepted, and waits until it succeeded. */
async function succeeds({ members, rows }: Stage, { name }: Site, params?: string): Promise<void> {
  let id: string | undefined;
  let turn = 0;
  await until(
    `${name} takes a request`,
    async () => {
      id = await start(members[turn++ % members.length], name, params);
      if (id === undefined) await sleep(200);
      return id !== undefined;
    },
    calmMs,
  );
  const query =
    'select status, error_message from ops.dag_runs where dag_run_id = $1 and finished_at is not null';
  await until(
    `${id} is over`,
    async () => {
      const [row] = await rows<{ status: string; error_message: string | null }>(query, [id]);
      if (row !== undefined && row.status !== 'succeeded')
        throw new Error(`${id} ${row.status}: ${row.error_message}`);
      if (row === undefined) await sleep(100);
      return row !== undefined;
    },
    calmMs,
  );
}

/** While two sources answer nothing, each of the others is read within its slot. One line for each that is not. */
async function fair(stage: Stage): Promise<readonly string[]> {
  const { bad, good } = stage.company;
  const round = async (): Promise<ReadonlyMap<string, number>> => {
    const took = new Map<string, number>();
    await all(good, async (site) => {
      const at = performance.now();
      await succeeds(stage, site);
      took.set(site.name, performance.now() - at);
    });
    return took;
  };
  for (const { script } of bad) script.clear();
  const before = Math.max(...(await round()).values());
  const muted = bad.map(mute);
  // Where one of their schedules was earlier, this start is refused.
  await all(bad, async ({ name }) => void (await start(stage.members[0], name)));
  await until('both sources are asked', () => muted.every(({ asked }) => asked() > 0), calmMs);
  const beside = await round();
  for (const { lift } of muted) lift();
  say(
    `rounds: ${seconds(before)}, and ${seconds(Math.max(...beside.values()))} beside sources that say nothing`,
  );
  return [...beside].flatMap(([name, ms]) =>
    ms > Math.max(slotMs, 2 * before) ? [`${name} was read ${seconds(ms)} after it was asked for`] : [],
  );
}

const all = <T>(list: readonly T[], work: (one: T) => Promise<void>) => Promise.all(list.map(work));

/** No fault lasts, every process serves, and all that was asked until now is over. */
async function calm({ members, company, rows }: Stage): Promise<void> {
  const [now] = await rows<{ at: string }>('select clock_timestamp()::text as at');
  await until('every process serves', () => members.every(({ base }) => base !== undefined), calmMs);
  const open = `select from ops.dag_runs where finished_at is null and queued_at < '${now?.at}'`;
  for (let left = Number.POSITIVE_INFINITY; left > 0; )
    await until(
      'one of the open requests is over',
      async () => {
        await sleep(200);
        const { length } = await rows(open);
        if (length >= left) return false;
        left = length;
        return true;
      },
      calmMs,
    ).catch(async (cause) => {
      throw new Error(`requests are not over: ${await unfinished(rows)}`, { cause });
    });
  for (const site of company.sites) site.calm();
}

/** Requests that were accepted, and that the warehouse does not have. */
async function lost({ rows }: Stage, accepted: ReadonlySet<string>): Promise<readonly string[]> {
  const found = await rows<{ id: string }>('select dag_run_id as id from ops.dag_runs');
  const known = new Set(found.map(({ id }) => id));
  return [...accepted].filter((id) => !known.has(id)).map((id) => `request ${id} was accepted, and is gone`);
}

/** The requests that are not over, with their jobs and the last lines of their logs. */
async function unfinished(rows: Stage['rows']): Promise<string> {
  const found = await rows<{ line: string }>(`
    select concat_ws(' ', dag_run_id, status, worker, 'queued', queued_at, 'started', started_at, 'progress', progress_at, 'lost',
      (select string_agg(concat_ws(' ', 'job', j.state, j.retry_count, j.start_after, j.heartbeat_on), ', ') from pgboss.job j
        where j.data->>'requestId' = d.dag_run_id),
      (select string_agg(l.at || ' ' || l.message, E'\\n  ' order by l.seq) from (
        select * from ops.run_log l where l.dag_run_id = d.dag_run_id order by seq desc limit 30) l)) as line
    from ops.dag_runs d where finished_at is null order by seq`);
  return found.map(({ line }) => `\n${line}`).join('');
}

/** What came of it, in numbers. */
async function figures({ rows, company }: Stage, accepted: number): Promise<string> {
  const [counts] = await rows<Record<string, string>>(`select
    (select count(*) from ops.ticks) as ticks, (select count(*) from ops.dag_runs) as requests,
    (select count(*) from ops.runs) as runs, (select count(*) from ops.runs where status = 'lost') as lost,
    (select count(*) from ops.runs where status = 'interrupted') as interrupted,
    (select count(*) from ops.runs where status in ('failed', 'partly_failed')) as failed,
    (select count(*) from ops.dag_runs where error_code = 'worker_lost') as parked`);
  const faults = company.bad.map(({ script }) => script.fired.length).join(' and ');
  const text = Object.entries(counts ?? {}).map(([name, n]) => `${n} ${name}`);
  return `${text.join(', ')}; ${accepted} accepted by the API; ${faults} faults of the sources' own`;
}
