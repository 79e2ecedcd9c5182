/** What a run is given, how much of it is done at once, and which of the source's streams it reads. */

import { Misconfigured } from '../../core/errors.ts';
import type { Cost, Observe, ReadingOptions, StreamSize } from '../../core/run.ts';
import type { Partition, Source, Stream } from '../../core/stream.ts';
import { nameOf } from '../../core/table.ts';
import type { Warehouse } from '../../warehouse/connect.ts';

/** Absent: nothing is left out, and no stream is read in turn. */
type Omissible = 'exclude' | 'rotate';

/** What a run is given by `main.ts`: everything it needs, nothing it could look up by itself. */
export interface RunDeps extends Omit<ReadingOptions, Omissible>, Partial<Pick<ReadingOptions, Omissible>> {
  readonly warehouse: Warehouse;
  readonly source: Source;
  readonly observe: Observe;
  readonly signal: AbortSignal;
  /** How long a run may take in all; absent: for ever. */
  readonly deadlineMs?: number;
  /** The name of the setting that holds the excluded ones, for people: `TRACKER_EXCLUDE`. */
  readonly excludedBy?: string;
  readonly version: string;
  readonly trigger: 'manual' | 'schedule' | 'api';
  /** What the runs before this one let expect; it is kept beside what came. Absent: nothing is. */
  readonly estimate?: (size: StreamSize) => Promise<Cost | undefined>;
}

/**
 * Batches that are loaded at once: more would share the same processors, and hold up the reading on a machine
 * that has few.
 */
export const mostLoads = 2;

/**
 * From this many slices at once, a slice waits while its batch is loaded: the others are read in the meantime.
 * A second batch for each slice would double the memory.
 */
export const manySlices = 4;

/**
 * How many slices are read at once, by the number of parallel requests. Where slices wait for their batches,
 * two more slices keep all requests in use.
 */
export const slicesAtOnce = (requests: number): number =>
  requests < manySlices ? requests : requests + mostLoads;

/**
 * Connections to the warehouse: every slice that is read at once may load at once; the rest is for the lease,
 * the bookkeeping and the reconciliation.
 */
export const connectionsFor = (requests: number): number => slicesAtOnce(requests) + 4;

/** Whether a stream can leave owners to the next run: each run reads all of them. */
export const canRotate = ({ by, partitions }: Stream): boolean =>
  by !== 'changes' && partitions !== undefined && partitions.active === undefined;

/** What a source has, and which of it is left out. */
type Choice = Pick<RunDeps, 'exclude'> & { readonly source: Pick<Source, 'streams'> };

/**
 * The streams of the named streams (a child's name means its parent's stream), in the source's order; without
 * names all but those that are excluded. Throws Misconfigured for a name that no stream has.
 */
export function chosenStreams(deps: Choice, names: readonly string[] = []): readonly Stream[] {
  const { streams } = deps.source;
  const excluded = excludedOf(deps);
  if (names.length === 0) return streams.filter(({ name }) => !excluded.has(name));
  const owns = ({ name: own, children = {} }: Stream, name: string): boolean =>
    own === name || Object.hasOwn(children, name);
  const unknown = names.filter((name) => !streams.some((stream) => owns(stream, name)));
  if (unknown.length > 0)
    throw new Misconfigured(
      `no stream is called ${unknown.join(', ')}; there are ${streams.map((stream) => stream.name).join(', ')}`,
    );
  return streams.filter((stream) => names.some((name) => owns(stream, name)));
}

/**
 * The excluded streams and owners (`boards:7`), and streams that are read by the owners of an excluded one: its
 * owners would be unknown.
 */
export function excludedOf({ source: { streams }, exclude }: Choice): ReadonlySet<string> {
  const excluded = new Set(exclude);
  // Owners come before what is read by them.
  for (const { name, partitions } of streams)
    if (streams.some((owner) => excluded.has(owner.name) && nameOf(owner.table) === partitions?.table))
      excluded.add(name);
  return excluded;
}

/**
 * Partition key → the name of the stream whose rows are these owners: `board_id` → `boards`. By their own names
 * those of which a connector leaves out single rows by itself.
 */
export const ownerStreams = ({ streams }: Pick<Source, 'streams'>): ReadonlyMap<string, string> =>
  new Map(
    streams.flatMap(({ name, table, canLeaveOut }) => {
      const parts = streams.flatMap(({ partitions: of }) =>
        of?.table === nameOf(table) ? [of.columns] : [],
      );
      const keys = parts.flatMap((columns) => Object.keys(columns));
      return [...keys, ...(canLeaveOut ? [name] : [])].map((key) => [key, name]);
    }),
  );

/** How a stream, or the owner of a slice of it, can be left out, for people. */
export function leavingOut(deps: RunDeps, { name }: Stream, partition: Partition = {}): string {
  const owners = ownerStreams(deps.source);
  const [key, value] = Object.entries(partition).find(([one]) => owners.has(one)) ?? [];
  const what = key === undefined ? name : `${owners.get(key)}:${value}`;
  return `give the permission, or leave it out: add ${what} to ${deps.excludedBy ?? 'exclude'}`;
}
