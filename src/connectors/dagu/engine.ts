/** One opened engine, as its streams see it, and what they share. */

import * as errors from '../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import type { Answer, Http, Json } from '../../core/request.ts';
import { mapConcurrent } from '../../reading/map-concurrent.ts';
import { confirmed, type Found, ofOneRequest, sendOptional, statusRequest } from './client.ts';
import { currentRun, type Run } from './fields.ts';

export interface Workflow {
  readonly http: Http;
  /** DAGs to read, by name or file name; empty: all that the engine has. */
  readonly dags: readonly string[];
  /** Requests at once. */
  readonly concurrency: number;
  /** Reports a warning of the run. */
  readonly note: (message: string) => void;
  /** The dialect; the engine is asked once. */
  readonly found: (signal: AbortSignal) => Promise<Found>;
}

/** A page of these records. Without an answer: of records that were made of the warehouse's own rows. */
export const pageOf = (records: readonly Json[], answer?: Answer): Page => ({
  ...{ records, total: undefined, offset: undefined },
  raw: answer?.raw ?? Buffer.from(JSON.stringify(records)),
  date: answer?.date,
  receivedAt: answer?.receivedAt ?? performance.now(),
});

/** Records are made of several answers, so a reject keeps the record as it was made: a replay maps the same. */
export const readingOf = (pages: Reading['pages'], id: Reading['id']): Reading => ({
  ...{ pages, id, bytes: (record) => Buffer.from(JSON.stringify(record)) },
});

/** The end of a reading of `fetched` out of `expected` records. */
export const endOf = (fetched: number, expected = fetched): WalkEnd => ({
  ...{ expected, fetched, matched: fetched === expected, passes: 1 },
});

/** The result, or the failure of this one DAG or run, which keeps no other out. */
export const attempt = <T>(name: string, work: Promise<T>): Promise<T | errors.TidemarkError> =>
  work.catch((error: unknown) => {
    const cause = ofOneRequest(error);
    return new errors.UnexpectedContent(`${name}: ${cause.message}`, { cause });
  });

/** The current execution of a DAG by the status of the contract; without `run` the engine does not know the DAG. */
interface Status {
  readonly dag: string;
  readonly answer?: Answer | undefined;
  readonly run?: Run | undefined;
}

/** The status of each named DAG, or why it cannot be read. */
export const statuses = (
  { http, dags, concurrency }: Workflow,
  signal: AbortSignal,
): AsyncGenerator<Status | errors.TidemarkError, void> => {
  const ask = async (dag: string, until: AbortSignal): Promise<Status> => {
    const answer = await confirmed(() => sendOptional(http, statusRequest(dag), until));
    return { dag, answer, run: answer && currentRun(answer.body, dag) };
  };
  return mapConcurrent(dags, concurrency, (dag, until) => attempt(dag, ask(dag, until)), signal);
};
