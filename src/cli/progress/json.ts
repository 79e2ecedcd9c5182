/** NDJSON: one event a line, for programs. */
import type { Observe } from '../../core/run.ts';
import type { Sink } from '../terminal.ts';

/** Progress of one stream is told at most so often: a large stream has thousands of pages. Everything else is told as it comes, that it waits, too. */
const progressEveryMs = 250;

export function json(out: Sink): Observe {
  const told = new Map<string, number>();
  return (event) => {
    if (event.type === 'stream.progress' && event.waitingUntil === undefined) {
      const key = `${event.pipeline} ${event.stream}`;
      const now = performance.now();
      if (now - (told.get(key) ?? Number.NEGATIVE_INFINITY) < progressEveryMs) return;
      told.set(key, now);
    }
    out.line(toJson(event));
  };
}

/** JSON on one line; bigints as text, as they may exceed what a JSON reader can hold. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each), indent);
