import type { RunEvent, RunReport } from '../../src/core/run.ts';
import type { Source } from '../../src/core/stream.ts';
import type { RunDeps } from '../../src/engine/context/deps.ts';
import { backfill, sync } from '../../src/engine/sync.ts';
import { type TestDatabase, testDatabase } from './postgres.ts';

/** A warehouse of its own and runs of any source into it, each with the source opened anew. */
export interface SourceRig {
  readonly database: TestDatabase;
  /** Events of all runs so far, and what the sources noted. */
  readonly events: RunEvent[];
  /** Messages of the notes so far. */
  notes(): readonly string[];
  sync(
    options?: { streams?: readonly string[]; full?: boolean },
    deps?: Partial<RunDeps>,
  ): Promise<RunReport>;
  backfill(options: { from: Date; to: Date }, deps?: Partial<RunDeps>): Promise<RunReport>;
  /** Rows of a query, values as the warehouse gives them. */
  rows<R extends object = Record<string, unknown>>(
    query: string,
    parameters?: readonly unknown[],
  ): Promise<readonly R[]>;
  close(): Promise<void>;
}

/** `open` is called for each run, with where its notes go. */
export async function openSourceRig(
  open: (observe: (event: RunEvent) => void) => Source,
): Promise<SourceRig> {
  const database = await testDatabase();
  const events: RunEvent[] = [];
  const observe = (event: RunEvent): void => void events.push(event);
  const during = async (work: (deps: RunDeps) => Promise<RunReport>, more: Partial<RunDeps> = {}) => {
    const source = open(observe);
    try {
      return await work({
        warehouse: database.warehouse,
        source,
        observe,
        signal: new AbortController().signal,
        concurrency: 4,
        version: 'test',
        trigger: 'manual',
        lookbackMs: 0,
        createdWindowMs: 0,
        historyStart: new Date(0),
        ...more,
      });
    } finally {
      await source.close();
    }
  };
  return {
    database,
    events,
    notes: () => events.flatMap((event) => (event.type === 'note' ? [event.message] : [])),
    sync: (what = {}, deps) => during((all) => sync(all, what), deps),
    backfill: (what, deps) => during((all) => backfill(all, what), deps),
    async rows<R extends object>(query: string, parameters: readonly unknown[] = []) {
      const { rows } = await database.warehouse.pool.query<R>(query, [...parameters]);
      return rows;
    },
    close: () => database.drop(),
  };
}
