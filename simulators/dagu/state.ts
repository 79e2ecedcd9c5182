import type { Clock } from '../shared/clock.ts';

/** Numbers of the engine, of runs and of steps (5: queued for a run, skipped for a step). */
export const statuses: readonly string[] = [
  'not_started',
  'running',
  'failed',
  'aborted',
  'succeeded',
  'queued',
  'partially_succeeded',
  'waiting',
  'rejected',
];

/** Where a run or a step stands; any other word may be set, too: engines invent some. */
export type Word = string;

export interface Step {
  readonly name: string;
  status: Word;
  startedAt: Date | undefined;
  finishedAt: Date | undefined;
  error: string | undefined;
  retries: number;
  stdout: string | undefined;
  stderr: string | undefined;
  /** What 2.x says besides, e.g. who approved it. */
  more?: Readonly<Record<string, unknown>>;
}

export interface Run {
  readonly id: string;
  readonly madeAt: Date;
  readonly params: string;
  readonly steps: readonly Step[];
  status: Word;
  /** What started it, and who: 2.x says the first, 2.15 both. */
  triggerType: string;
  triggerActor: string | undefined;
  queuedAt: Date | undefined;
  startedAt: Date | undefined;
  finishedAt: Date | undefined;
  /** What 2.x says besides, e.g. handlers, its workspace and profile. */
  more?: Readonly<Record<string, unknown>>;
}

export interface Dag {
  /** The DAG's own name and that of its file, which is what the engine is asked by. */
  readonly name: string;
  readonly fileName: string;
  readonly description: string;
  readonly steps: readonly string[];
  readonly group: string | undefined;
  readonly tags: readonly string[];
  /** In cron's words; undefined for one that does not start by itself. */
  readonly schedule: string | undefined;
  suspended: boolean;
  /** Has runs and no file: they were started under a name of their own. No list shows it. */
  readonly unfiled: boolean;
  /** What 2.x says besides, of the file and of the definition in it. */
  readonly more: { readonly file?: object; readonly dag?: object };
  /** Oldest first. */
  readonly runs: Run[];
}

/** How a run is started. */
interface StartOptions {
  readonly id?: string;
  readonly params?: string;
  readonly queued?: boolean;
  readonly at?: Date;
  readonly triggerType?: string;
  readonly triggerActor?: string | undefined;
}

/** What the engine holds, and everything that can happen to it. Methods throw RangeError for what is not there. */
export class WorkflowState {
  readonly dags = new Map<string, Dag>();
  readonly #clock: Clock;
  #ids = 0;
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(fileName: string, reported: Partial<Omit<Dag, 'fileName' | 'runs'>> = {}): Dag {
    const { name = fileName, steps = ['one', 'two'], description = `Does ${fileName}.` } = reported;
    const { group, tags = ['sim'], schedule, suspended = false, unfiled = false, more = {} } = reported;
    const dag: Dag = {
      name,
      fileName,
      description,
      steps,
      group,
      tags,
      schedule,
      suspended,
      unfiled,
      more,
      runs: [],
    };
    this.dags.set(fileName, dag);
    return dag;
  }

  dag(fileName: string): Dag {
    const dag = this.dags.get(fileName);
    if (dag === undefined) throw new RangeError(`there is no DAG ${fileName}`);
    return dag;
  }

  run(fileName: string, id: string): Run {
    const run = this.dag(fileName).runs.findLast((one) => one.id === id);
    if (run === undefined) throw new RangeError(`there is no run ${id} of ${fileName}`);
    return run;
  }

  /** A run that has begun with its first step; queued: one that waits. `at`: when, by default now. */
  start(
    fileName: string,
    {
      id = `run-${++this.#ids}`,
      params = '',
      queued = false,
      at: now = this.#clock.now(),
      triggerType = 'manual',
      triggerActor,
    }: StartOptions = {},
  ): Run {
    const dag = this.dag(fileName);
    const run: Run = {
      id,
      madeAt: now,
      params,
      status: queued ? 'queued' : 'running',
      triggerType,
      triggerActor,
      queuedAt: queued ? now : undefined,
      startedAt: queued ? undefined : now,
      finishedAt: undefined,
      steps: dag.steps.map((name, position) => ({
        name,
        status: position === 0 && !queued ? 'running' : 'not_started',
        startedAt: position === 0 && !queued ? now : undefined,
        finishedAt: undefined,
        error: undefined,
        retries: 0,
        stdout: undefined,
        stderr: undefined,
      })),
    };
    dag.runs.push(run);
    return run;
  }

  /** The run ends: all steps went well, or the first one that had not succeeded failed (or was stopped) and the others were not reached. */
  finish(
    fileName: string,
    id: string,
    status: Word,
    log: { readonly stdout?: string; readonly stderr?: string } = {},
  ) {
    const run = this.run(fileName, id);
    const now = this.#clock.now();
    run.startedAt ??= now;
    run.finishedAt = now;
    run.status = status;
    const at = run.steps.findIndex((step) => step.status !== 'succeeded');
    for (const [position, step] of run.steps.entries()) {
      if (step.status === 'succeeded') continue;
      const reached = position === at || status === 'succeeded';
      step.status = reached ? status : 'aborted';
      step.startedAt = reached ? (step.startedAt ?? now) : undefined;
      step.finishedAt = reached ? now : undefined;
      step.error =
        status === 'succeeded' ? undefined : reached ? `${step.name}: ${status}` : 'upstream failed';
      step.stdout = reached ? (log.stdout ?? `out of ${step.name}\n`) : undefined;
      step.stderr = reached ? (log.stderr ?? '') : undefined;
    }
    return run;
  }

  /** The same run again under its id, at once; queued: when its turn comes. */
  retry(
    fileName: string,
    id: string,
    { queued = false, triggerActor }: Pick<StartOptions, 'queued' | 'triggerActor'> = {},
  ): Run {
    const run = this.run(fileName, id);
    run.status = queued ? 'queued' : 'running';
    run.queuedAt = queued ? this.#clock.now() : undefined;
    run.startedAt = queued ? undefined : this.#clock.now();
    run.finishedAt = undefined;
    run.triggerType = 'retry';
    run.triggerActor = triggerActor;
    for (const step of run.steps) {
      step.status = 'running';
      step.retries += 1;
      step.error = undefined;
    }
    return run;
  }

  /** The engine loses a run: its data was cleaned up, or its disk was. */
  forget(fileName: string, id: string): void {
    const { runs } = this.dag(fileName);
    runs.splice(runs.indexOf(this.run(fileName, id)), 1);
  }
}

/** What a warehouse must hold, as plain data; instants in ISO 8601. */
export interface TrueRun {
  readonly dag: string;
  readonly id: string;
  readonly status: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly params: string | null;
  readonly steps: readonly {
    readonly name: string;
    readonly status: string;
    readonly error: string | null;
  }[];
}

export const truth = (state: WorkflowState): readonly TrueRun[] =>
  [...state.dags.values()]
    .flatMap((dag) =>
      dag.runs.map((run) => ({
        dag: dag.name,
        id: run.id,
        status: run.status,
        startedAt: run.startedAt?.toISOString() ?? null,
        finishedAt: run.finishedAt?.toISOString() ?? null,
        params: run.params === '' ? null : run.params,
        steps: run.steps.map(({ name, status, error }) => ({ name, status, error: error ?? null })),
      })),
    )
    .sort((a, b) => (a.dag + a.id < b.dag + b.id ? -1 : 1));
