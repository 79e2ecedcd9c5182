/** What a run does while it goes: events as JSON lines, or lines for people, on a terminal with a live block below them. */
import { count, duration, escaped, plural, withoutSecrets } from '../core/format.ts';
import type { Observe, RunEvent } from '../core/run.ts';
import type { ProgramSettings } from '../runs/assemble.ts';
import type { Following } from '../runs/run.ts';
import { lineOf } from '../scheduler/request-log.ts';
import type { Context, Sink } from './context.ts';
import { toJson } from './output.ts';

export interface ProgressOutput extends Following {
  /** Prints what is no line of talk, without disturbing the live block. */
  readonly aside: <T>(print: () => T) => T;
  /** Removes the live block; must be called once, also after a failure. */
  readonly end: () => void;
}

export interface ProgressOptions {
  /** Says whether a log in JSON lines is also written to stderr; then there is no live block. Absent: no log. */
  readonly config?: Pick<ProgramSettings, 'logLevel'>;
  /** Leaves out streams that ended as expected. */
  readonly brief?: boolean;
  /** False: no live block. */
  readonly live?: boolean;
}

export async function openProgress(
  { out, err, json, quiet, verbose }: Pick<Context, 'out' | 'err' | 'json' | 'quiet' | 'verbose'>,
  { config, brief = false, live = true }: ProgressOptions = {},
): Promise<ProgressOutput> {
  const level = config?.logLevel ?? (config && verbose ? 'debug' : 'silent');
  const log = level === 'silent' ? undefined : await openLog(level, err);
  const undrawn: ProgressOutput = {
    say: () => undefined,
    aside: (print) => print(),
    end: () => undefined,
    observe: (event) => {
      if (json) out.line(toJson(event));
      else if (event.type === 'note' && event.level === 'warn') err.line(shown(event, err));
    },
  };
  const isLive = live && err.live && log === undefined;
  const drawn = json || quiet ? undrawn : await lines(err, brief, isLive);
  const observe: Observe = (event) => {
    drawn.observe(event);
    log?.(event);
  };
  return { ...drawn, observe };
}

/** For a command that prints one document: with `--json` there are no events, and nothing is said. */
export const openTalk = async (context: Context): Promise<ProgressOutput> =>
  openProgress(
    { ...context, quiet: context.quiet || context.json, json: false },
    { config: await context.parts.config() },
  );

/** The line of an event, in the colour of its level. */
function shown(event: RunEvent, { paint }: Sink): string | undefined {
  const { level, message } = lineOf(event) ?? {};
  if (message === undefined) return undefined;
  const text = `${event.type === 'note' && level === 'warn' ? 'warning: ' : ''}${escaped(withoutSecrets(message))}`;
  return level === 'info' ? text : paint(level === 'error' ? 'red' : 'yellow', text);
}

const redrawMs = 100;

/** A line when something begins or ends; on a terminal the active streams below them, redrawn in place. */
async function lines(sink: Sink, brief: boolean, isLive: boolean): Promise<ProgressOutput> {
  const active = new Map<string, Active>();
  const update = isLive
    ? (await import('log-update')).createLogUpdate(sink.stream, { showCursor: true })
    : undefined;
  const draw = () =>
    active.size > 0
      ? update?.([...active].map(([key, at]) => `${key}: ${figures(at)}`).join('\n'))
      : update?.clear();
  const aside = <T>(print: () => T): T => {
    update?.clear();
    const printed = print();
    draw();
    return printed;
  };
  const say = (text: string) => aside(() => sink.line(text));
  const timer = setInterval(draw, redrawMs).unref();
  return {
    say,
    aside,
    end: () => {
      clearInterval(timer);
      update?.clear();
    },
    observe: (event) => {
      follow(active, event);
      const text = brief && isExpected(event) ? undefined : shown(event, sink);
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
    active.set(key, { since: performance.now(), received: 0, retries: 0, ...active.get(key), ...event });
  } else if (type === 'stream.finished') active.delete(`${pipeline}.${event.report.stream}`);
  else if (type === 'run.finished')
    for (const key of active.keys()) if (key.startsWith(`${pipeline}.`)) active.delete(key);
}

/** `3,100 of 5,000 (62 %), 2 retries, 12 s`. A total that only follows what was received is no total. */
function figures({ since, received, expected = 0, retries }: Active): string {
  const share = `${count(received)} of ${count(expected)} (${Math.floor((received / expected) * 100)} %)`;
  const read = expected > received ? share : plural(received, 'record');
  const retried = retries > 0 ? `, ${plural(retries, 'retry', 'retries')}` : '';
  return `${read}${retried}, ${duration((performance.now() - since) / 1000)}`;
}

const isExpected = (event: RunEvent): boolean =>
  event.type === 'stream.finished' &&
  (event.report.status === 'unavailable' ||
    (event.report.status === 'ok' && event.report.counts.rejected === 0));

async function openLog(level: string, err: Sink): Promise<Observe> {
  const { pino } = await import('pino');
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, err);
  return (event) => {
    const { type, ...rest } = event;
    logger[lineOf(event)?.level ?? 'debug'](rest, type);
  };
}
