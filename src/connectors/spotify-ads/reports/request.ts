/** Asking for numbers that a server may not have. */

import { Refused } from '../../../core/errors.ts';
import type { Answer, Http, Request } from '../../../core/request.ts';
import { namedIn } from './names-field.ts';

/**
 * An `Http` that leaves out of `fields` what the server refuses (400, 422), found out from its answers and kept from then on for questions of
 * that kind (endpoint, granularity, dimension, level). Which metrics a server knows is not in the contract, and new names come. A refusal that
 * names some is believed if the rest is answered, and of those that are refused beside it: a message may name what is to be asked for instead. Of
 * one that names none, the fields are found out by asking for halves. `note` hears of each field once an endpoint, however
 * many kinds of questions it is left out of. A refusal that does not go with the fields is thrown.
 */
export function withKnownFields(http: Http, note: (message: string) => void): Http {
  const taken = new Map<string, readonly string[]>();
  const finding = new Map<string, Promise<Answer>>();
  const told = new Set<string>();

  const find = async (request: Request, asked: readonly string[], cause: Refused, signal: AbortSignal) => {
    const { fields, answer } = await takenOf(http, request, asked, cause, signal);
    taken.set(kindOf(request), fields);
    const lost = asked.filter(
      (field) => !fields.includes(field) && !told.has(`${request.endpoint} ${field}`),
    );
    for (const field of lost) told.add(`${request.endpoint} ${field}`);
    if (lost.length > 0)
      note(
        `${request.endpoint}: the server does not know ${lost.join(', ')}; it is asked for the rest (${cause.message})`,
      );
    return answer;
  };

  return {
    origin: http.origin,
    counters: http.counters,
    close: () => http.close(),
    async send(request, signal) {
      const all = fieldsOf(request);
      if (all.length === 0) return http.send(request, signal);
      const kind = kindOf(request);
      for (;;) {
        await finding.get(kind)?.catch(() => {});
        const asked = taken.get(kind) ?? all;
        try {
          return await http.send(asked === all ? request : asking(request, asked), signal);
        } catch (cause) {
          if (!isRefusal(cause)) throw cause;
          // Somebody else has found out meanwhile, or is about to.
          if ((taken.get(kind) ?? all) !== asked || finding.has(kind)) continue;
          const found = find(request, asked, cause, signal).finally(() => finding.delete(kind));
          finding.set(kind, found);
          return await found;
        }
      }
    },
  };
}

const isRefusal = (error: unknown): error is Refused =>
  error instanceof Refused && (error.status === 400 || error.status === 422);

/** Questions that a server takes or refuses for the same reasons. */
const kindOf = ({ endpoint, query }: Request): string =>
  [endpoint, query?.granularity, query?.insight_dimension, query?.entity_type ?? query?.entity_ids_type]
    .map(String)
    .join(' ');

const fieldsOf = ({ query }: Request): readonly string[] => {
  const fields = query?.fields;
  return Array.isArray(fields) ? fields.map(String) : [];
};

const asking = (request: Request, fields: readonly string[]): Request => ({
  ...request,
  query: { ...request.query, fields },
});

interface Taken {
  readonly fields: readonly string[];
  readonly answer: Answer;
}

/** The fields that the server takes, of those that it refused together, and what it answers to them. */
const takenOf = async (
  http: Http,
  request: Request,
  asked: readonly string[],
  cause: Refused,
  signal: AbortSignal,
): Promise<Taken> => {
  const attempt = async (fields: readonly string[]): Promise<Taken | undefined> => {
    if (fields.length === 0) return undefined;
    try {
      return { fields, answer: await http.send(asking(request, fields), signal) };
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  };
  const halved = async (fields: readonly string[]): Promise<readonly string[]> => {
    if ((await attempt(fields)) !== undefined) return fields;
    if (fields.length <= 1) return [];
    const middle = Math.ceil(fields.length / 2);
    return [...(await halved(fields.slice(0, middle))), ...(await halved(fields.slice(middle)))];
  };
  /** With those of `more` that are taken beside them; all that were asked for are known to be refused. */
  const joined = async (some: Taken, more: readonly string[]): Promise<Taken> => {
    const both = asked.filter((field) => some.fields.includes(field) || more.includes(field));
    if (more.length === 0) return some;
    const found = both.length === asked.length ? undefined : await attempt(both);
    if (found !== undefined || more.length === 1) return found ?? some;
    const middle = Math.ceil(more.length / 2);
    return joined(await joined(some, more.slice(0, middle)), more.slice(middle));
  };

  const named = namedIn(cause.whole, asked);
  if (named.length > 0 && named.length < asked.length) {
    const others = asked.filter((field) => !named.includes(field));
    // It names those that it does not have, or those that it has: all of them, or only some.
    const rest = await attempt(others);
    if (rest !== undefined) return joined(rest, named);
    const those = await attempt(named);
    if (those !== undefined) return joined(those, others);
  }
  // Understood and not done (422): that is not for what is asked, e.g. because there is not enough data.
  if (named.length === 0 && cause.status === 422) throw cause;
  // A refusal may name only the first of several. One that does not go with the fields refuses any of them: two are enough to tell.
  const probes = asked.slice(0, 2);
  const isOfFields = (await Promise.all(probes.map((field) => attempt([field])))).some(
    (one) => one !== undefined,
  );
  if (!isOfFields || asked.length < 2) throw cause;
  const found = await attempt(await halved(asked));
  if (found === undefined || found.fields.length === asked.length) throw cause;
  return found;
};
