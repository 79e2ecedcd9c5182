/** Asking for numbers that a server may not have. */

import { Refused } from '../../../core/errors.ts';
import type { Http, Request } from '../../../core/request.ts';

/**
 * An `Http` that leaves out of `fields` what the server refuses by name (400, 422), found out from its answers and kept from then on. Which
 * metrics a server knows is not in the contract, and new names come. `note` hears of each. A refusal that names none of our fields is thrown.
 */
export function withKnownFields(http: Http, note: (message: string) => void): Http {
  const unknown = new Map<string, Set<string>>();
  const refusedAt = (endpoint: string): Set<string> => {
    const known = unknown.get(endpoint) ?? new Set<string>();
    unknown.set(endpoint, known);
    return known;
  };
  return {
    origin: http.origin,
    counters: http.counters,
    close: () => http.close(),
    async send(request, signal) {
      for (;;) {
        const fields = fieldsOf(request);
        const refused = refusedAt(request.endpoint);
        const rest = fields.filter((field) => !refused.has(field));
        try {
          return await http.send(rest.length === fields.length ? request : asking(request, rest), signal);
        } catch (cause) {
          if (!(cause instanceof Refused) || (cause.status !== 400 && cause.status !== 422)) throw cause;
          const named = rest.filter((field) => cause.messages.some((message) => names(message, field)));
          if (named.length === 0 || named.length === rest.length) throw cause;
          for (const field of named) refused.add(field);
          note(`${request.endpoint}: the server does not know ${named.join(', ')}; it is asked for the rest`);
        }
      }
    },
  };
}

const fieldsOf = ({ query }: Request): readonly string[] => {
  const fields = query?.fields;
  return Array.isArray(fields) ? fields.map(String) : [];
};

const asking = (request: Request, fields: readonly string[]): Request => ({
  ...request,
  query: { ...request.query, fields },
});

/** As a word of its own: SPEND is not named by RETURN_ON_AD_SPEND. */
const names = (message: string, field: string): boolean =>
  new RegExp(`(?<![A-Za-z0-9_])${field}(?![A-Za-z0-9_])`).test(message);
