import type { StreamReport } from '../../core/run.ts';
import type { Stream } from '../../core/stream.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { beginStream, finishStream } from '../state/run-state.ts';
import { newTally, type RunContext } from './run-context.ts';

/** A stream in a run, from its beginning. */
export type StreamInRun = Awaited<ReturnType<typeof enterStream>>;

/** The stream begins. */
export async function enterStream({ deps, run, reports }: RunContext, { name, table }: Stream) {
  const { db } = deps.warehouse;
  const started = performance.now();
  const tally = newTally();
  deps.observe({ type: 'stream.started', pipeline: run.pipeline, stream: name });
  await withRetry(() => beginStream(db, run, name));
  return {
    tally,
    /** What it has come to by now. */
    report(status: StreamReport['status'], reason?: string, passesAfterMs?: number): StreamReport {
      const { counts, deleted, slices, receipt } = tally;
      const seconds = (performance.now() - started) / 1000;
      return { stream: name, status, counts, deleted, slices, receipt, seconds, reason, passesAfterMs };
    },
    /** Writes down and reports that it is over; gives the report. */
    async end(report: StreamReport): Promise<StreamReport> {
      reports.set(name, report);
      await withRetry(() => finishStream(db, run, report, table));
      deps.observe({ type: 'stream.finished', pipeline: run.pipeline, report });
      return report;
    },
  };
}
