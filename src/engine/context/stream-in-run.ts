import type { StreamReport } from '../../core/run.ts';
import type { Stream } from '../../core/stream.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { beginStream, finishStream } from '../state/run-state.ts';
import { newTally, type RunContext, type Tally } from './run-context.ts';

/** A stream in a run, from its beginning. */
export interface StreamInRun {
  readonly tally: Tally;
  /** What it has come to by now. */
  report(status: StreamReport['status'], reason?: string, passesAfterMs?: number): StreamReport;
  /** Writes down and tells that it is over; gives the report. */
  end(done: StreamReport): Promise<StreamReport>;
}

/** The stream begins. */
export async function enterStream({ deps, run, reports }: RunContext, stream: Stream): Promise<StreamInRun> {
  const { db } = deps.warehouse;
  const started = performance.now();
  const tally = newTally();
  deps.observe({ type: 'stream.started', pipeline: run.pipeline, stream: stream.name });
  await withRetry(() => beginStream(db, run, stream.name));
  return {
    tally,
    report(status, reason, passesAfterMs) {
      const { counts, deleted, slices, expected, fetched, landed } = tally;
      return {
        ...{ stream: stream.name, status, counts, deleted, slices },
        receipt: { expected, fetched, landed },
        seconds: (performance.now() - started) / 1000,
        ...(reason !== undefined && { reason }),
        ...(passesAfterMs !== undefined && { passesAfterMs }),
      };
    },
    async end(done) {
      reports.set(stream.name, done);
      await withRetry(() => finishStream(db, run, done, stream.table));
      deps.observe({ type: 'stream.finished', pipeline: run.pipeline, report: done });
      return done;
    },
  };
}
