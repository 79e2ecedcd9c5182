/** A company whose engine works: runs at their ticks, each taking its time, some failing. The same seed gives the same runs at the same ticks. */
import { mix, type Random, random } from '../shared/random.ts';
import { cronOf, type Job, jobs, ticks } from './jobs.ts';
import { carry, type Fate, type Plan, planOf } from './plan.ts';
import type { WorkflowSimulator } from './server.ts';
import type { Run } from './state.ts';

export interface Company {
  /** Lets happen what is due by the engine's clock. Every request does so first. */
  live(): void;
  /** Decides how a run ends that has not ended yet. Throws RangeError for a step that it does not have. */
  decide(run: Run, fate: Fate): void;
}

export interface Sizes {
  /** Default 7. */
  readonly seed?: number;
  /** How far its history goes back. Default 28. */
  readonly days?: number;
  /** Keys of issues and ids of campaigns that runs may be about. Default none. */
  readonly issues?: readonly string[];
  readonly campaigns?: readonly string[];
}

const day = 86_400_000;
const minute = 60_000;

/** Since when the database was down, and how long: a night that every list of failures shows. */
const outage = { daysAgo: 5, hours: 5 };
/** Since when somebody reloads orders; that takes more than an hour. */
const byHand = 25 * minute;

/**
 * Fills an empty engine: eight DAGs at work and one switched off, weeks of their runs, one run in the middle. From then on it lives by its clock.
 * A run that is started over the API takes its time and ends, too.
 */
export function inhabit(
  { state, clock, script }: Pick<WorkflowSimulator, 'state' | 'clock' | 'script'>,
  { seed = 7, days = 28, issues = [], campaigns = [] }: Sizes = {},
): Company {
  const now = Math.floor(clock.now().getTime() / 1000) * 1000;
  const down = Math.floor(now / day) * day - outage.daysAgo * day;
  const isDown = (at: number): boolean => at >= down && at < down + outage.hours * 3_600_000;
  const positions = new Map(jobs.map((job, position) => [job.file, { job, position }]));
  const fates = new Map<Run, Fate>();
  const plans = new Map<Run, Plan>();
  const ended = new WeakSet<Run>();
  const diceOf = (position: number, at: number): Random =>
    random(mix(mix(seed, position), Math.floor(at / 1000)));

  const begin = (job: Job, position: number, at: number, queued: boolean): Run => {
    const started = new Date(at);
    const dice = diceOf(position + 300, at);
    const one = (of: readonly string[]) => of[dice.int(Math.max(of.length, 1))];
    const about = { issue: one(issues), campaign: one(campaigns) };
    return state.start(job.file, {
      id: idOf(at, diceOf(position + 100, at)),
      params: job.params?.(started.toISOString().slice(0, 10), about) ?? '',
      queued,
      at: started,
    });
  };

  const planned = (run: Run, job: Job, position: number): Plan => {
    const found = plans.get(run);
    if (found !== undefined) return found;
    const dice = diceOf(position, (ended.has(run) ? run.startedAt : run.madeAt)?.getTime() ?? 0);
    const wait = (1 + dice.int(20)) * 1000;
    const at = run.startedAt?.getTime() ?? run.madeAt.getTime() + wait;
    const broken = isDown(at) ? job.steps.find(({ database }) => database) : undefined;
    const fate = fates.get(run) ?? (broken === undefined ? 'chance' : { fails: broken.name });
    const plan = planOf(job, at, dice, fate);
    plans.set(run, plan);
    return plan;
  };

  let lived = now - days * day;
  const live = (): void => {
    const at = clock.now().getTime();
    for (const [position, job] of jobs.entries())
      for (const tick of ticks(job, lived, at)) begin(job, position, tick, true);
    lived = Math.max(lived, at);
    for (const dag of state.dags.values()) {
      const known = positions.get(dag.fileName);
      if (known === undefined) continue;
      for (const run of dag.runs) {
        if (run.finishedAt !== undefined) continue;
        carry(run, planned(run, known.job, known.position), at);
        if (run.finishedAt === undefined) continue;
        // A retry is another try, with a plan and a fate of its own.
        plans.delete(run);
        fates.delete(run);
        ended.add(run);
      }
    }
  };

  for (const job of jobs) {
    const { file, description, group, tags, suspended = false } = job;
    state.add(file, {
      description,
      group,
      tags,
      suspended,
      schedule: cronOf(job),
      steps: job.steps.map(({ name }) => name),
    });
  }
  for (const { job, position } of positions.values()) {
    if (job.schedule !== undefined) continue;
    for (let at = lived + day; at < now - day; at += day) {
      const dice = diceOf(position + 200, at);
      if (dice.chance(0.15))
        begin(job, position, Math.floor(at / day) * day + (9 * 60 + dice.int(480)) * minute, false);
    }
    // One that fails could be over by now.
    fates.set(begin(job, position, now - byHand, false), 'well');
  }
  live();
  script.at({ times: Number.POSITIVE_INFINITY }, live);

  return {
    live,
    decide: (run, fate) => {
      plans.delete(run);
      fates.set(run, fate);
    },
  };
}

/** A UUID of version 7, as the vendor gives them: when the run was made, and chance. */
const idOf = (at: number, dice: Random): string => {
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => dice.int(16).toString(16)).join('');
  const time = at.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
};
