/** What reading a stream will cost, from what it cost before. */
import type { Cost, ReadMode, StreamSize } from '../core/run.ts';
import type { Past } from './history.ts';

/**
 * `basis`: what the requests are known from; absent: they are not known. `seconds`: absent where nothing limits them, nor did past runs.
 * `nights`: how many it takes until all owners were read, where they are read in turn.
 */
export type Estimated<S extends StreamSize> = S & {
  readonly seconds?: number;
  readonly nights?: number;
  readonly basis?: 'past runs' | 'counts';
};

/**
 * What requests grow with: with those that the source lets expect, where it does, because a piece of three days is
 * not one of ninety. What changed until tonight cannot be counted before: a night is like the nights before.
 */
function unitOf({ by, mode, records, requests }: StreamSize, past: Past) {
  if (by !== 'changes') return requests && past.expected ? 'expected' : 'slices';
  return records !== undefined && (mode === 'full' || mode === 'backfill') ? 'records' : 'runs';
}

/** Undefined where the stream was never read in this mode. */
export function estimateOf(size: StreamSize, history: readonly Past[]): Cost | undefined {
  const inMode = (wanted: ReadMode) =>
    history.find(({ stream, mode }) => stream === size.stream && mode === wanted);
  // A window is read as everything is.
  const past = inMode(size.mode) ?? (size.mode === 'backfill' ? inMode('full') : undefined);
  if (past === undefined) return undefined;
  const unit = unitOf(size, past);
  const { slices, records = 0, requests: expected = 0 } = size;
  const before = past[unit];
  const share = before ? { slices, records, expected, runs: 1 }[unit] / before : 1 / past.runs;
  return { requests: Math.round(past.requests * share), seconds: past.seconds * share };
}

/** The stream with requests and seconds: from past runs, else from the counts of its source. */
export function estimated<S extends StreamSize>(size: S, history: readonly Past[]): Estimated<S> {
  const cost = estimateOf(size, history);
  const requests = cost?.requests ?? size.requests;
  if (requests === undefined) return size;
  const least = size.perSecond && requests / size.perSecond;
  const seconds = cost ? Math.max(cost.seconds, least ?? 0) : least;
  const { most = Number.POSITIVE_INFINITY, of = 'requests' } = size.turn ?? {};
  const whole = { requests, minutes: (seconds ?? 0) / 60 }[of];
  const share = Math.min(1, most / whole);
  return {
    ...size,
    requests: Math.round(requests * share),
    ...(seconds !== undefined && { seconds: seconds * share }),
    ...(share < 1 && { nights: Math.ceil(whole / most) }),
    basis: cost ? 'past runs' : 'counts',
  };
}
