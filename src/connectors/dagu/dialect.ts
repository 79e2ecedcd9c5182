/** Which tongue the engine speaks, found out from its answers. */

import {
  AuthFailed,
  Forbidden,
  Misconfigured,
  Missing,
  RateLimited,
  Refused,
  TidemarkError,
  Transient,
  UnexpectedContent,
} from '../../core/errors.ts';
import type { Answer, Http, Json, Request } from '../../core/request.ts';
import { isObject, plain } from './json-members.ts';
import { payloadOf } from './normalize.ts';

/**
 * status: the contract, `/dags/{dag}/status`, `/start` and `/stop`; only the current execution is told.
 * history: the vendor's API with runs, steps and logs; under /api/v2 in its releases 1.17 to 1.30, under /api/v1 since 2.0.
 */
export type Dialect =
  | { readonly kind: 'status'; readonly words: string }
  | { readonly kind: 'history'; readonly prefix: '/api/v1' | '/api/v2'; readonly words: string };

export type History = Extract<Dialect, { kind: 'history' }>;

/** What was found, and the answer by which. */
export interface Found {
  readonly dialect: Dialect;
  readonly answer: Answer;
  /** The DAG whose status was asked; undefined where a list answered. */
  readonly dag?: string;
}

export const statusRequest = (dag: string): Request => ({
  method: 'GET',
  path: `/api/v1/dags/${segment(dag)}/status`,
  endpoint: '/api/v1/dags/{dag}/status',
});

/** DAGs to a page: the vendor's largest number; others ignore it. */
export const pageSize = 100;

/** The engine's list of DAGs. */
export const listRequest = (prefix: '/api/v1' | '/api/v2'): Request => ({
  method: 'GET',
  path: `${prefix}/dags`,
  endpoint: `${prefix}/dags`,
  query: { page: 1, perPage: pageSize },
});

/** A name as a segment of a path. Throws `Misconfigured` for one that would leave it. */
export const segment = (name: string): string => {
  if (name === '' || name === '.' || name === '..')
    throw new Misconfigured(`${JSON.stringify(name)} cannot be the name of a DAG`);
  return encodeURIComponent(name);
};

/**
 * A status that answers is the contract; a list of DAGs with their files is the vendor. With names, the contract is tried first, and neither a
 * DAG nor a list that is refused speaks for the others: the contract promises no list, and does not say how an error of one DAG is answered.
 * Throws `Misconfigured` where nothing is named and the engine has no list, `Missing` where none of the names is known and nothing else
 * answers, and what was met where that was an error of another kind.
 */
export const findDialect = async (
  http: Http,
  dags: readonly string[],
  signal: AbortSignal,
): Promise<Found> => {
  const [first, ...others] = dags;
  const refused: TidemarkError[] = [];
  const byStatus = async (dag: string): Promise<Found | undefined> => {
    const answer = await there(http, statusRequest(dag), signal).catch((cause: unknown) => {
      if (!isOfOneDag(cause)) throw cause;
      refused.push(cause);
      if (isIll(refused)) throw cause;
      return undefined;
    });
    return answer && { dialect: contract, answer, dag };
  };
  const told = first === undefined ? undefined : await byStatus(first);
  if (told !== undefined) return told;
  const list = async (prefix: '/api/v1' | '/api/v2'): Promise<Answer | TidemarkError> => {
    try {
      const answer = await listThere(http, prefix, signal);
      // All that was there would pass for gone, and the engine for one of the contract: that there is nothing is asked twice.
      return isAnswer(answer) && namesIn(answer.body)?.length === 0
        ? await listThere(http, prefix, signal)
        : answer;
    } catch (cause) {
      if (dags.length === 0 || !(isOfOneDag(cause) || isForbidden(cause))) throw cause;
      refused.push(cause);
      return cause;
    }
  };
  const v1 = await list('/api/v1');
  if (isAnswer(v1) && isVendorList(v1.body)) return { dialect: vendor('/api/v1'), answer: v1 };
  if (isAnswer(v1) && namesIn(v1.body) !== undefined && !isOldVendorList(v1.body))
    return { dialect: contract, answer: v1 };
  const v2 = await list('/api/v2');
  if (isAnswer(v2) && isVendorList(v2.body)) return { dialect: vendor('/api/v2'), answer: v2 };
  for (const dag of others) {
    const found = await byStatus(dag);
    if (found !== undefined) return found;
  }
  const [other] = refused;
  if (other !== undefined) throw other;
  // A page or a redirect says more about what is wrong than a path that is not there.
  const met = [v1, v2].flatMap((one) => (isAnswer(one) ? [] : [one]));
  const cause = met.find((one) => one instanceof UnexpectedContent) ?? met[0];
  if (dags.length === 0)
    throw new Misconfigured(
      `${http.origin} shows no list of its DAGs${cause === undefined ? '' : ` (${cause.message})`}: is WORKFLOW_BASE_URL right? If the engine has none, name those to read in WORKFLOW_DAGS`,
      { cause },
    );
  throw new Missing(
    `${http.origin} knows none of the DAGs ${dags.slice(0, 5).join(', ')}: are WORKFLOW_BASE_URL and the names right?`,
    404,
    { cause },
  );
};

/** DAGs whose status fails as it does where an engine is ill, after which the engine is taken to be. */
const mostIll = 3;

/** Whether what was met of DAGs so far is the engine's own illness. */
export const isIll = (met: readonly TidemarkError[]): boolean =>
  met.filter((one) => one instanceof Transient).length >= mostIll;

/** Whether an error may be one DAG's alone: engines of this kind answer a DAG they cannot read with 400, with 500, or with 200 and an error. */
export const isOfOneDag = (cause: unknown): cause is Refused | Transient =>
  cause instanceof Refused || (cause instanceof Transient && !(cause instanceof RateLimited));

/** 403, which of a status is about the credentials. */
export const isForbidden = (cause: unknown): cause is AuthFailed =>
  cause instanceof AuthFailed && cause.cause instanceof Forbidden;

/** An engine of the contract. */
export const contract: Dialect = {
  kind: 'status',
  words: 'API: status, start and stop of each DAG (contract); no history',
};
const vendor = (prefix: '/api/v1' | '/api/v2'): Dialect => ({
  kind: 'history',
  prefix,
  words: `API: runs, steps and logs (${prefix})`,
});

/** The answer; undefined where there is no such thing. */
export const there = async (
  http: Http,
  request: Request,
  signal: AbortSignal,
): Promise<Answer | undefined> => {
  try {
    return await http.send(request, signal);
  } catch (cause) {
    if (cause instanceof Missing) return undefined;
    throw cause;
  }
};

/** The answer, or what was met instead: servers with a user interface answer paths they do not know with its page, no list there, either. */
const listThere = async (
  http: Http,
  prefix: '/api/v1' | '/api/v2',
  signal: AbortSignal,
): Promise<Answer | Missing | UnexpectedContent> => {
  try {
    return await http.send(listRequest(prefix), signal);
  } catch (cause) {
    if (cause instanceof Missing || cause instanceof UnexpectedContent) return cause;
    throw cause;
  }
};

const isAnswer = (met: Answer | TidemarkError): met is Answer => !(met instanceof TidemarkError);

/** `{dags: [{fileName, dag, latestDAGRun, …}], errors, pagination}`; `dags` is null where there is none. */
const isVendorList = (body: Json): boolean =>
  isObject(body) &&
  isObject(body.pagination) &&
  (body.dags === null ||
    (Array.isArray(body.dags) && body.dags.every((one) => isObject(one) && 'fileName' in one)));

/** `{DAGs: [{DAG, Status, …}]}`: the vendor's first API, which has newer ones beside it since 1.17. */
const isOldVendorList = (body: Json): boolean => isObject(body) && 'DAGs' in body;

/** The elements of a list of DAGs: a bare array, or the array of the payload that is called after them. */
export const namesIn = (body: Json): readonly Json[] | undefined => {
  if (Array.isArray(body)) return body;
  if (isObject(body) && body.status === 'success' && Array.isArray(body.data)) return body.data;
  const payload = payloadOf(body) ?? {};
  const found = Object.entries(payload).find(
    ([key, value]) => ['dags', 'items', 'workflows'].includes(plain(key)) && Array.isArray(value),
  );
  return Array.isArray(found?.[1]) ? found[1] : undefined;
};
