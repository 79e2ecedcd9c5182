/** What a run does while it goes: events as JSON lines, or lines for people, on a terminal with a live block below them. */
import type { HttpEvent } from '../connectors/index.ts';
import { count, duration, escaped, plural, withoutSecrets } from '../core/format.ts';
import type { Observe, RunEvent, StreamReport } from '../core/run.ts';
import type { Context, Settings } from './context.ts';
import { countsText, styleOf, toJson } from './output.ts';
import type { Sink } from './terminal.ts';

export interface Progress {
  readonly observe: Observe;
  /** Prints a line of talk above the live block. */
  readonly say: (text: string) => void;
  /** Removes the live block; must be called once, also after a failure. */
  readonly end: () => void;
}

export interface ProgressOptions {
  /** Says whether a log in JSON lines is also written to stderr; then there is no live block. Absent: no log. */
  readonly config?: Pick<Settings, 'logLevel'>;
  /** Leaves out streams that ended as expected. */
  readonly brief?: boolean;
  /** False: no live block. */
  readonly live?: boolean;
}

export async function openProgress(
  { out, err, json, quiet, verbose }: Pick<Context, 'out' | 'err' | 'json' | 'quiet' | 'verbose'>,
  { config, brief = false, live = true }: ProgressOptions = {},
): Promise<Progress> {
  const level = config?.logLevel ?? (config && verbose ? 'debug' : 'silent');
  const log = level === 'silent' ? undefined : await openLog(level);
  const isLive = live && err.live && log === undefined;
  const silent = { say: () => undefined, end: () => undefined };
  const warnings: Observe = (event) => {
    if (event.type === 'note' && event.level === 'warn') err.line(lineOf(event, err, brief));
  };
  const shown =
    json || quiet ? { ...silent, observe: json ? events(out) : warnings } : await lines(err, brief, isLive);
  const observe: Observe = (event) => {
    shown.observe(event);
    log?.(event);
  };
  return { ...shown, observe };
}

/** Progress of one stream is printed at most this often: a large stream has thousands of pages. */
const progressEveryMs = 250;

function events(out: Sink): Observe {
  const printed = new Map<string, number>();
  return (event) => {
    if (event.type === 'stream.progress') {
      const key = `${event.pipeline}.${event.stream}`;
      const now = performance.now();
      if (now - (printed.get(key) ?? Number.NEGATIVE_INFINITY) < progressEveryMs) return;
      printed.set(key, now);
    }
    out.line(toJson(event));
  };
}

const redrawMs = 100;
const signOfLifeMs = 30_000;

/** A line when something begins or ends; below them the active streams, redrawn in place, or one line each every half minute. */
async function lines(sink: Sink, brief: boolean, isLive: boolean): Promise<Progress> {
  const active = new Map<string, Active>();
  const update = isLive
    ? (await import('log-update')).createLogUpdate(sink.stream, { showCursor: true })
    : undefined;
  const block = () => [...active].map(([key, at]) => `${key}: ${figures(at)}`);
  const draw = () => (active.size > 0 ? update?.(block().join('\n')) : update?.clear());
  const say = (text: string) => {
    update?.clear();
    sink.line(text);
    draw();
  };
  const signOfLife = () => {
    for (const line of block()) sink.line(line);
  };
  const timer = setInterval(update ? draw : signOfLife, update ? redrawMs : signOfLifeMs).unref();
  return {
    say,
    end: () => {
      clearInterval(timer);
      update?.clear();
    },
    observe: (event) => {
      follow(active, event);
      const text = lineOf(event, sink, brief);
      if (text !== undefined) say(text);
    },
  };
}

/** A stream that is being read. `since`: `performance.now()` when it began. */
interface Active {
  readonly since: number;
  readonly received: number;
  readonly expected?: number | undefined;
  readonly retries: number;
}

function follow(active: Map<string, Active>, event: RunEvent): void {
  const { type, pipeline } = event;
  if (type === 'stream.started' || type === 'stream.progress') {
    const key = `${pipeline}.${event.stream}`;
    const begun = { since: performance.now(), received: 0, retries: 0 };
    active.set(key, { ...begun, ...active.get(key), ...event });
  }
  if (type === 'stream.finished') active.delete(`${pipeline}.${event.report.stream}`);
  if (type === 'run.finished')
    for (const key of active.keys()) if (key.startsWith(`${pipeline}.`)) active.delete(key);
}

/** `3,100 of 5,000 (62 %), 1,240/s, 2 retries, 12 s`. A total that only follows what was received is no total. */
function figures({ since, received, expected = 0, retries }: Active): string {
  const seconds = (performance.now() - since) / 1000;
  const rate = Math.round(received / seconds);
  const share = `${count(received)} of ${count(expected)} (${Math.floor((received / expected) * 100)} %)`;
  return [
    expected > received ? share : plural(received, 'record'),
    ...(rate > 0 && seconds > 1 ? [`${count(rate)}/s`] : []),
    ...(retries > 0 ? [plural(retries, 'retry', 'retries')] : []),
    duration(seconds),
  ].join(', ');
}

function lineOf(event: RunEvent, sink: Sink, brief: boolean): string | undefined {
  const { type, pipeline } = event;
  if (type === 'run.started')
    return `${pipeline}: run ${event.runId} (${event.kind}) ${event.resumed ? 'resumed' : 'started'}`;
  if (type === 'note') {
    const warning = event.level === 'warn' ? `${sink.paint('yellow', 'warning')}: ` : '';
    return `${pipeline}: ${warning}${escaped(withoutSecrets(event.message))}`;
  }
  if (type === 'run.finished') {
    const { runId, status, seconds } = event.report;
    return `${pipeline}: run ${runId ?? '–'} ${status.replaceAll('_', ' ')} after ${duration(seconds)}`;
  }
  if (type !== 'stream.finished' || (brief && isExpected(event.report))) return undefined;
  const { stream, status, reason, seconds } = event.report;
  const why = reason === undefined ? '' : `: ${escaped(reason)}`;
  const problem = status === 'ok' ? '' : `${sink.paint(styleOf(status), status)}${why}; `;
  return `${pipeline}.${stream}: ${problem}${outcome(event.report)} (${duration(seconds)})`;
}

const isExpected = ({ status, counts }: StreamReport): boolean =>
  (status === 'ok' && counts.rejected === 0) || status === 'unavailable';

type Outcome = Pick<StreamReport, 'counts' | 'deleted'> & { readonly receipt: { readonly fetched: number } };

/** `5,000 records: 12 new, 3 changed`; for a reconcile, which reads ids only: `5,000 ids: 1 deleted`. */
export function outcome({ counts, deleted, receipt: { fetched } }: Outcome): string {
  const isIdsOnly = counts.received === 0 && fetched > 0;
  const all: Readonly<Record<string, number>> = { ...counts, deleted };
  const what = isIdsOnly ? plural(fetched, 'id') : plural(counts.received, 'record');
  return countsText((name) => all[name] ?? 0, what);
}

/** A longer wait is noted anew after this time. */
const noteEveryMs = 30_000;

/** Reports waits for the source's rate limit as notes, so that a stream that does not move says why. */
export function noteRateLimits(pipeline: string, observe: Observe): (event: HttpEvent) => void {
  let noted = 0;
  return (event) => {
    if (event.type !== 'throttled' || event.untilMs < noted + noteEveryMs) return;
    noted = event.untilMs;
    const wait = duration(Math.max(0, event.untilMs - Date.now()) / 1000);
    const message = `waiting for the rate limit until ${new Date(noted).toISOString().slice(11, 19)} UTC (${wait})`;
    observe({ type: 'note', pipeline, level: 'info', message });
  };
}

async function openLog(level: string): Promise<Observe> {
  const { pino } = await import('pino');
  // Synchronous, so that the last line before the process ends is not lost.
  const destination = pino.destination({ dest: 2, sync: true });
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  return (event) => {
    const { type, ...rest } = event;
    logger[logLevelOf(event)](rest, type);
  };
}

function logLevelOf(event: RunEvent): 'debug' | 'info' | 'warn' | 'error' {
  if (event.type === 'note') return event.level;
  if (!('report' in event)) return event.type === 'run.started' ? 'info' : 'debug';
  return ['failed', 'partly_failed', 'lost'].includes(event.report.status) ? 'error' : 'info';
}
