/** Names of metrics, dimensions and statuses that a server refuses: the contract lists none, and the vendor changes its lists. */

import { Refused } from '../../../core/errors.ts';
import type { Http, Request } from '../../../core/stream.ts';

/** Without these the rows of a report could not be distinguished, or would say less than those that they replace. */
const required: ReadonlySet<string> = new Set([
  'SPEND',
  'IMPRESSIONS',
  'IMPRESSIONS_ON_SPOTIFY',
  'CLICKS',
  'CAMPAIGN_NAME',
  'AD_SET_NAME',
  'AD_NAME',
  'ACTIVE',
]);

/** Those of the names that a text contains as words of their own: RETURN_ON_AD_SPEND does not contain SPEND. */
export const namesIn = (text: string, names: readonly string[]): readonly string[] => {
  const found = new Set(text.match(/[A-Za-z_][A-Za-z0-9_]*/g));
  return names.filter((name) => found.has(name));
};

/** Where a message goes on to the names that are allowed. */
const allowing = /accept|allow|valid|support|permit|possible|expect|one of|any of|must|only|\buse\b/i;

/**
 * The names that a refusal says the server lacks: those before the list of allowed names, else those missing from that list. Empty where it
 * names none, and where it would be one that no row can do without.
 */
const unsupportedIn = (messages: readonly string[], names: readonly string[]): readonly string[] => {
  const text = messages.join(' ');
  const found = text.search(allowing);
  const list = found < 0 ? text.length : found;
  const refused = namesIn(text.slice(0, list), names);
  const allowed = namesIn(text.slice(list), names);
  if (refused.length > 0) return refused.filter((name) => !required.has(name));
  const others = names.filter((name) => !allowed.includes(name));
  return allowed.length === 0 || others.some((name) => required.has(name)) ? [] : others;
};

/** Members of a request that hold such names: `fields` of its query, the others of its body. */
const members = ['fields', 'dimensions', 'metrics', 'statuses'];

const listsOf = ({ query, body }: Request): readonly (readonly string[])[] =>
  members.map((member) => {
    const names = (body ?? query)?.[member];
    return Array.isArray(names) ? names.map(String) : [];
  });

const without = (request: Request, left: ReadonlySet<string>): Request => {
  const part = request.body === undefined ? 'query' : 'body';
  const less = Object.entries(request[part] ?? {}).map(([member, value]) => [
    member,
    members.includes(member) && Array.isArray(value) ? value.filter((name) => !left.has(name)) : value,
  ]);
  return { ...request, [part]: Object.fromEntries(less) };
};

/** Requests that a server refuses for the same reasons. */
const kindOf = ({ endpoint, query: { granularity, insight_dimension, ...query } = {} }: Request): string =>
  [endpoint, granularity, insight_dimension, query.entity_type ?? query.entity_ids_type].join(' ');

/**
 * An `Http` that leaves out the names that the server refuses (400, 422), found out once for each kind of request and noted. Throws a refusal
 * that names none.
 */
export const withoutUnsupported = (http: Http, note: (message: string) => void): Http => {
  const unsupported = new Map<string, ReadonlySet<string>>();
  return {
    ...http,
    async send(request, signal) {
      for (const kind = kindOf(request); ; ) {
        const left = unsupported.get(kind) ?? new Set();
        const sent = without(request, left);
        try {
          return await http.send(sent, signal);
        } catch (error) {
          if (!(error instanceof Refused) || (error.status !== 400 && error.status !== 422)) throw error;
          const names = listsOf(sent).flatMap((list) => unsupportedIn(error.messages, list));
          // Without new names: another request at the same time may have been refused first.
          if (names.length === 0 && (unsupported.get(kind) ?? left) === left) throw error;
          unsupported.set(kind, new Set([...left, ...(unsupported.get(kind) ?? []), ...names]));
          if (names.length > 0)
            note(
              `${request.endpoint}: the server does not know ${names.join(', ')}; requested without (${error.message})`,
            );
        }
      }
    },
  };
};
