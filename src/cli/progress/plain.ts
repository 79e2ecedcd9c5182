/** Progress for logs and pipes: a line when something begins or ends, and a sign of life every half minute. */
import type { Observe, StreamReport } from '../../core/run.ts';
import type { Sink } from '../terminal.ts';
import { duration, escaped, plural } from '../text.ts';
import { figures, follow, type Going, isExpected, outcome } from './state.ts';
import type { Progress } from './types.ts';

/** `brief`: prints only streams that did not end as expected. */
export function plain(sink: Sink, brief = false): Progress {
  const going: Going = new Map();
  const beat = setInterval(() => {
    const now = performance.now();
    for (const at of going.values())
      sink.line(
        `${at.pipeline}.${at.stream}: ${figures(at, now, Date.now()).join(', ')}, going for ${duration((now - at.since) / 1000)}`,
      );
  }, signOfLifeMs).unref();
  const observe: Observe = (event) => {
    follow(going, event, performance.now());
    switch (event.type) {
      case 'run.started':
        return sink.line(
          `${event.pipeline}: run ${event.runId} (${event.kind}) ${event.resumed ? 'resumed' : 'started'}`,
        );
      case 'stream.finished':
        if (brief && isExpected(event.report)) return;
        return sink.line(`${event.pipeline}.${event.report.stream}: ${ended(event.report)}`);
      case 'note':
        return sink.line(
          `${event.pipeline}: ${event.level === 'warn' ? 'warning: ' : ''}${escaped(event.message)}`,
        );
      case 'run.finished':
        return sink.line(
          `${event.pipeline}: run ${event.report.runId ?? '–'} ${event.report.status.replaceAll('_', ' ')} after ${duration(event.report.seconds)}`,
        );
    }
  };
  return { observe, say: (text) => sink.line(text), end: () => clearInterval(beat) };
}

const signOfLifeMs = 30_000;

const ended = (report: StreamReport): string =>
  report.status === 'ok'
    ? `${outcome(report)}, ${duration(report.seconds)}`
    : `${report.status}${report.reason === undefined ? '' : `: ${escaped(report.reason)}`} (${plural(report.counts.received, 'record')}, ${duration(report.seconds)})`;
