/** What becomes of a run, decided when it begins: how long each step takes, and which one fails. */
import type { Random } from '../shared/random.ts';
import type { Job, Work } from './jobs.ts';
import type { Run, Step, Word } from './state.ts';

/** How a run ends: as chance has it, well, or by the failure of this step. */
export type Fate = 'chance' | 'well' | { readonly fails: string };

export interface PlannedStep {
  /** Epoch ms; both undefined where the run does not get that far. */
  readonly startsAt: number | undefined;
  readonly endsAt: number | undefined;
  readonly status: Word;
  readonly retries: number;
  readonly error: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** In epoch ms, at whole seconds after the start: the vendor tells no fractions. */
export interface Plan {
  readonly startsAt: number;
  readonly endsAt: number;
  readonly status: Word;
  readonly steps: readonly PlannedStep[];
}

/** The same dice give the same plan. Throws RangeError for a fate at a step that the job does not have. */
export function planOf(job: Job, startsAt: number, dice: Random, fate: Fate): Plan {
  const goesWrong = dice.chance(job.risk);
  const unlucky = dice.int(job.steps.length);
  const failing =
    fate === 'chance' ? (goesWrong ? unlucky : -1) : fate === 'well' ? -1 : placeOf(job, fate.fails);
  const steps: PlannedStep[] = [];
  let at = startsAt;
  for (const [position, work] of job.steps.entries()) {
    const fails = position === failing;
    const tried = tryOut(work, dice, fails);
    if (steps.some(({ status }) => status === 'failed') && !job.carriesOn) {
      steps.push(unreached);
      continue;
    }
    steps.push({ startsAt: at, endsAt: at + tried.ms, ...tried.step });
    at += tried.ms;
  }
  const status = failing < 0 ? 'succeeded' : job.carriesOn ? 'partially_succeeded' : 'failed';
  return { startsAt, endsAt: at, status, steps };
}

const placeOf = (job: Job, step: string): number => {
  const position = job.steps.findIndex(({ name }) => name === step);
  if (position < 0) throw new RangeError(`${job.file} has no step ${step}`);
  return position;
};

/** As the vendor tells it (measured on 1.30.2). */
const unreached: PlannedStep = {
  startsAt: undefined,
  endsAt: undefined,
  status: 'aborted',
  retries: 0,
  error: 'upstream failed',
  stdout: '',
  stderr: '',
};

/**
 * One step: a failing one ends early and was tried three times; one in thirty works only at the second try. The dice fall as often whatever
 * the fate is: another fate changes nothing of what has been.
 */
const tryOut = (work: Work, dice: Random, fails: boolean) => {
  const usual = work.usually * (0.8 + 0.3 * dice.next() + (dice.chance(0.04) ? 1.5 : 0));
  const flaky = dice.chance(1 / 30);
  const early = dice.next();
  const done = work.says.replace('#', String(1000 + dice.int(90_000)));
  const seconds = Math.max(1, Math.round(usual * (fails ? early : flaky ? 1.6 : 1)));
  const step = {
    status: fails ? 'failed' : 'succeeded',
    retries: fails ? 2 : flaky ? 1 : 0,
    error: fails ? work.trouble.split('\n').at(-1) : undefined,
    stdout: fails ? `${work.name} begins\n` : `${work.name} begins\n${done}\n`,
    stderr: fails || flaky ? `${work.trouble}\n` : '',
  };
  return { ms: seconds * 1000, step };
};

/** Brings a run to where its plan has it at `now`, epoch ms. */
export function carry(run: Run, plan: Plan, now: number): void {
  const isOver = now >= plan.endsAt;
  run.status = isOver ? plan.status : now >= plan.startsAt ? 'running' : 'queued';
  run.startedAt = now >= plan.startsAt ? new Date(plan.startsAt) : undefined;
  run.finishedAt = isOver ? new Date(plan.endsAt) : undefined;
  for (const [position, step] of run.steps.entries()) {
    const planned = plan.steps[position];
    if (planned !== undefined) carryStep(step, planned, now, isOver);
  }
}

const carryStep = (step: Step, planned: PlannedStep, now: number, isOver: boolean): void => {
  const { startsAt, endsAt } = planned;
  const hasBegun = startsAt !== undefined && now >= startsAt;
  const hasEnded = endsAt !== undefined && now >= endsAt;
  step.status = hasEnded || (isOver && !hasBegun) ? planned.status : hasBegun ? 'running' : 'not_started';
  step.startedAt = hasBegun ? new Date(startsAt) : undefined;
  step.finishedAt = hasEnded ? new Date(endsAt) : undefined;
  step.error = hasEnded || isOver ? planned.error : undefined;
  // Those of earlier tries stay.
  step.retries = Math.max(step.retries, hasEnded ? planned.retries : 0);
  step.stdout = hasBegun ? (hasEnded ? planned.stdout : '') : undefined;
  step.stderr = hasBegun ? (hasEnded ? planned.stderr : '') : undefined;
};
