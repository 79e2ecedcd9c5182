/** What every route is handed: the state, and how the platform answers. */

import type { Clock } from '../shared/clock.ts';
import { type Answer, type Call, Refusal } from '../shared/http.ts';
import { time, written } from './json.ts';
import type { Account, Flaw } from './model.ts';
import type { AdsState } from './state.ts';

/** Which of the shapes of errors that were seen (vendor-facts 2.7) the platform uses. */
export type ErrorShape = 'codes' | 'camel' | 'nested' | 'message';

/** What the last page's `continuation_token` is. */
export type LastToken = 'empty' | 'null' | 'absent';

export interface SiteOptions {
  readonly vendor: boolean;
  /** Another name for every list, as other servers of the contract may have. */
  readonly container: string | undefined;
  /** False: answers have no `paging`. */
  readonly paging: boolean;
  readonly errors: ErrorShape;
  readonly lastToken: LastToken;
  /** False: nothing is asked for with DAY or HOUR unless its ids are given. */
  readonly wholeAccounts: boolean;
  /** Fields of reports that this server does not know. */
  readonly unknownFields: ReadonlySet<string>;
}

export interface Site extends SiteOptions {
  readonly state: AdsState;
  readonly clock: Clock;
  json(body: unknown, status?: number): Answer;
  refused(status: number, message: string, code: string, more?: Readonly<Record<string, unknown>>): Refusal;
  /** What a hierarchy of drafts is refused with. */
  invalid(flaws: readonly Flaw[]): Refusal;
  /** The account of a path. Throws 404 for none, 403 for a closed one. */
  owner(call: Call): Account;
  /** What a list is called in its envelope. */
  listKey(key: string): string;
  /** The `limit` of a request. Throws 400 outside 1 to 50. */
  limit(query: URLSearchParams): number;
}

const headers = { 'content-type': 'application/json' };

/** An error in one of the shapes. */
const errorBody = (
  shape: ErrorShape,
  {
    message,
    code,
    trace,
    path,
    at,
  }: { message: string; code: string; trace: string; path: string; at: number },
): Record<string, unknown> => {
  const codes = [{ code, definition: message }];
  if (shape === 'nested') return { error: { message, code }, path, timestamp: time(at) };
  if (shape === 'message') return { message };
  return {
    sp_trace_id: trace,
    messages: [message],
    [shape === 'camel' ? 'errorCodes' : 'error_codes']: codes,
  };
};

export const siteOf = (state: AdsState, options: SiteOptions): Site => {
  const json = (body: unknown, status = 200): Answer => ({
    status,
    headers,
    body: [Buffer.from(written(body))],
  });
  let traces = 0;
  const site: Site = {
    ...options,
    state,
    clock: state.clock,
    json,
    listKey: (key) => options.container ?? key,
    refused(status, message, code, more = {}) {
      traces += 1;
      const trace = `00000000-0000-4000-a000-${traces.toString(16).padStart(12, '0')}`;
      const at = state.clock.now().getTime();
      const body = errorBody(options.errors, { message, code, trace, path: '/ads/v3', at });
      return new Refusal({
        ...json({ ...body, ...more }, status),
        headers: { ...headers, sp_trace_id: trace },
      });
    },
    invalid: (flaws) =>
      site.refused(400, `The draft has ${flaws.length} errors.`, 'ILLEGAL.DRAFT_HIERARCHY', {
        validation_errors: flaws.map(({ type, id, message }) => ({
          validation_entity_type: type,
          validation_entity_id: id,
          message,
        })),
      }),
    owner(call) {
      const found = state.accounts.get(call.params.id ?? '');
      if (found === undefined) throw site.refused(404, 'The ad account was not found.', 'NOT_FOUND');
      if (found.forbidden) throw site.refused(403, 'You have no access to this ad account.', 'FORBIDDEN');
      return found;
    },
    limit(query) {
      const text = query.get('limit') ?? '50';
      const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
      if (limit < 1 || limit > 50)
        throw site.refused(400, `limit must be between 1 and 50, not ${text}`, 'ILLEGAL.LIMIT');
      return limit;
    },
  };
  return site;
};
