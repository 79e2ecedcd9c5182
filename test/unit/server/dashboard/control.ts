import { plan } from '../../../../src/engine/preview.ts';
import { replayRejects } from '../../../../src/engine/replay.ts';
import { tonightOf } from '../../../../src/runs/tonight.ts';
import type { Control, NightNeeds, Runner } from '../../../../src/scheduler/control.ts';
import { connect } from '../../../../src/warehouse/connect.ts';
import { configOf } from '../../../support/config.ts';
import { until } from '../../../support/processes.ts';
import type { Rig } from '../../../support/rig.ts';
import { catalogue, conduct } from '../../scheduler/orchestra.ts';

/** The control with a worker behind it, as `serve` has them, between a rig's tracker and its warehouse. */
export interface TestControl {
  readonly control: Control;
  /** What the tracker needs tonight, as `serve` plans it. */
  readonly tonight: () => Promise<NightNeeds>;
  readonly replay: Runner['replay'];
  /** The requests, oldest first: `tracker sync by dashboard`. */
  asked(): Promise<readonly string[]>;
  /** Waits until every request is over. */
  idle(): Promise<void>;
  /** Interrupts what runs and ends. */
  close(): Promise<void>;
}

export async function openTestControl(rig: Rig): Promise<TestControl> {
  const warehouse = await connect(rig.database.url, { max: 4 });
  const streams = await rig.during(async ({ source }) => source.streams.map(({ name }) => name));
  const { pipelines, nightly } = configOf({}, import.meta.dirname);
  const [tracker, ads] = pipelines;
  if (tracker === undefined || ads === undefined) throw new Error('no pipelines are shipped');
  const timed = tracker.jobs.map(({ does, on }) => ({ does, ...on, starts: true }));
  const known = catalogue(
    { ...tracker, configured: true, timed, streams, hasReconcile: true },
    { ...ads, configured: false, timed: [], streams: [], hasReconcile: false },
    { ...nightly, configured: false, needs: 'a source', timed: [], streams: [], hasReconcile: true },
  );
  const runner: Runner = {
    run: ({ does, streams: names, window }, { trigger, signal, observe }) => {
      const only = names === undefined ? {} : { streams: names };
      const how = { signal, deps: { observe, trigger } };
      if (does === 'reconcile') return rig.reconcile(only, how);
      return window === undefined
        ? rig.sync({ ...only, full: does === 'full' }, how)
        : rig.backfill({ ...window, ...only }, how);
    },
    replay: (_pipeline, id) => rig.during((deps) => replayRejects({ ...deps, trigger: 'api' }, { id })),
    parts: () => undefined,
    next: async () => undefined,
    preview: async ({ streams: names, window }, signal) => {
      const what = { ...(names && { streams: names }), ...(window && { window }) };
      const lines = await rig.during((deps) => plan(deps, what), { signal });
      return lines.map(({ requests, ...line }) => ({
        ...line,
        ...(requests === undefined ? {} : { requests, seconds: requests / 10 }),
      }));
    },
    tonight: () => tonightOf([tracker], (_name, work) => rig.during(work), 2),
  };
  const { control, service } = await conduct(warehouse, known, runner);
  return {
    control,
    replay: runner.replay,
    tonight: () => runner.tonight(new AbortController().signal),
    async asked() {
      const query = `select concat_ws(' ', pipeline, does, 'by', asked_by) as asked from ops.dag_runs order by seq`;
      return (await rig.rows<{ asked: string }>(query)).map(({ asked }) => asked);
    },
    idle: () =>
      until(
        'every request is over',
        async () => (await rig.rows('select from ops.dag_runs where finished_at is null')).length === 0,
        30_000,
      ),
    async close() {
      await service.end();
      await warehouse.close();
    },
  };
}
