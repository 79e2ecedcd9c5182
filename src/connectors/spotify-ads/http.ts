/** The ads platform's manners, laid around an `Http`: a token that lives before every request, and lists that do not know our sort field. */

import { Refused } from '../../core/errors.ts';
import type { Http, Request } from '../../core/request.ts';
import type { Tokens } from './tokens.ts';

/** Requests whose rate the reporting endpoints share. */
export const isReport = (endpoint: string): boolean => /_reports(\/|$)/.test(endpoint);

/**
 * Sends with a fresh token. The contract leaves open which fields a list can be sorted by: where a server refuses ours (400, 422) and takes
 * the same request without it, that list is asked without it from then on. `note` hears of it once a list.
 */
export const adsHttp = (
  http: Http,
  tokens: Pick<Tokens, 'ready' | 'close'>,
  note: (message: string) => void,
): Http => {
  const unsorted = new Set<string>();
  const send: Http['send'] = async (request, signal) => {
    await tokens.ready(signal);
    const sortField = request.query?.sort_field;
    if (sortField === undefined) return http.send(request, signal);
    if (unsorted.has(request.endpoint)) return http.send(withoutSort(request), signal);
    try {
      return await http.send(request, signal);
    } catch (cause) {
      if (!(cause instanceof Refused) || (cause.status !== 400 && cause.status !== 422)) throw cause;
      const answer = await http.send(withoutSort(request), signal).catch(() => {
        // Then it was not the sort field: the first refusal is the one to tell.
        throw cause;
      });
      if (!unsorted.has(request.endpoint))
        note(`${request.endpoint} cannot be sorted by ${String(sortField)}; it is read as it comes`);
      unsorted.add(request.endpoint);
      return answer;
    }
  };
  return {
    origin: http.origin,
    counters: http.counters,
    send,
    async close() {
      await http.close();
      await tokens.close();
    },
  };
};

const withoutSort = (request: Request): Request => ({
  ...request,
  query: { ...request.query, sort_field: undefined },
});
