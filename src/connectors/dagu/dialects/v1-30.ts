/** Dagu 1.17 to 1.30: what Dagu 2 has, under `/api/v2` and without pages of runs. */

import { UnexpectedContent } from '../../../core/errors.ts';
import type { Http } from '../../../core/stream.ts';
import { beganAt, type DagRunRecord } from '../transform.ts';
import type { DaguDialect, Span } from './dialect.ts';
import { v2 } from './v2.ts';

export const v1_30 = (http: Http): DaguDialect => {
  const dagu = v2(http, '/api/v2');
  /**
   * It cuts its list silently (measured: at 1000 of 1206), so a list that is as long as a limit is divided at a second
   * and read again. Throws `UnexpectedContent` where a list is cut that cannot be divided.
   */
  async function* history(
    span: Span,
    signal: AbortSignal,
  ): AsyncGenerator<readonly DagRunRecord[], void, void> {
    for await (const runs of dagu.history(span, signal))
      if (runs.length === 0 || runs.length % 100 !== 0) yield runs;
      else {
        const second = divide(runs, span);
        yield* history({ ...span, from: second }, signal);
        yield* history({ ...span, to: second }, signal);
      }
  }
  return { ...dagu, about: 'API: runs and steps (/api/v2, Dagu 1.17 to 1.30)', history };
};

/** A second within the span with runs on both sides of it, where possible. */
const divide = (runs: readonly DagRunRecord[], { from, to }: Span): number => {
  const made = runs.flatMap((run) => beganAt(run) ?? []).sort((a, b) => Number(a - b));
  const median = Number((made[Math.floor(made.length / 2)] ?? 0n) / 1_000_000n);
  const second = [median, Math.floor((from + to) / 2)].find((one) => one > from && one < to);
  if (second !== undefined) return second;
  throw new UnexpectedContent(`the engine cuts its list of the runs of a single second (${from})`);
};
