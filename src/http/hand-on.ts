/** Lists that two readers of a run need: the answers that one of them gets are handed on to the other. */

import { orStopped } from '../core/abort.ts';
import { parseJson } from '../core/json.ts';
import type { Answer, Http, Request } from '../core/stream.ts';

/** Answers are kept up to so many bytes in all; what is more is requested twice. */
const mostBytes = 8 << 20;

/** `bytes`: those that count; 0 while it is on its way. */
interface Kept {
  readonly answer: Promise<Omit<Answer, 'body'>>;
  bytes: number;
}

/**
 * `first` sends, and keeps the last answer to each request. `second` takes it instead of sending, also while it is on its
 * way, and once: what it reads again because an answer was in doubt, or what `first` was refused, it requests itself.
 */
export function handingOn(http: Http): Readonly<Record<'first' | 'second', Http>> {
  const kept = new Map<string, Kept>();
  let bytes = 0;
  const keyOf = ({ method, path, query, url, body }: Request): string =>
    JSON.stringify([method, path, query, url, body]);
  const take = (key: string): Kept | undefined => {
    const entry = kept.get(key);
    kept.delete(key);
    bytes -= entry?.bytes ?? 0;
    return entry;
  };
  const first: Http['send'] = async (request, signal) => {
    const key = keyOf(request);
    take(key);
    const sent = http.send(request, signal);
    // The bytes alone: parsed they take several times the memory.
    const entry: Kept = { answer: sent.then(({ body: _, ...rest }) => rest), bytes: 0 };
    kept.set(key, entry);
    const size = await entry.answer.then(({ raw }) => raw.length).catch(() => mostBytes + 1);
    if (kept.get(key) === entry && bytes + size > mostBytes) take(key);
    else if (kept.get(key) === entry) {
      entry.bytes = size;
      bytes += size;
    }
    return sent;
  };
  const second: Http['send'] = async (request, signal) => {
    const entry = take(keyOf(request));
    const answer = entry && (await orStopped(entry.answer, signal).catch(() => undefined));
    return answer ? { ...answer, body: parseJson(answer.raw) } : http.send(request, signal);
  };
  return { first: { ...http, send: first }, second: { ...http, send: second } };
}
