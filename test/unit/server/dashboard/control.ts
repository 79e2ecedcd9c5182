import { setTimeout as sleep } from 'node:timers/promises';
import { ads } from '../../../../pipelines/ads.ts';
import { nightly } from '../../../../pipelines/nightly.ts';
import { tracker } from '../../../../pipelines/tracker.ts';
import type { RunReport } from '../../../../src/core/run.ts';
import { plan } from '../../../../src/engine/preview.ts';
import { type Control, openControl, type Runner } from '../../../../src/scheduler/control.ts';
import type { Catalogue } from '../../../../src/scheduler/pipelines.ts';
import { openQueue, usualTimes } from '../../../../src/scheduler/queue.ts';
import { startService } from '../../../../src/scheduler/service.ts';
import { connect } from '../../../../src/warehouse/connect.ts';
import type { Rig } from '../../../support/rig.ts';

/** The control with a worker behind it, as `serve` has them, between a rig's tracker and its warehouse. */
export interface TestControl {
  readonly control: Control;
  /** What was asked for, oldest first: `tracker sync by dashboard`. */
  asked(): Promise<readonly string[]>;
  /** Waits until every request is over. */
  idle(): Promise<void>;
  /** Interrupts what runs and ends. */
  close(): Promise<void>;
}

export async function openTestControl(rig: Rig): Promise<TestControl> {
  const warehouse = await connect(rig.database.url, { max: 4 });
  const streams = await rig.during(async ({ source }) => source.streams.map(({ name }) => name));
  const timed = tracker.jobs.map(({ does, on }) => ({ does, ...on, starts: true }));
  const catalogue: Catalogue = {
    dags: [
      { ...tracker, configured: true, timed, streams, parts: ['tracker'] },
      { ...ads, configured: false, timed: [], streams: [], parts: ['ads'] },
      { ...nightly, configured: false, needs: 'a source', timed: [], streams: [], parts: [] },
    ],
  };
  const runner: Runner = {
    configured: ['tracker'],
    run: ({ does, streams: names, window }, { trigger, signal, observe }): Promise<RunReport> => {
      const only = names === undefined ? {} : { streams: names };
      const how = { signal, deps: { observe, trigger } };
      if (window !== undefined) return rig.backfill({ ...window, ...only }, how);
      return does === 'reconcile'
        ? rig.reconcile(only, how)
        : rig.sync({ ...only, full: does === 'full' }, how);
    },
    preview: async ({ streams: names, window }, signal) => {
      const what = {
        ...(names === undefined ? {} : { streams: names }),
        ...(window === undefined ? {} : { window }),
      };
      const lines = await rig.during((deps) => plan(deps, what), { signal });
      return lines.map(({ stream, slices, records, requests, mode }) => ({
        stream,
        slices,
        ...(records === undefined ? {} : { records }),
        ...(requests === undefined ? {} : { requests, seconds: requests / 10 }),
        about: mode,
      }));
    },
  };
  const troubles: string[] = [];
  const names = catalogue.dags.map(({ name }) => name);
  const queue = await openQueue(warehouse, names, (error) => troubles.push(`queue: ${String(error)}`), 500);
  const service = startService({
    warehouse,
    queue,
    catalogue,
    runner,
    name: 'the test',
    times: { ...usualTimes, pollMs: 50, heartbeatMs: 50 },
    ticked: () => undefined,
    ended: async () => undefined,
    look: async () => undefined,
    trouble: (what, error) => troubles.push(`${what}: ${String(error)}`),
  });
  const control = openControl(warehouse, catalogue, queue, runner.preview);
  return {
    control,
    asked: async () =>
      (
        await rig.rows<{ asked: string }>(
          `select concat_ws(' ', pipeline, does, 'by', asked_by) as asked from ops.dag_runs order by seq`,
        )
      ).map(({ asked }) => asked),
    async idle() {
      const deadline = performance.now() + 20_000;
      for (;;) {
        const waiting = await rig.rows('select from ops.dag_runs where finished_at is null');
        if (waiting.length === 0) return;
        if (performance.now() > deadline) throw new Error(`a request is not over: ${troubles.join('; ')}`);
        await sleep(30);
      }
    },
    async close() {
      await service.end();
      await warehouse.close();
    },
  };
}
