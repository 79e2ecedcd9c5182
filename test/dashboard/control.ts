import crypto from 'node:crypto';
import { Interrupted, TidemarkError } from '../../src/core/errors.ts';
import type { RunEvent, RunReport } from '../../src/core/run.ts';
import { plan } from '../../src/run/preview.ts';
import type { Ask, Control, Dag, DagRun, LogLine } from '../../src/schedule/control.ts';
import { AlreadyActive, NothingActive, UnknownDag, UnknownRun } from '../../src/schedule/refusals.ts';
import type { Rig } from '../support/rig.ts';

/** A `Control` that really runs what it is asked for, in this process, between a rig's tracker and its warehouse. */
export interface TestControl extends Control {
  /** Everything that was asked of it, oldest first. */
  readonly asked: readonly string[];
  /** Waits until nothing runs. */
  idle(): Promise<void>;
  /** Ends what runs. */
  close(): Promise<void>;
}

interface Job {
  run: DagRun;
  readonly ask: Ask;
  readonly log: LogLine[];
  readonly stop: AbortController;
  going: Promise<void>;
}

export function testControl(rig: Rig, now: () => Date = () => new Date()): TestControl {
  const jobs: Job[] = [];
  const asked: string[] = [];
  const dags: readonly Omit<Dag, 'last'>[] = [
    {
      name: 'tracker',
      about: 'Projects, boards, sprints and issues with their history, from the issue tracker.',
      configured: true,
      schedule: [{ does: 'sync', cron: '0 2 * * *', timeZone: 'UTC' }],
      nextAt: new Date(Math.ceil((now().getTime() + 1) / 86_400_000) * 86_400_000 + 7_200_000),
    },
    {
      name: 'ads',
      about: 'Accounts, campaigns, ad sets, ads, assets, audiences and reports, from the ads platform.',
      configured: false,
      schedule: [],
      nextAt: null,
    },
  ];
  const known = (name: string): Omit<Dag, 'last'> => {
    const dag = dags.find((each) => each.name === name);
    if (dag === undefined) throw new UnknownDag(`there is no pipeline ${name}`);
    return dag;
  };
  const newest = (name: string): Job | undefined => jobs.findLast((job) => job.run.pipeline === name);
  const active = (name: string): Job | undefined =>
    jobs.findLast((job) => job.run.pipeline === name && job.run.finishedAt === null);
  const found = (name: string, runId: string): Job => {
    const job = jobs.find((each) => each.run.pipeline === name && each.run.runId === runId);
    if (job === undefined) throw new UnknownRun(`there is no run ${runId} of ${name}`);
    return job;
  };
  const work = async (job: Job): Promise<void> => {
    const observe = (event: RunEvent): void => {
      if (event.type === 'run.started') job.run = { ...job.run, runs: [...job.run.runs, event.runId] };
      if (event.type === 'stream.progress') return;
      const level = event.type === 'note' ? event.level : 'info';
      job.log.push({ seq: job.log.length + 1, at: now(), level, message: textOf(event) });
    };
    const how = { signal: job.stop.signal, deps: { observe, trigger: 'api' as const } };
    const { does, streams, window } = job.ask;
    const only = streams === undefined ? {} : { streams };
    job.run = { ...job.run, status: 'running', startedAt: now() };
    try {
      const report =
        does === 'backfill' && window !== undefined
          ? await rig.backfill({ ...window, ...only }, how)
          : does === 'census'
            ? await rig.census(only, how)
            : await rig.sync({ ...only, full: does === 'full' }, how);
      job.run = { ...job.run, ...endOf(report, job), finishedAt: now() };
    } catch (error) {
      const stopped = error instanceof Interrupted && job.run.stopping;
      job.run = {
        ...job.run,
        status: stopped ? 'stopped' : 'failed',
        finishedAt: now(),
        error: stopped
          ? null
          : {
              code: error instanceof TidemarkError ? error.code : 'internal',
              message: error instanceof Error ? error.message : String(error),
            },
      };
    }
  };
  const queue = (ask: Ask, params: string, runId: string): DagRun => {
    const busy = active(ask.pipeline);
    if (busy !== undefined) throw new AlreadyActive(`${ask.pipeline} is running already`, busy.run);
    const job: Job = {
      ask,
      log: [],
      stop: new AbortController(),
      going: Promise.resolve(),
      run: {
        runId,
        pipeline: ask.pipeline,
        does: ask.does,
        trigger: 'api',
        status: 'queued',
        params,
        queuedAt: now(),
        startedAt: null,
        finishedAt: null,
        runs: [],
        received: 0,
        changed: 0,
        rejected: 0,
        error: null,
        stopping: false,
      },
    };
    jobs.push(job);
    const queued = job.run;
    job.going = work(job);
    return queued;
  };
  return {
    asked,
    idle: async () => {
      await Promise.all(jobs.map((job) => job.going));
    },
    close: async () => {
      for (const job of jobs) job.stop.abort(new Interrupted('the test is over'));
      await Promise.all(jobs.map((job) => job.going));
    },
    list: async () => dags.map((dag) => ({ ...dag, last: newest(dag.name)?.run ?? null })),
    status: async (name) => ({
      dag: { ...known(name), last: newest(name)?.run ?? null },
      run: newest(name)?.run ?? null,
      steps: [],
    }),
    start: async (ask, how) => {
      known(ask.pipeline);
      asked.push(`start ${ask.pipeline} ${ask.does} by ${how.by}`);
      return queue(ask, how.params ?? '', how.runId ?? crypto.randomUUID());
    },
    stop: async (name, { by }) => {
      known(name);
      asked.push(`stop ${name} by ${by}`);
      const job = active(name) ?? newest(name);
      if (job === undefined) throw new NothingActive(`${name} has nothing to stop`);
      if (job.run.finishedAt === null) {
        job.run = { ...job.run, stopping: true };
        job.stop.abort(new Interrupted('asked to stop'));
      }
      return job.run;
    },
    retry: async (name, runId, { by }) => {
      asked.push(`retry ${name} ${runId} by ${by}`);
      const { ask, run } = found(name, runId);
      if (run.status === 'succeeded' || run.finishedAt === null)
        throw new NothingActive(`run ${runId} is ${run.status}: there is nothing to retry`);
      return queue(ask, run.params, crypto.randomUUID());
    },
    history: async (name, { limit, before }) => {
      const own = jobs.filter((job) => job.run.pipeline === known(name).name).map((job) => job.run);
      const upTo = before === undefined ? own.length : own.findIndex((run) => run.runId === before);
      return own.slice(0, upTo).reverse().slice(0, limit);
    },
    run: async (name, runId) => found(known(name).name, runId).run,
    log: async (name, runId, { after = 0, tail }) => {
      const own = found(name, runId).log.filter((line) => line.seq > after);
      return tail === undefined ? own : own.slice(-tail);
    },
    plan: (ask, signal) =>
      rig.during(
        async (deps) =>
          (
            await plan(deps, {
              ...(ask.streams === undefined ? {} : { streams: ask.streams }),
              ...(ask.window === undefined ? {} : { window: ask.window }),
            })
          ).map((each) => ({
            stream: each.stream,
            slices: each.slices,
            ...(each.records === undefined ? {} : { records: each.records }),
            ...(each.requests === undefined ? {} : { requests: each.requests, seconds: each.requests / 10 }),
            about: `${each.mode} ${each.from?.toISOString().slice(0, 10) ?? ''} to ${each.to?.toISOString().slice(0, 10) ?? ''}`,
          })),
        { signal },
      ),
  };
}

const endOf = (
  report: RunReport,
  { run }: Job,
): Pick<DagRun, 'status' | 'received' | 'changed' | 'rejected' | 'error'> => ({
  status: report.status === 'interrupted' && run.stopping ? 'stopped' : report.status,
  received: report.counts.received,
  changed: report.counts.inserted + report.counts.updated,
  rejected: report.counts.rejected,
  error: report.error ?? null,
});

const textOf = (event: RunEvent): string => {
  if (event.type === 'run.started') return `run ${event.runId} began`;
  if (event.type === 'stream.started') return `${event.stream}: begins`;
  if (event.type === 'stream.finished')
    return `${event.report.stream}: ${event.report.status}, ${event.report.counts.received} records`;
  if (event.type === 'note') return event.message;
  return event.type === 'run.finished' ? `run ended: ${event.report.status}` : event.stream;
};
