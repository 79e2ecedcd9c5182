/** What joins a run in the warehouse and the request that it came from. */

import type { RunDetail, RunLine } from '../../run/history/runs.ts';
import type { Ask, Control, DagRun } from '../../schedule/control.ts';

/** Requests that may be asked for again. */
const retryable: readonly DagRun['status'][] = ['failed', 'partly_failed', 'stopped', 'lost', 'interrupted'];

export const canRetry = (request: DagRun): boolean => request.finishedAt !== null && retryable.includes(request.status);

/** Requests that wait, are at work, or will be taken up again by themselves. */
export const isActive = (request: DagRun): boolean => request.finishedAt === null;

const perPage = 50;
const mostPages = 20;

/** The request that a run came from; undefined where there is none (a run of the command line) or it is too long ago. */
export async function requestOf(control: Control, run: RunLine): Promise<DagRun | undefined> {
  for (const { name } of await control.list()) {
    let before: string | undefined;
    for (let page = 0; page < mostPages; page++) {
      const found = await control.history(name, { limit: perPage, ...(before === undefined ? {} : { before }) });
      const request = found.find((each) => each.runs.includes(run.runId));
      if (request !== undefined) return request;
      before = found.at(-1)?.runId;
      const oldest = found.at(-1)?.queuedAt.getTime();
      // A request is queued before its run begins, and taken up long before two days are over.
      if (found.length < perPage || oldest === undefined || oldest < run.startedAt.getTime() - 2 * 86_400_000) break;
    }
  }
  return undefined;
}

/** What a run of the command line was asked to do, as an ask that can be queued. */
export function askOf(run: RunDetail): Ask | undefined {
  const { kind } = run;
  if (kind !== 'sync' && kind !== 'full' && kind !== 'backfill' && kind !== 'census') return undefined;
  const params: Readonly<Record<string, unknown>> =
    typeof run.params === 'object' && run.params !== null ? Object.fromEntries(Object.entries(run.params)) : {};
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

/** What an ask says, as the API's `params` would: `FROM=2024-01-01 TO=2024-02-01 STREAMS=issues`. */
export function paramsOf(ask: Ask): string {
  return [
    ...(ask.window === undefined ? [] : [`FROM=${dayOf(ask.window.from)}`, `TO=${dayOf(ask.window.to)}`]),
    ...(ask.streams === undefined ? [] : [`STREAMS=${ask.streams.join(',')}`]),
    ...(ask.does === 'full' ? ['FULL=true'] : []),
  ].join(' ');
}

const dayOf = (instant: Date): string => {
  const text = instant.toISOString();
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text;
};
