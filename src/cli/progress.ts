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
  /** Says whether a log in JSON lines is also written to stderr; then there is no live block. */
  readonly config?: Pick<Settings, 'logLevel'>;
  /** Leaves out streams that ended as expected. */
  readonly brief?: boolean;
  /** False: no live block. */
  readonly live?: boolean;
}

type Where = Pick<Context, 'out' | 'err' | 'json' | 'quiet'> & { readonly verbose?: boolean };

export async function openProgress(
  { out, err, json, quiet, verbose }: Where,
  { config, brief = false, live = true }: ProgressOptions = {},
): Promise<Progress> {
  const level = config && (config.logLevel ?? (verbose ? 'debug' : 'silent'));
  const log = level === undefined || level === 'silent' ? undefined : await openLog(level);
  const isLive = live && err.live && log === undefined;
  const shown = json ? silent(events(out)) : quiet ? silent(warnings(err)) : await lines(err, brief, isLive);
  return {
    ...shown,
    observe: (event) => {
      shown.observe(event);
      log?.(event);
    },
  };
}

const silent = (observe: Observe): Progress => ({ observe, say: () => undefined, end: () => undefined });

const warnings =
  (err: Sink): Observe =>
  (event) => {
    if (event.type === 'note' && event.level === 'warn') err.line(`warning: ${escaped(event.message)}`);
  };

/** Progress of one stream is printed at most this often: a large stream has thousands of pages. */
const progressEveryMs = 250;

function events(out: Sink): Observe {
  const printed = new Map<string, number>();
  return (event) => {
    if (event.type === 'stream.progress') {
      const key = keyOf(event);
      const now = performance.now();
      if (now - (printed.get(key) ?? Number.NEGATIVE_INFINITY) < progressEveryMs) return;
      printed.set(key, now);
    }
    out.line(toJson(event));
  };
}

const keyOf = (event: { readonly pipeline: string; readonly stream: string }): string =>
  `${event.pipeline}.${event.stream}`;

/** A stream that is being read. */
interface Active {
  /** `performance.now()` when it began. */
  readonly since: number;
  readonly received: number;
  readonly expected: number | undefined;
  readonly retries: number;
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

function follow(active: Map<string, Active>, event: RunEvent): void {
  if (event.type === 'stream.finished') active.delete(`${event.pipeline}.${event.report.stream}`);
  if (event.type === 'run.finished')
    for (const key of active.keys()) if (key.startsWith(`${event.pipeline}.`)) active.delete(key);
  if (event.type !== 'stream.started' && event.type !== 'stream.progress') return;
  const { since = performance.now() } = active.get(keyOf(event)) ?? {};
  const figures = event.type === 'stream.progress' ? event : { received: 0, expected: undefined, retries: 0 };
  active.set(keyOf(event), { since, ...figures });
}

/** `3,100 of 5,000 (62 %), 1,240/s, 2 retries, 12 s`. A total that only follows what was received is no total. */
function figures({ since, received, expected = 0, retries }: Active): string {
  const seconds = (performance.now() - since) / 1000;
  const rate = Math.round(received / seconds);
  const share = Math.floor((received / expected) * 100);
  return [
    expected > received
      ? `${count(received)} of ${count(expected)} (${share} %)`
      : plural(received, 'record'),
    ...(rate > 0 && seconds > 1 ? [`${count(rate)}/s`] : []),
    ...(retries > 0 ? [plural(retries, 'retry', 'retries')] : []),
    duration(seconds),
  ].join(', ');
}

function lineOf(event: RunEvent, sink: Sink, brief: boolean): string | undefined {
  const { pipeline } = event;
  switch (event.type) {
    case 'run.started':
      return `${pipeline}: run ${event.runId} (${event.kind}) ${event.resumed ? 'resumed' : 'started'}`;
    case 'stream.finished':
      if (brief && isExpected(event.report)) return undefined;
      return `${pipeline}.${event.report.stream}: ${ended(event.report, sink)}`;
    case 'note': {
      const warning = event.level === 'warn' ? `${sink.paint('yellow', 'warning')}: ` : '';
      return `${pipeline}: ${warning}${escaped(withoutSecrets(event.message))}`;
    }
    case 'run.finished': {
      const { runId, status, seconds } = event.report;
      return `${pipeline}: run ${runId ?? '–'} ${status.replaceAll('_', ' ')} after ${duration(seconds)}`;
    }
    default:
      return undefined;
  }
}

const isExpected = ({ status, counts }: StreamReport): boolean =>
  (status === 'ok' && counts.rejected === 0) || status === 'unavailable';

function ended(report: StreamReport, sink: Sink): string {
  const { status, reason, seconds } = report;
  const what = `${outcome(report)} (${duration(seconds)})`;
  if (status === 'ok') return what;
  const why = reason === undefined ? '' : `: ${escaped(reason)}`;
  return `${sink.paint(styleOf(status), status)}${why}; ${what}`;
}

/** `5,000 records: 12 new, 3 changed`; for a reconcile, which reads ids only: `5,000 ids: 1 deleted`. */
export function outcome({ counts, deleted, receipt }: Outcome): string {
  const isIdsOnly = counts.received === 0 && receipt.fetched > 0;
  const all: Readonly<Record<string, number>> = { ...counts, deleted };
  const what = isIdsOnly ? plural(receipt.fetched, 'id') : plural(counts.received, 'record');
  return countsText((name) => all[name] ?? 0, what);
}

type Outcome = Pick<StreamReport, 'counts' | 'deleted'> & { readonly receipt: { readonly fetched: number } };

/** A longer wait is noted again after this time. */
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

/** Paths that no log line may show. */
const redacted = ['token', 'password', 'apiToken', 'authorization', 'headers.authorization', 'url.password'];

async function openLog(level: string): Promise<Observe> {
  const { pino } = await import('pino');
  const redact = { paths: redacted.map((name) => `*.${name}`), censor: '***' };
  const logger = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact },
    // Synchronous, so that the last line before the process ends is not lost.
    pino.destination({ dest: 2, sync: true }),
  );
  return (event) => {
    const { type, ...rest } = event;
    logger[logLevelOf(event)](rest, type);
  };
}

function logLevelOf(event: RunEvent): 'debug' | 'info' | 'warn' | 'error' {
  if (event.type === 'note') return event.level;
  if (event.type === 'run.finished') return event.report.status === 'succeeded' ? 'info' : 'error';
  if (event.type === 'stream.finished') return event.report.status === 'failed' ? 'error' : 'info';
  return event.type === 'run.started' ? 'info' : 'debug';
}
