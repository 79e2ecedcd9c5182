/** Joins what the HTTP client tells (the source asked for quiet) to what the run tells, so that a stream that stands still says why. */

import type { HttpEvent } from '../connectors/jira/source.ts';
import type { Observe, RunEvent } from '../core/run.ts';

type Going = Extract<RunEvent, { readonly type: 'stream.progress' }>;

export interface Told {
  readonly observe: Observe;
  readonly http: (event: HttpEvent) => void;
}

/** `observe` gets the run's events, with `waitingUntil` on the progress of every stream while requests wait. */
export function withWaiting(observe: Observe): Told {
  const going = new Map<string, Going>();
  let until = 0;
  const marked = (event: Going): Going => (until > Date.now() ? { ...event, waitingUntil: until } : event);
  return {
    observe: (event) => {
      if (event.type === 'stream.finished') going.delete(event.report.stream);
      if (event.type === 'stream.started')
        going.set(event.stream, {
          ...event,
          type: 'stream.progress',
          received: 0,
          expected: undefined,
          retries: 0,
        });
      if (event.type !== 'stream.progress') return observe(event);
      going.set(event.stream, event);
      observe(marked(event));
    },
    http: (event) => {
      if (event.type !== 'throttled' || event.untilMs <= until) return;
      until = event.untilMs;
      for (const each of going.values()) observe(marked(each));
    },
  };
}
