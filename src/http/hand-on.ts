/** Lists that two readers of a run need: the answers that one of them gets are handed on to the other. */

import { orStopped } from '../core/abort.ts';
import { parseJson } from '../core/json.ts';
import type { Answer, Http, Request } from '../core/stream.ts';

/** Answers are kept up to so many bytes in all; what is more is requested twice. */
const mostBytes = 8 << 20;

/**
 * The reader that asks first sends the request and keeps the answer for the other. The other reader takes that answer once, also
 * while it is on its way, and sends nothing. It sends the request itself to read a list again, or where the first reader was refused.
 */
export function handingOn(http: Http): Readonly<Record<'first' | 'second', Http>> {
  const kept = new Map<string, { readonly answer: Promise<Omit<Answer, 'body'>>; bytes: number }>();
  let bytes = 0;
  const keyOf = ({ method, path, query, url, body }: Request): string =>
    JSON.stringify([method, path, query, url, body]);
  const take = (key: string) => {
    const entry = kept.get(key);
    kept.delete(key);
    bytes -= entry?.bytes ?? 0;
    return entry?.answer;
  };
  const keep = async (key: string, sent: ReturnType<Http['send']>) => {
    // The bytes alone: parsed they take several times the memory.
    const entry = { answer: sent.then(({ body: _, ...rest }) => rest), bytes: 0 };
    kept.set(key, entry);
    const { raw } = await entry.answer;
    if (kept.get(key) !== entry) return sent;
    entry.bytes = raw.length;
    bytes += raw.length;
    if (bytes > mostBytes) take(key);
    return sent;
  };
  /** `own`: what this reader has asked for. What the other one has asked for is not kept for it. */
  const readerOf = (own: Set<string>, other: ReadonlySet<string>): Http => ({
    ...http,
    async send(request, signal) {
      const key = keyOf(request);
      const pending = take(key);
      const isNew = !own.has(key);
      own.add(key);
      const answer = isNew && pending && (await orStopped(pending, signal).catch(() => undefined));
      if (answer) return { ...answer, body: parseJson(answer.raw) };
      const sent = http.send(request, signal);
      return other.has(key) ? sent : keep(key, sent);
    },
  });
  const first = new Set<string>();
  const second = new Set<string>();
  return { first: readerOf(first, second), second: readerOf(second, first) };
}
