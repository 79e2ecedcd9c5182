import { type Opened, sourceOf } from '../../src/connectors/connector.ts';
import type { RunEvent, RunReport } from '../../src/core/run.ts';
import type { RunDeps } from '../../src/engine/context/deps.ts';
import { reconcile } from '../../src/engine/reconcile/reconcile.ts';
import { sync } from '../../src/engine/sync.ts';
import { type TestDatabase, testDatabase } from './postgres.ts';

/** What differs for one run. */
export interface SourceRun {
  readonly signal?: AbortSignal;
  readonly deps?: Partial<RunDeps>;
}

/** A warehouse of its own and runs of any source into it, each with the source opened anew. Nothing is mocked. */
export interface SourceRig<How extends SourceRun = SourceRun> {
  readonly database: TestDatabase;
  /** Events of all runs so far, and what the sources noted. */
  readonly events: RunEvent[];
  /** Messages of the notes so far. */
  notes(): readonly string[];
  sync(options?: { streams?: readonly string[]; full?: boolean }, how?: Partial<How>): Promise<RunReport>;
  backfill(
    options: { from: Date; to: Date; streams?: readonly string[] },
    how?: Partial<How>,
  ): Promise<RunReport>;
  reconcile(options?: { streams?: readonly string[] }, how?: Partial<How>): Promise<RunReport>;
  /** Anything else that a run's parts can do, with a source opened for it. */
  during<T>(work: (deps: RunDeps) => Promise<T>, how?: Partial<How>): Promise<T>;
  /** Rows of a query, values as the warehouse gives them. */
  rows<R extends object = Record<string, unknown>>(
    query: string,
    parameters?: readonly unknown[],
  ): Promise<readonly R[]>;
  close(): Promise<void>;
}

/** Retries that do not keep a test waiting. */
export const hasty = { retry: { baseMs: 5, capMs: 50 } };

/** `open` is called for each run of the pipeline `name`; `defaults` apply to all of them. */
export async function openSourceRig<How extends SourceRun = SourceRun>(
  name: 'tracker' | 'ads' | 'workflow',
  open: (note: (message: string) => void, how: Partial<How>) => Opened,
  defaults: Partial<RunDeps> = {},
): Promise<SourceRig<How>> {
  const database = await testDatabase();
  const events: RunEvent[] = [];
  const observe = (event: RunEvent): void => void events.push(event);
  const during = async <T>(work: (deps: RunDeps) => Promise<T>, how: Partial<How> = {}): Promise<T> => {
    const note = (message: string) => observe({ type: 'note', pipeline: name, level: 'warn', message });
    const source = sourceOf(name, name, open(note, how));
    try {
      return await work({
        warehouse: database.warehouse,
        source,
        observe,
        signal: how.signal ?? new AbortController().signal,
        concurrency: 4,
        version: 'test',
        trigger: 'manual',
        lookbackMs: 0,
        createdWindowMs: 0,
        historyStart: new Date(0),
        ...defaults,
        ...how.deps,
      });
    } finally {
      await source.close();
    }
  };
  return {
    database,
    events,
    notes: () => events.flatMap((event) => (event.type === 'note' ? [event.message] : [])),
    sync: (what = {}, how) => during((deps) => sync(deps, what), how),
    backfill: ({ from, to, ...what }, how) =>
      during((deps) => sync(deps, { ...what, window: { from, to } }), how),
    reconcile: (what = {}, how) => during((deps) => reconcile(deps, what), how),
    during,
    async rows<R extends object>(query: string, parameters: readonly unknown[] = []) {
      const { rows } = await database.warehouse.pool.query<R>(query, [...parameters]);
      return rows;
    },
    close: () => database.drop(),
  };
}
