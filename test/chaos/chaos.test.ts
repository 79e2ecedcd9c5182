/** Four processes of `serve`, twelve pipelines, two sources that misbehave: whatever a seed does to them, nothing is lost, late or twice. */

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFailed, onTestFinished, test } from 'vitest';
import { until } from '../support/processes.ts';
import { wrongBooks } from './books.ts';
import { type Company, mute, silenceSource } from './company.ts';
import type { Member } from './fleet.ts';
import { eventually } from './pace.ts';
import { connected, start, succeeds, taken, unfinished } from './requests.ts';
import { type Fault, faultsOf, type Kind, kinds } from './schedule.ts';
import { type Draw, drawOf, minutes, seed } from './seed.ts';
import { openStage, type Stage } from './stage.ts';

const size = { ms: minutes * 60_000, processes: 4, sources: 2 };

/** While other sources answer nothing, a pipeline is read within this time, ms, or twice the time that it takes else: the machine may be busy. */
const slotMs = 60_000;

test('a seed gives the same faults, and each kind of them', () => {
  const faults = faultsOf(7, { ...size, ms: 120_000 });
  expect(faultsOf(7, { ...size, ms: 120_000 })).toEqual(faults);
  expect(faultsOf(8, { ...size, ms: 120_000 })).not.toEqual(faults);
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(kinds));
});

test('under faults nothing is lost, late or twice', async () => {
  say(`CHAOS_SEED=${seed} CHAOS_MINUTES=${minutes}`);
  const stage = await openStage(seed, size);
  onTestFinished(stage.close);
  onTestFailed(() => keepWhatWasSaid(stage.members));
  const { company, members, rows } = stage;
  const began = performance.now();

  const over = new AbortController();
  const busy = [changing(company, over.signal), asking(stage, over.signal)];
  const { fired, failed } = await played(stage, began);
  over.abort();
  await Promise.all(busy);

  await calm(stage);
  const wrong = [...failed, ...(await fair(stage)), ...(await different(stage))];
  for (const member of members) await member.close();
  wrong.push(...members.flatMap((member) => member.wrong), ...(await wrongBooks(rows)));
  wrong.push(...(await lost(stage)));
  for (const { name, errors, script } of company.sites) {
    wrong.push(...errors.map((error) => `simulator ${name}: ${error}`));
    if (company.bad.some((bad) => bad.name === name) && script.fired.length === 0)
      wrong.push(`${name} had no fault of its own`);
  }
  if (minutes >= 2)
    wrong.push(...kinds.filter((kind) => !fired.includes(kind)).map((kind) => `no fault: ${kind}`));
  say(`${fired.length} of ${fired.length + failed.length} faults fired; ${await figures(stage)}`);
  say(`over after ${seconds(performance.now() - began)}`);
  expect(wrong, `CHAOS_SEED=${seed} CHAOS_MINUTES=${minutes}`).toEqual([]);
});

/** Prints the faults, and writes what the processes said into files. */
function keepWhatWasSaid(members: readonly Member[]): void {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), `chaos-${seed}-`));
  for (const [n, member] of members.entries())
    fs.writeFileSync(path.join(folder, `process-${n + 1}.log`), member.said());
  say(`faults of seed ${seed}:\n${faultsOf(seed, size).map(textOf).join('\n')}`);
  say(`what the processes said is in ${folder}`);
  say(`the same faults again: CHAOS_SEED=${seed} CHAOS_MINUTES=${minutes} npm run test:chaos`);
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Something changes at the sources until the signal. */
async function changing(company: Company, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    company.change();
    await sleep(200);
  }
}

/** Asks for runs until the signal. The first and each twentieth is a night, by turns with a reconcile of all pipelines. */
async function asking(stage: Stage, signal: AbortSignal): Promise<void> {
  const draw = drawOf(seed, 3);
  const { sites } = stage.company;
  for (let n = 0; !signal.aborted; n += 1) {
    const site = draw.oneOf([sites[0], ...sites.slice(1)]);
    const member = someMember(stage.members, draw);
    const params = n % 40 === 20 ? 'DOES=reconcile' : undefined;
    const what = { name: 'nightly', params };
    await start(
      stage,
      member,
      site === undefined || n % 20 === 0 ? what : { name: site.name, params: draw.oneOf(site.asks) },
    );
    await sleep(2_000);
  }
}

const someMember = (members: readonly Member[], draw: Draw): Member | undefined =>
  members[draw.between(0, members.length - 1)];

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
  return { fired, failed };
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const textOf = ({ kind, at, to, which, ms }: Fault): string =>
  `${kind} (${to} ${which}, ${seconds(ms)}, due at ${seconds(at)})`;

/** Throws where the fault does not fire. */
async function done(stage: Stage, { kind, which, ms }: Fault): Promise<void> {
  const { cluster, company, members } = stage;
  const member = members[which - 1];
  const site = company.bad[which - 1];
  const acts: Record<Kind, () => Promise<void> | undefined> = {
    'kill a process': () => member?.kill(ms),
    'stop a process': () => member?.stop(ms),
    'end a process in good order': () => member?.end(ms),
    'step the clock of a process': () => member?.step(ms),
    'cut a process from the warehouse': () => member?.cut(),
    'silence the warehouse for a process': () => member?.silence(ms),
    'cut a source': () => site && connected(stage, site).then(() => site.wire?.cut()),
    'silence a source': () => site && connected(stage, site).then(() => silenceSource(site, ms)),
    'restart the warehouse': () => cluster.restart(() => sleep(ms)),
    'crash the warehouse': () => cluster.crash(() => sleep(ms)),
  };
  await acts[kind]();
}

/** Every process serves, each schedule makes its tick, the schedules end, and all requests are over: they would keep pipelines busy. */
async function calm(stage: Stage): Promise<void> {
  const { company, rows } = stage;
  const [now] = await rows<{ at: string }>('select clock_timestamp()::text as at');
  await stage.serve();
  const late = async (): Promise<readonly string[]> => {
    const found = await rows<{ name: string }>(
      `select name from unnest($1::text[]) name where not exists (
        select from ops.ticks where pipeline = name and scheduled_for >= date_trunc('minute', $2::timestamptz))`,
      [stage.scheduled, now?.at],
    );
    return found.map(({ name }) => name);
  };
  // Not `eventually`: requests of the other schedules would end meanwhile, again and again.
  const isInTime = async (): Promise<boolean> => (await late()).length === 0 || (await sleep(200, false));
  await until('each schedule ticks', isInTime, stage.pace.patienceMs).catch(async (cause) => {
    throw new Error(`no tick since the faults: ${(await late()).join(', ')}`, { cause });
  });
  await stage.unschedule();
  const open = 'select from ops.dag_runs where finished_at is null';
  await eventually(
    stage,
    'all requests are over',
    async () => (await rows(open)).length === 0,
    () => unfinished(stage),
  );
  for (const site of company.sites) site.calm();
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
  const calmMs = async (): Promise<number> => {
    const ms = Math.max(...(await round()).values());
    stage.pace.took(ms);
    return ms;
  };
  for (const { script } of bad) script.clear();
  const before = await calmMs();
  const muted = bad.map(mute);
  await all(bad, async (site) => void (await taken(stage, site)));
  await eventually(stage, 'both sources are asked', () => muted.every(({ asked }) => asked() > 0));
  const beside = await round();
  for (const { lift } of muted) lift();
  say(
    `rounds: ${seconds(before)}, and ${seconds(Math.max(...beside.values()))} beside sources that say nothing`,
  );
  const late = (calm: number) => [...beside].filter(([, ms]) => ms > Math.max(slotMs, 2 * calm));
  if (late(before).length === 0) return [];
  // The machine may have become slower meanwhile.
  return late(Math.max(before, await calmMs())).map(
    ([name, ms]) => `${name} was read ${seconds(ms)} after it was asked for, beside sources that say nothing`,
  );
}

const all = <T>(list: readonly T[], work: (one: T) => Promise<void>) => Promise.all(list.map(work));

/** One line for each difference between a source and the warehouse after a night, which reads changes, and a reconcile, which marks deletions. */
async function different(stage: Stage): Promise<readonly string[]> {
  const { rows } = stage;
  const { sites } = stage.company;
  const lines: string[] = [];
  await succeeds(stage, { name: 'nightly' });
  const marked = sites.map(({ remove }) => remove?.());
  await succeeds(stage, { name: 'nightly', params: 'DOES=reconcile' });
  await all([...sites.entries()], async ([n, { name, equal, equalAfterFull }]) => {
    const found = [...(await equal(rows)), ...((await marked[n]?.(rows)) ?? [])];
    if (equalAfterFull !== undefined) {
      await succeeds(stage, { name, params: 'DOES=full' });
      found.push(...(await equalAfterFull(rows)).map((line) => `after a full sync: ${line}`));
    }
    lines.push(...found.map((line) => `${name}: ${line}`));
  });
  return lines;
}

/** Requests that were accepted, and that the warehouse does not have. */
async function lost({ rows, asked }: Stage): Promise<readonly string[]> {
  const found = await rows<{ id: string }>('select dag_run_id as id from ops.dag_runs');
  const known = new Set(found.map(({ id }) => id));
  return [...asked.accepted]
    .filter((id) => !known.has(id))
    .map((id) => `request ${id} was accepted, and is gone`);
}

/** What came of it, in numbers. */
async function figures({ rows, company, asked }: Stage): Promise<string> {
  const [counts] = await rows<Record<string, string>>(`select
    (select count(*) from ops.ticks) as ticks, (select count(*) from ops.dag_runs) as requests,
    (select count(*) from ops.dag_runs where pipeline = 'nightly') as nights,
    (select count(*) from ops.dag_runs where part_of is not null) as parts,
    (select count(*) from ops.runs) as runs, (select count(*) from ops.runs where status = 'lost') as lost,
    (select count(*) from ops.runs where status = 'interrupted') as interrupted,
    (select count(*) from ops.runs where status in ('failed', 'partly_failed')) as failed,
    (select count(*) from ops.dag_runs where error_code = 'worker_lost') as parked`);
  const faults = company.bad.map(({ script }) => script.fired.length).join(' and ');
  const text = Object.entries(counts ?? {}).map(([name, n]) => `${n} ${name}`);
  const answers = [...asked.answers].map(([kind, times]) => `${times} × ${kind}`).join(', ');
  return `${text.join(', ')}; starts were answered ${answers}; ${faults} faults of the sources' own`;
}
