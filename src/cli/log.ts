/** A log of what runs do, as JSON lines on stderr; only where it is asked for. */
import type { Observe } from '../core/run.ts';

/** What must never be readable in a log, wherever it stands. */
const secret = [
  '*.token',
  '*.password',
  '*.apiToken',
  '*.authorization',
  '*.headers.authorization',
  '*.url.password',
];

/** Gives an observer that logs: one line a stream and a run, progress at `debug`. Loads pino. */
export async function log(level: string): Promise<Observe> {
  const { pino } = await import('pino');
  const logger = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: { paths: secret, censor: '***' } },
    // Synchronous: the last line of a process that is told to stop must not be lost.
    pino.destination({ dest: 2, sync: true }),
  );
  return (event) => {
    const { type, ...facts } = event;
    if (type === 'stream.progress' || type === 'stream.started') logger.debug(facts, type);
    else if (event.type === 'note') logger[event.level](facts, type);
    else if (event.type === 'run.finished' && event.report.status !== 'succeeded') logger.error(facts, type);
    else if (event.type === 'stream.finished' && event.report.status === 'failed') logger.error(facts, type);
    else logger.info(facts, type);
  };
}
