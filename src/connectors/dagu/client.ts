/** The connection to one workflow engine, and what its streams share. */

import * as errors from '../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import { isObject } from '../../core/record-object.ts';
import type { Answer, Http, Json, Request } from '../../core/request.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import type { Dialect } from './fields.ts';

/** What is needed to reach an engine; `WorkflowConfig` of config.ts is one. */
export interface EngineSettings {
  /** Before `/api/v1`; without a slash at its end. */
  readonly baseUrl: string;
  readonly token?: { reveal(): string };
}

export type HttpDeps = Partial<Omit<HttpOptions, 'baseUrl' | 'authorize'>>;

/** What the first answers of an engine show. */
export interface Found {
  readonly dialect: Dialect;
  /** The engine's clock, where it sends one. */
  readonly clock: Date | undefined;
  /** Whether its list had a DAG. False also where no list was read. */
  readonly hasDags: boolean;
}

/** One opened engine, as its streams see it. */
export interface Workflow {
  readonly http: Http;
  /** DAGs to read, by name or file name; empty: all that the engine lists. */
  readonly dags: readonly string[];
  /** Requests at once. */
  readonly concurrency: number;
  /** Reports a warning of the run. */
  readonly note: (message: string) => void;
  /** The dialect; the engine is asked once. */
  readonly found: (signal: AbortSignal) => Promise<Found>;
}

/** Throws `Misconfigured` for a base URL that cannot be used. */
export const openHttp = ({ baseUrl, token }: EngineSettings, deps: HttpDeps = {}): Http => {
  const authorize = () => (token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` });
  const http = createHttp({ ...deps, baseUrl, authorize });
  const { origin, counters } = http;
  return { origin, counters, send: (...args) => send(http, ...args), close: () => http.close() };
};

/**
 * The contract's envelope `{status: 'error', message}` is an error under any HTTP status. A token opens all of an engine or
 * nothing, so a 403 is about the token.
 */
const send = async (http: Http, request: Request, signal: AbortSignal): Promise<Answer> => {
  const answer = await http.send(request, signal).catch((cause: unknown) => {
    if (!(cause instanceof errors.Forbidden)) throw cause;
    throw new errors.AuthFailed(`${http.origin} refuses these credentials (${cause.message})`, { cause });
  });
  const { body, status } = answer;
  if (!isObject(body) || body.status !== 'error' || typeof body.message !== 'string') return answer;
  const message = `${request.method} ${request.endpoint} answered ${status} with an error: ${body.message}`;
  throw new errors.Refused(message, status, [body.message]);
};

/** A request of a route whose `{…}` are filled in their order. Throws `Misconfigured` for a name that would leave its place. */
export const route = (
  method: Request['method'],
  endpoint: string,
  names: readonly string[],
  more: Partial<Request> = {},
): Request => {
  const bad = names.find((name) => /^\.{0,2}$/.test(name));
  if (bad !== undefined)
    throw new errors.Misconfigured(`${JSON.stringify(bad)} cannot be part of an address`);
  const left = names.map(encodeURIComponent);
  return { method, path: endpoint.replaceAll(/\{\w+\}/g, () => left.shift() ?? ''), endpoint, ...more };
};

/** Whether an error is about one request alone (one DAG, one log), so that the engine may still answer others. */
export const isOfOneRequest = (error: unknown): error is errors.TidemarkError =>
  error instanceof errors.Refused ||
  error instanceof errors.Missing ||
  error instanceof errors.UnexpectedContent ||
  error instanceof errors.TooLarge ||
  (error instanceof errors.Transient && !(error instanceof errors.RateLimited));

/** The answer; undefined for a 404. */
export const sendOptional = (
  http: Http,
  request: Request,
  signal: AbortSignal,
): Promise<Answer | undefined> =>
  http.send(request, signal).catch((cause: unknown) => {
    if (cause instanceof errors.Missing) return undefined;
    throw cause;
  });

/** One 404 may be a deployment or a cache, so it is confirmed by a second request. */
export const confirmed = async <T>(ask: () => Promise<T | undefined>): Promise<T | undefined> =>
  (await ask()) ?? (await ask());

/** A page of one record. Without an answer: a record that was made of the warehouse's own rows. */
export const pageOf = (record: Json, answer?: Answer): Page => ({
  ...{ records: [record], total: undefined, offset: undefined, last: false },
  raw: answer?.raw ?? Buffer.from(JSON.stringify(record)),
  date: answer?.date,
  receivedAt: answer?.receivedAt ?? performance.now(),
});

/** Records are made of several answers, so a reject keeps the record as it was made: a replay maps the same. */
export const readingOf = (pages: Reading['pages'], id: Reading['id']): Reading => ({
  ...{ pages, id },
  bytes: (record) => Buffer.from(JSON.stringify(record)),
});

/** The end of a reading that read `fetched` of `expected` records. */
export const endOf = (expected: number, fetched: number): WalkEnd => ({
  ...{ expected, fetched, matched: fetched === expected, passes: 1, moved: 0 },
});

/** The first five names, and how many more there are. */
export const firstOf = (names: readonly string[]): string =>
  `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
