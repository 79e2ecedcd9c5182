/** A tracker source opened on a simulator, and its walks read to the end. */

import { afterEach } from 'vitest';
import { startTracker, type TrackerOptions } from '../../../../simulators/jira/server.ts';
import { sourceOf } from '../../../../src/connectors/connector.ts';
import { openTracker, type TrackerSettings } from '../../../../src/connectors/jira/source.ts';
import type { Json, Slice, SliceContext, SliceReading, Source, Stream } from '../../../../src/core/stream.ts';
import { readingOf } from '../../../../src/reading/pages.ts';
import { settingsFor } from '../../../support/rig.ts';

/** A source on its simulator; `read` gives records, their ids, and the rows and children they become. */
export type Opened = Awaited<ReturnType<typeof opened>>;

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

export const now = new Date('2025-03-10T12:00:00Z');

export const opened = async (options: TrackerOptions = {}, settings: Partial<TrackerSettings> = {}) => {
  const simulator = await startTracker({ issues: 250, users: 30, projects: 3, history: 2, now, ...options });
  open.push(simulator);
  const notes: string[] = [];
  const tracker = openTracker(
    { ...settingsFor(simulator), ...settings },
    { note: (message) => notes.push(message), http: { retry: { baseMs: 1, capMs: 5 } } },
  );
  const source = sourceOf('tracker', 'tracker', tracker);
  open.push(source);
  const { signal } = new AbortController();
  const flow = (name: string): Stream => {
    const found = source.streams.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no stream ${name}`);
    return found;
  };
  return {
    simulator,
    source,
    notes,
    signal,
    flow,
    read: async (name: string, slice: Slice = {}) => {
      const stream = flow(name);
      const reading = await (stream.read?.(slice, nothing, signal) ?? walked(source, stream, slice, signal));
      const read = await readAll(reading);
      const mapped = read.records.map((record) => stream.transform(record, slice));
      return {
        ...read,
        rows: mapped.map(({ row }) => row),
        children: mapped.map(({ children }) => children),
      };
    },
    /** Bodies of the searches so far. */
    searches: () =>
      simulator.log.flatMap(({ endpoint, body }) =>
        /\/rest\/api\/(3\/search\/jql|2\/search)$/.test(endpoint)
          ? [Object(body) as Readonly<Record<string, Json>>]
          : [],
      ),
  };
};

/** What a slice may use; no stream of the tracker uses any of it. */
const none = (): never => {
  throw new Error('no stream of the tracker uses this');
};
const nothing: SliceContext = {
  keys: none,
  job: { current: none, creating: none, submitted: none, became: none },
  clock: now,
  now,
};

const walked = async (source: Source, stream: Stream, slice: Slice, signal: AbortSignal) => {
  if (stream.pages === undefined) throw new Error(`${stream.name} can neither be walked nor read`);
  return readingOf(source.http, await stream.pages(slice, signal), signal);
};

export const readAll = async (reading: SliceReading) => {
  const records: Json[] = [];
  for (;;) {
    const step = await reading.pages.next();
    if (step.done === true) return { records, ids: records.map(reading.id), end: step.value };
    records.push(...step.value.records);
  }
};
