import { onTestFinished } from 'vitest';
import { startTracker, type TrackerOptions, type TrackerSimulator } from '../../simulators/jira/server.ts';
import { openTracker, type TrackerDeps, type TrackerSettings } from '../../src/connectors/jira/source.ts';
import type { RunEvent, RunReport } from '../../src/core/run.ts';
import type { Source } from '../../src/core/stream.ts';
import type { RunDeps } from '../../src/engine/context/deps.ts';
import { reconcile } from '../../src/engine/reconcile/reconcile.ts';
import { backfill, sync } from '../../src/engine/sync.ts';
import { type TestDatabase, testDatabase } from './postgres.ts';
import { smallSite } from './small-site.ts';

/** A tracker to read, a warehouse of its own, and runs between the two: everything real, nothing mocked. */
export interface Rig {
  readonly tracker: TrackerSimulator;
  readonly database: TestDatabase;
  /** Events of all runs so far. */
  readonly events: readonly RunEvent[];
  sync(options?: { streams?: readonly string[]; full?: boolean }, how?: RigRun): Promise<RunReport>;
  backfill(options: { from: Date; to: Date; streams?: readonly string[] }, how?: RigRun): Promise<RunReport>;
  reconcile(options?: { streams?: readonly string[] }, how?: RigRun): Promise<RunReport>;
  /** Anything else that a run's parts can do, with a source opened for it. */
  during<T>(work: (deps: RunDeps) => Promise<T>, how?: RigRun): Promise<T>;
  /** Rows of a query, values as the warehouse gives them. */
  rows<R extends object = Record<string, unknown>>(
    query: string,
    parameters?: readonly unknown[],
  ): Promise<readonly R[]>;
  close(): Promise<void>;
}

/** What differs for one run. */
export interface RigRun {
  readonly settings?: Partial<TrackerSettings>;
  readonly http?: TrackerDeps['http'];
  readonly signal?: AbortSignal;
  readonly deps?: Partial<RunDeps>;
}

/** Retries that do not keep a test waiting. */
export const hasty: NonNullable<TrackerDeps['http']> = { retry: { baseMs: 5, capMs: 50 } };

export async function openRig(
  options: TrackerOptions = {},
  settings: Partial<TrackerSettings> = {},
): Promise<Rig> {
  const tracker = await startTracker({
    seed: 7,
    issues: 300,
    projects: 3,
    users: 30,
    years: 0.5,
    ...options,
  });
  const database = await testDatabase();
  const events: RunEvent[] = [];
  const during = async <T>(how: RigRun, work: (deps: RunDeps) => Promise<T>): Promise<T> => {
    const source: Source = openTracker(
      {
        baseUrl: tracker.url,
        email: tracker.email,
        apiToken: { reveal: () => tracker.token },
        start: new Date('2000-01-01T00:00:00Z'),
        changes: 'auto',
        groups: [],
        concurrency: 4,
        requestsPerSecond: 0,
        ...settings,
        ...how.settings,
      },
      { http: { ...hasty, ...how.http } },
    );
    try {
      return await work({
        warehouse: database.warehouse,
        source,
        observe: (event) => events.push(event),
        signal: how.signal ?? new AbortController().signal,
        concurrency: 4,
        version: 'test',
        trigger: 'manual',
        lookbackMs: 86_400_000,
        createdWindowMs: 180 * 86_400_000,
        historyStart: new Date('2000-01-01T00:00:00Z'),
        ...how.deps,
      });
    } finally {
      await source.close();
    }
  };
  return {
    tracker,
    database,
    events,
    sync: (what = {}, how = {}) => during(how, (deps) => sync(deps, what)),
    backfill: (what, how = {}) => during(how, (deps) => backfill(deps, what)),
    reconcile: (what = {}, how = {}) => during(how, (deps) => reconcile(deps, what)),
    during: (work, how = {}) => during(how, work),
    async rows<R extends object>(query: string, parameters: readonly unknown[] = []) {
      const { rows } = await database.warehouse.pool.query<R>(query, [...parameters]);
      return rows;
    },
    async close() {
      await tracker.close();
      await database.drop();
    },
  };
}

/** A rig on the small site, closed at the end of the test. */
export async function testRig(
  options: TrackerOptions = {},
  settings: Partial<TrackerSettings> = {},
): Promise<Rig> {
  const rig = await openRig({ ...smallSite, ...options }, settings);
  onTestFinished(() => rig.close());
  return rig;
}
