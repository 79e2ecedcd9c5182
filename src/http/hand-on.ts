/** Lists that two readers of a run need: the answers that one of them gets are handed on to the other. */

import { orStopped } from '../core/abort.ts';
import { parseJson } from '../core/json.ts';
import type { Answer, Http, Request } from '../core/stream.ts';

/** Answers are kept up to so many bytes in all; what is more is requested twice. */
const mostBytes = 8 << 20;

/**
 * `first` sends, and keeps the last answer to each request. `second` takes it instead of sending, also while it is on its
 * way, and once: what it reads again because an answer was in doubt, or what `first` was refused, it requests itself.
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
  const first: Http['send'] = async (request, signal) => {
    const key = keyOf(request);
    take(key);
    const sent = http.send(request, signal);
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
  const second: Http['send'] = async (request, signal) => {
    const pending = take(keyOf(request));
    const answer = pending && (await orStopped(pending, signal).catch(() => undefined));
    return answer ? { ...answer, body: parseJson(answer.raw) } : http.send(request, signal);
  };
  return { first: { ...http, send: first }, second: { ...http, send: second } };
}
