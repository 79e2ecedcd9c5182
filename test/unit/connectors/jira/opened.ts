/** A tracker source opened on a simulator, and its walks read to the end. */

import { afterEach } from 'vitest';
import {
  startTracker,
  type TrackerOptions,
  type TrackerSimulator,
} from '../../../../simulators/jira/server.ts';
import { openTracker, type TrackerSettings } from '../../../../src/connectors/jira/source.ts';
import type { Reading, WalkEnd } from '../../../../src/core/paging.ts';
import type { Json } from '../../../../src/core/request.ts';
import type { RunEvent } from '../../../../src/core/run.ts';
import type { Mapped, Slice, SliceContext, Source, Stream } from '../../../../src/core/stream.ts';
import type { Row } from '../../../../src/core/table.ts';
import { readingOf } from '../../../../src/reading/open-reading.ts';
import { settingsFor } from '../../../support/rig.ts';

export interface Opened {
  readonly simulator: TrackerSimulator;
  readonly source: Source;
  readonly events: RunEvent[];
  readonly signal: AbortSignal;
  flow(name: string): Stream;
  read(name: string, slice?: Slice): Promise<Read>;
  /** Bodies of the searches so far. */
  searches(): readonly Readonly<Record<string, Json>>[];
}

export interface Read {
  readonly records: readonly Json[];
  readonly ids: readonly string[];
  readonly rows: readonly Row[];
  /** Of each record, beside its row. */
  readonly children: readonly Mapped['children'][];
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
    { ...settingsFor(simulator), ...settings },
    { observe: (event) => events.push(event), http: { retry: { baseMs: 1, capMs: 5 } } },
  );
  open.push(source);
  const { signal } = new AbortController();
  const flow = (name: string): Stream => {
    const found = source.streams.find((one) => one.name === name);
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
      const stream = flow(name);
      const reading = await (stream.read?.(slice, nothing, signal) ?? walked(source, stream, slice, signal));
      const { records, ids, end } = await readAll(reading);
      const mapped = records.map((record) => stream.transform(record, slice));
      return {
        records,
        ids,
        rows: mapped.map(({ row }) => row),
        children: mapped.map(({ children }) => children),
        end,
      };
    },
    searches: () =>
      simulator.log.flatMap(({ endpoint, body }) =>
        endpoint === '/rest/api/3/search/jql' && typeof body === 'object' && body !== null
          ? [{ ...body }]
          : [],
      ),
  };
};

/** The engine lends nothing here: no stream of the tracker asks for anything. */
const none = (): never => {
  throw new Error('nothing is lent here');
};
const nothing: SliceContext = {
  keys: none,
  job: { current: none, creating: none, submitted: none, became: none },
  clock: now,
  now,
};

const walked = async (
  source: Source,
  stream: Stream,
  slice: Slice,
  signal: AbortSignal,
): Promise<Reading> => {
  if (stream.pages === undefined) throw new Error(`${stream.name} can neither be walked nor read`);
  return readingOf(source.http, await stream.pages(slice, signal), signal);
};

export const readAll = async (
  reading: Reading,
): Promise<{ readonly records: readonly Json[]; readonly ids: readonly string[]; readonly end: WalkEnd }> => {
  const records: Json[] = [];
  for (;;) {
    const step = await reading.pages.next();
    if (step.done === true) return { records, ids: records.map(reading.id), end: step.value };
    records.push(...step.value.records);
  }
};
