/** Progress on a terminal: one line a stream that is going, redrawn in place; finished streams scroll up above them. */
import type { Observe, StreamReport, StreamStatus } from '../../core/run.ts';
import type { Sink, Style } from '../terminal.ts';
import { clip, duration, escaped } from '../text.ts';
import { type Active, figures, follow, type Going, isExpected, outcome, total } from './state.ts';
import type { Progress } from './types.ts';

/** `brief`: prints only streams that did not end as expected. */
export function live(sink: Sink, brief = false): Progress {
  const going: Going = new Map();
  let drawn = 0;

  const erase = () => {
    if (drawn > 0) sink.write(`\x1b[${drawn}A\r\x1b[0J`);
    drawn = 0;
  };
  const draw = () => {
    const now = performance.now();
    const all = [...going.values()];
    const lines = all.slice(0, mostLines).map((at) => row(at, now, sink));
    if (all.length > mostLines) lines.push(sink.paint('dim', `  and ${all.length - mostLines} more`));
    // One write for the whole picture: two would flicker.
    sink.write(
      `${drawn > 0 ? `\x1b[${drawn}A\r` : ''}${lines.map((line) => `\x1b[2K${line}\n`).join('')}\x1b[0J`,
    );
    drawn = lines.length;
  };
  const above = (text: string) => {
    erase();
    sink.line(text);
    draw();
  };
  const timer = setInterval(draw, redrawMs).unref();

  const observe: Observe = (event) => {
    follow(going, event, performance.now());
    switch (event.type) {
      case 'run.started':
        return above(
          sink.paint('bold', `${event.pipeline}`) +
            sink.paint('dim', `  run ${event.runId}, ${event.kind}${event.resumed ? ', resumed' : ''}`),
        );
      case 'stream.finished':
        return brief && isExpected(event.report) ? draw() : above(finished(event.report, sink));
      case 'note':
        return above(
          `${event.level === 'warn' ? sink.paint('yellow', '!') : sink.paint('dim', '·')} ${escaped(event.message)}`,
        );
      case 'run.finished':
        return draw();
    }
  };
  return {
    observe,
    say: above,
    end: () => {
      clearInterval(timer);
      erase();
    },
  };
}

const redrawMs = 100;
/** More lines than the terminal is high could not be drawn over. */
const mostLines = 12;
const nameWidth = 22;
const barWidth = 20;

function row(at: Active, now: number, sink: Sink): string {
  const whole = total(at);
  const share = whole === undefined ? 0 : at.received / whole;
  const full = Math.round(share * barWidth);
  const bar =
    whole !== undefined
      ? `${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${String(Math.floor(share * 100)).padStart(3)} %`
      : '';
  const text = `  ${at.stream.padEnd(nameWidth)}${bar === '' ? '' : `${bar}  `}${figures(at, now, Date.now()).join('  ')}`;
  // A line that wraps would break the count of lines to go back over.
  return sink.paint('cyan', clip(text, (sink.columns ?? 80) - 1));
}

const marks: Readonly<Record<StreamStatus, readonly [string, Style]>> = {
  ok: ['✓', 'green'],
  unavailable: ['–', 'dim'],
  forbidden: ['–', 'yellow'],
  partial: ['!', 'yellow'],
  failed: ['✗', 'red'],
  interrupted: ['■', 'yellow'],
  skipped: ['–', 'dim'],
  attention: ['!', 'yellow'],
};

function finished(report: StreamReport, sink: Sink): string {
  const [mark, style] = marks[report.status];
  const head = `${sink.paint(style, mark)} ${report.stream.padEnd(nameWidth)}`;
  if (report.status === 'ok')
    return `${head}${outcome(report)}  ${sink.paint('dim', duration(report.seconds))}`;
  const why = report.reason === undefined ? '' : `: ${escaped(report.reason)}`;
  const got = report.counts.received > 0 ? `  ${sink.paint('dim', outcome(report))}` : '';
  return `${head}${sink.paint(style, report.status)}${why}${got}`;
}
