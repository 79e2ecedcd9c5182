/** What the streams of one opened workflow engine share. */

import type { Missing } from '../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import type { Answer, Http, Json } from '../../core/request.ts';
import type { Found } from './dialect.ts';

export interface Workflow {
  readonly http: Http;
  /** DAGs to read, by name or file name; empty: all the engine lists. */
  readonly dags: readonly string[];
  /** Requests at once. */
  readonly concurrency: number;
  /** Told what a person should know. */
  readonly note: (message: string) => void;
  /** The engine's tongue, found out once. */
  readonly found: (signal: AbortSignal) => Promise<Found>;
  /**
   * Answers of statuses that one stream has asked for and another will read: taken once, so that a second try asks again. `Missing`: the engine
   * lists the DAG and has no status of it.
   */
  readonly heard: Map<string, Answer | Missing>;
}

/** A record on a page of its own. */
export const pageOf = (
  record: Json,
  { raw, date, receivedAt }: Pick<Answer, 'raw' | 'date' | 'receivedAt'>,
): Page => ({
  records: [record],
  raw,
  total: undefined,
  date,
  receivedAt,
  offset: undefined,
  last: false,
});

/**
 * Records made of several answers are kept as they were made when they are rejected, so that a replay maps what was mapped; no number loses a digit.
 */
export const madeReading = (
  pages: AsyncGenerator<Page, WalkEnd, void>,
  id: (record: Json) => string,
): Reading => ({
  pages,
  id,
  bytes: (record) => Buffer.from(JSON.stringify(record)),
});

/** The end of a reading that met everything it asked for; `expected` of it. */
export const endOf = (expected: number, fetched: number, matched = true): WalkEnd => ({
  expected,
  fetched,
  passes: 1,
  moved: 0,
  matched,
});
