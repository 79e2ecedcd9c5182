import type { RunReport } from '../../../src/core/run.ts';
import { noCounts } from '../../../src/core/run.ts';
import type { Ask, Control, Runner } from '../../../src/scheduler/control.ts';
import { openControl } from '../../../src/scheduler/open-control.ts';
import type { Catalogue, KnownDag, Timed } from '../../../src/scheduler/pipelines.ts';
import { type Times, usualTimes } from '../../../src/scheduler/schedule-times.ts';
import { type Service, startService, type Told } from '../../../src/scheduler/service.ts';
import type { Warehouse } from '../../../src/warehouse/connect.ts';

/** As the usual ones, in a tenth of a second instead of many. */
export const quick: Times = {
  ...usualTimes,
  pollMs: 20,
  heartbeatMs: 50,
  leaseMs: 600,
  reapMs: 50,
  backoffMs: 150,
  heldMs: 100,
  againMs: [],
  stuckMs: 400,
  lookMs: 50,
  logMs: 20,
};

/** A DAG that is configured and starts nothing by itself. */
export const dag = (name: string, more: Partial<KnownDag> = {}): KnownDag => ({
  name,
  about: `About ${name}.`,
  configured: true,
  needs: 'nothing',
  timed: [],
  streams: ['issues', 'projects'],
  parts: [name],
  ...more,
});

export const timed = (cron: string, more: Partial<Timed> = {}): Timed => ({
  does: 'sync',
  cron,
  timeZone: 'UTC',
  starts: true,
  ...more,
});

export const catalogue = (...dags: readonly KnownDag[]): Catalogue => ({ dags });

/** A report as a run of that status would give it. */
export const report = (ask: Ask, status: RunReport['status'] = 'succeeded'): RunReport => ({
  runId: null,
  pipeline: ask.pipeline,
  kind: ask.does,
  status,
  streams: [],
  counts: noCounts,
  deleted: 0,
  requests: 0,
  retries: 0,
  throttledMs: 0,
  seconds: 0,
});

/** A runner that does what it is told for each request. */
export const runnerOf = (configured: readonly string[], run: Runner['run']): Runner => ({
  configured,
  run,
  preview: async () => [],
});

/** A scheduler and worker over a warehouse, as one process has it; `troubles` fills with what went wrong beside the runs. */
export interface Conductor {
  readonly service: Service;
  readonly control: Control;
  readonly troubles: readonly string[];
  readonly looks: readonly unknown[];
}

export function conduct(
  warehouse: Warehouse,
  known: Catalogue,
  runner: Runner,
  how: { readonly name?: string; readonly times?: Partial<Times>; readonly told?: Partial<Told> } = {},
): Conductor {
  const troubles: string[] = [];
  const looks: unknown[] = [];
  const service = startService({
    warehouse,
    catalogue: known,
    runner,
    name: how.name ?? 'here',
    times: { ...quick, ...how.times },
    told: {
      ticked: () => undefined,
      ended: async () => undefined,
      look: async (findings) => {
        looks.push(...findings);
      },
      trouble: (what, error) => {
        troubles.push(`${what}: ${String(error)}`);
      },
      ...how.told,
    },
  });
  const control = openControl({ warehouse, catalogue: known, preview: runner.preview, nudge: service.nudge });
  return { service, control, troubles, looks };
}

/** Asks without a worker. */
export const controlOf = (warehouse: Warehouse, known: Catalogue): Control =>
  openControl({ warehouse, catalogue: known, preview: async () => [], nudge: () => undefined });
