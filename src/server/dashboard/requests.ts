/** What joins a run in the warehouse and the request that it came from. */

import type { Db } from '../../queries/db.ts';
import { requestOfRun } from '../../queries/request-status.ts';
import type { RunDetail, RunLine } from '../../queries/run-history.ts';
import type { Ask, Control, DagRun } from '../../scheduler/control.ts';
import { UnknownDag, UnknownRun } from '../../scheduler/request-errors.ts';
import { manualId } from '../../scheduler/request-records.ts';

/** Requests that may be asked for again. */
const retryable: readonly DagRun['status'][] = ['failed', 'partly_failed', 'stopped', 'lost', 'interrupted'];

export const canRetry = (request: DagRun): boolean =>
  request.finishedAt !== null && request.does !== 'replay' && retryable.includes(request.status);

/** Requests that wait, are at work, or will be taken up again by themselves. */
export const isActive = (request: DagRun): boolean => request.finishedAt === null;

/** The request that a run came from; for a run of the command line, that run as a request. Undefined: neither. */
export async function requestOf(control: Control, db: Db, run: RunLine): Promise<DagRun | undefined> {
  const queued = await requestOfRun(db, run.runId);
  const asked =
    queued ?? (run.trigger === 'manual' ? { pipeline: run.pipeline, runId: manualId(run.runId) } : undefined);
  try {
    return asked && (await control.run(asked.pipeline, asked.runId));
  } catch (error) {
    // A pipeline that is no longer among those of this program.
    if (error instanceof UnknownDag || error instanceof UnknownRun) return undefined;
    throw error;
  }
}

/** What a run was asked to do, as an ask that can be queued again. */
export function askOf(run: RunDetail): Ask | undefined {
  const { kind } = run;
  if (kind !== 'sync' && kind !== 'full' && kind !== 'backfill' && kind !== 'reconcile') return undefined;
  const params: Readonly<Record<string, unknown>> =
    typeof run.params === 'object' && run.params !== null
      ? Object.fromEntries(Object.entries(run.params))
      : {};
  const { streams, from, to } = params;
  const window =
    instantOf(from) && instantOf(to) ? { from: new Date(String(from)), to: new Date(String(to)) } : undefined;
  if (kind === 'backfill' && window === undefined) return undefined;
  const names = Array.isArray(streams) ? streams.filter((each) => typeof each === 'string') : [];
  return {
    pipeline: run.pipeline,
    does: kind,
    ...(names.length === 0 ? {} : { streams: names }),
    ...(window === undefined || kind !== 'backfill' ? {} : { window }),
  };
}

const instantOf = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value));
