/** What every route is handed: the state, and how the platform answers. */

import type { Answer, Call } from '../shared/http.ts';
import { Refusal } from '../shared/http.ts';
import { written } from './json.ts';
import type { Account } from './model.ts';
import type { AdsState } from './state.ts';

export interface Site {
  readonly state: AdsState;
  /** As the vendor answers; else as the contract says. */
  readonly vendor: boolean;
  json(body: unknown, status?: number): Answer;
  refused(status: number, message: string, code: string): Refusal;
  /** The account of a path. Throws 404 for none, 403 for a closed one. */
  owner(call: Call): Account;
  /** One page of a list. Throws 400 for a limit outside 1 to 50. */
  list(call: Call, key: string, all: readonly unknown[]): Answer;
  /** What a list is called in its envelope. */
  container(key: string): string;
  /** The `limit` of a request. Throws 400 outside 1 to 50. */
  limit(call: Call): number;
}

export interface SiteOptions {
  readonly vendor: boolean;
  /** Another name for every list, as other servers of the contract may have. */
  readonly container: string | undefined;
  /** False: answers have no `paging`. */
  readonly paging: boolean;
}

const headers = { 'content-type': 'application/json' };

export const siteOf = (state: AdsState, options: SiteOptions): Site => {
  const json = (body: unknown, status = 200): Answer => ({ status, headers, body: [Buffer.from(written(body))] });
  let traces = 0;
  const site: Site = {
    state,
    vendor: options.vendor,
    json,
    container: (key) => options.container ?? key,
    refused(status, message, code) {
      traces += 1;
      const trace = `trace-${traces}`;
      return new Refusal({
        ...json({ sp_trace_id: trace, messages: [message], error_codes: [{ code, definition: message }] }, status),
        headers: { ...headers, sp_trace_id: trace },
      });
    },
    owner(call) {
      const found = state.accounts.get(call.params.id ?? '');
      if (found === undefined) throw site.refused(404, 'The ad account was not found.', 'NOT_FOUND');
      if (found.forbidden) throw site.refused(403, 'You have no access to this ad account.', 'FORBIDDEN');
      return found;
    },
    limit(call) {
      const text = call.query.get('limit') ?? '50';
      const limit = Number(text);
      if (!Number.isInteger(limit) || limit < 1 || limit > 50)
        throw site.refused(400, `limit must be between 1 and 50, not ${text}`, 'ILLEGAL.LIMIT');
      return limit;
    },
    list(call, key, all) {
      const limit = site.limit(call);
      const offset = Number(call.query.get('offset') ?? 0);
      // The platform shows the newest first unless it is asked otherwise.
      const ordered = call.query.get('sort_direction') === 'ASC' ? all : [...all].reverse();
      const paging = { page_size: limit, total_results: all.length, offset };
      return json({
        ...(options.paging && { paging }),
        [site.container(key)]: ordered.slice(offset, offset + limit),
      });
    },
  };
  return site;
};
