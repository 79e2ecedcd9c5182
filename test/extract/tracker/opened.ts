/** A tracker source opened on a simulator, and its walks read to the end. */

import { afterEach } from 'vitest';
import { Secret } from '../../../src/config.ts';
import type { PageWalk } from '../../../src/core/paging.ts';
import type { Json } from '../../../src/core/request.ts';
import type { RunEvent } from '../../../src/core/run.ts';
import type { Flow, Slice, Source } from '../../../src/core/stream.ts';
import type { Row } from '../../../src/core/table.ts';
import { pages, type WalkEnd } from '../../../src/extract/pages.ts';
import { startTracker, type TrackerOptions, type TrackerSimulator } from '../../../src/simulator/tracker/server.ts';
import { openTracker, type TrackerSettings } from '../../../src/sources/tracker.ts';

export interface Opened {
  readonly simulator: TrackerSimulator;
  readonly source: Source;
  readonly events: RunEvent[];
  readonly signal: AbortSignal;
  flow(name: string): Flow;
  read(name: string, slice?: Slice): Promise<Read>;
  /** Bodies of the searches so far. */
  searches(): readonly Readonly<Record<string, Json>>[];
}

export interface Read {
  readonly records: readonly Json[];
  readonly ids: readonly string[];
  readonly rows: readonly Row[];
  readonly end: WalkEnd;
}

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

export const now = new Date('2025-03-10T12:00:00Z');

export const opened = async (
  options: TrackerOptions = {},
  settings: Partial<TrackerSettings> = {},
): Promise<Opened> => {
  const simulator = await startTracker({ issues: 250, users: 30, projects: 3, history: 2, now, ...options });
  open.push(simulator);
  const events: RunEvent[] = [];
  const source = openTracker(
    {
      baseUrl: simulator.url,
      email: simulator.email,
      apiToken: new Secret(simulator.token),
      start: new Date('2000-01-01T00:00:00Z'),
      changes: 'auto',
      groups: [],
      concurrency: 4,
      requestsPerSecond: 0,
      ...settings,
    },
    { observe: (event) => events.push(event), http: { retry: { baseMs: 1, capMs: 5 } } },
  );
  open.push(source);
  const { signal } = new AbortController();
  const flow = (name: string): Flow => {
    const found = source.flows.find((one) => one.stream.name === name);
    if (found === undefined) throw new Error(`no flow ${name}`);
    return found;
  };
  return {
    simulator,
    source,
    events,
    signal,
    flow,
    read: async (name, slice = {}) => {
      const { stream, via } = flow(name);
      if (stream.walk === undefined) throw new Error(`${name} is not walked`);
      const { records, ids, end } = await readAll(source, await stream.walk(slice, signal), signal);
      return { records, ids, rows: records.map((record) => via(record, slice).row), end };
    },
    searches: () =>
      simulator.log.flatMap(({ endpoint, body }) =>
        endpoint === '/rest/api/3/search/jql' && typeof body === 'object' && body !== null ? [{ ...body }] : [],
      ),
  };
};

export const readAll = async (
  source: Source,
  walk: PageWalk,
  signal: AbortSignal,
): Promise<{ readonly records: readonly Json[]; readonly ids: readonly string[]; readonly end: WalkEnd }> => {
  const records: Json[] = [];
  const reading = pages(source.http, walk, signal);
  for (;;) {
    const step = await reading.next();
    if (step.done === true) return { records, ids: records.map(walk.id), end: step.value };
    records.push(...step.value.records);
  }
};
