import { drawOf } from './seed.ts';

/** What a campaign consists of. */
export interface Size {
  /** How long faults come, ms. */
  readonly ms: number;
  readonly processes: number;
  /** Sources that misbehave. */
  readonly sources: number;
}

const second = 1_000;
const hour = 3_600_000;

/** What a fault happens to, and between which bounds its `ms` lies. */
const table = {
  'kill a process': { to: 'process', ms: [0, 5 * second] },
  'stop a process': { to: 'process', ms: [3 * second, 60 * second] },
  'end a process in good order': { to: 'process', ms: [0, 5 * second] },
  'step the clock of a process': { to: 'process', ms: [-2 * hour, 2 * hour] },
  'cut a process from the warehouse': { to: 'process', ms: [0, 0] },
  'silence the warehouse for a process': { to: 'process', ms: [5 * second, 40 * second] },
  'cut a source': { to: 'source', ms: [0, 0] },
  'silence a source': { to: 'source', ms: [5 * second, 40 * second] },
  'restart the warehouse': { to: 'warehouse', ms: [0, 5 * second] },
  'crash the warehouse': { to: 'warehouse', ms: [0, 5 * second] },
} as const;

export type Kind = keyof typeof table;
export const kinds = Object.keys(table) as readonly Kind[];

export interface Fault {
  readonly kind: Kind;
  /** When, ms after the beginning. */
  readonly at: number;
  readonly to: 'process' | 'source' | 'warehouse';
  /** Which process or source, from 1. */
  readonly which: number;
  /** How long, ms; of a clock: by how much, forward or back. */
  readonly ms: number;
}

/** Faults in the order of time, a few seconds apart. Of ten in a row each kind comes once. */
export function faultsOf(seed: number, { ms, processes, sources }: Size): readonly Fault[] {
  const { between } = drawOf(seed, 1);
  const count = { process: processes, source: sources, warehouse: 1 };
  const faults: Fault[] = [];
  for (let at = 5 * second, pack: Kind[] = []; at < ms; at += between(4_000, 9_000)) {
    if (pack.length === 0) pack = shuffled(kinds, between);
    const kind = pack.pop() ?? 'kill a process';
    const { to, ms: bounds } = table[kind];
    const which = between(1, count[to]);
    // The last ones are over soon after the others.
    const longest = Math.max(bounds[0], ms - at + 10 * second);
    faults.push({ kind, at, to, which, ms: Math.min(between(bounds[0], bounds[1]), longest) });
  }
  return faults;
}

function shuffled<T>(list: readonly T[], between: (from: number, to: number) => number): T[] {
  const left = [...list];
  return list.flatMap(() => left.splice(between(0, left.length - 1), 1));
}
