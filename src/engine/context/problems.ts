/** Why a stream is not ok, and which errors end the run. */

import * as errors from '../../core/errors.ts';
import { longestOf, type StreamStatus } from '../../core/run.ts';
import type { Slice, Stream } from '../../core/stream.ts';

/** Why a stream is not ok though it went on. `passesAfterMs` as in its report. */
export interface Problem {
  readonly status: StreamStatus;
  readonly reason: string;
  readonly passesAfterMs?: number | undefined;
}

const fatal = [
  ...[errors.AuthFailed, errors.Fenced, errors.Interrupted, errors.Misconfigured, errors.OutOfTime],
  ...[errors.TooManyRejects, errors.Unreachable, errors.WarehouseFull],
];

/** Errors that end the whole run, not just the stream they happened in. */
export const endsRun = (error: unknown): boolean =>
  !(error instanceof errors.TidemarkError) || fatal.some((kind) => error instanceof kind);

/** Several as one: the worst, and how many more there are. */
export const worst = (problems: readonly Problem[]): Problem | undefined => {
  const first = problems.find(({ status }) => status === 'failed') ?? problems[0];
  if (first === undefined || problems.length === 1) return first;
  const reason = `${first.reason} (and ${problems.length - 1} more slices)`;
  return { ...first, reason, passesAfterMs: longestOf(problems.map((problem) => problem.passesAfterMs)) };
};

/** The stream and the slice of it, for people. */
export function where(stream: Stream, slice: Slice): string {
  const parts = Object.entries(slice.partition ?? {}).map(([name, value]) => `${name} ${value}`);
  const { from, to } = slice.window ?? {};
  if (slice.window !== undefined) parts.push(`${from?.toISOString() ?? '…'}/${to?.toISOString() ?? '…'}`);
  return parts.length === 0 ? stream.name : `${stream.name} (${parts.join(', ')})`;
}
