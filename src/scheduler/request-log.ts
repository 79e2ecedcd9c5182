/** The log of each request: written in small batches by its worker, read from any process. */

import { type Kysely, sql } from 'kysely';
import { duration, escaped, plural, withoutSecrets } from '../core/format.ts';
import type { RunEvent } from '../core/run.ts';
import type { Db } from '../queries/db.ts';
import type { AnyDatabase } from '../warehouse/connect.ts';
import type { LogLine } from './control.ts';

type Line = Omit<LogLine, 'seq'>;

export interface RunLog {
  add(level: Line['level'], message: string): void;
  /** Writes what was added so far. Throws what kept it from being written; it is tried again later. */
  flush(): Promise<void>;
  /** Writes what is left. Throws what kept it from being written. */
  close(): Promise<void>;
}

/** Longer lines are cut: one source's error page must not fill the log. */
const longest = 2000;

/** So many lines wait for a warehouse that does not answer; of more only the number is kept. */
const mostWaiting = 5000;

/** Opens the log of a request for writing. A batch that cannot be written is tried again with the next one. */
export function openLog(db: Kysely<AnyDatabase>, id: string, everyMs: number): RunLog {
  let waiting: Line[] = [];
  let dropped = 0;
  let writing: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    const batch = waiting;
    if (batch.length === 0) return;
    waiting = [];
    try {
      await append(db, id, batch);
    } catch (error) {
      waiting = [...batch, ...waiting];
      throw error;
    }
  };
  const flush = (): Promise<void> => {
    const written = writing.then(write);
    writing = written.catch(() => undefined);
    return written;
  };
  const timer = setInterval(() => void flush().catch(() => undefined), everyMs).unref();
  return {
    add(level, message) {
      if (waiting.length >= mostWaiting) dropped += 1;
      else waiting.push({ at: new Date(), level, message });
    },
    flush,
    async close() {
      clearInterval(timer);
      await writing;
      if (dropped > 0)
        waiting.push({
          at: new Date(),
          level: 'warn',
          message: `${plural(dropped, 'line')} could not be kept`,
        });
      await write();
    },
  };
}

const shown = (message: string): string => {
  const text = escaped(withoutSecrets(message));
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
};

/** Adds lines at the end, in a transaction of their own. */
export const append = (db: Kysely<AnyDatabase>, id: string, lines: readonly Line[]): Promise<void> =>
  db.transaction().execute((trx) => appendIn(trx, id, lines));

/**
 * Adds lines at the end. Several processes may: the request's row is held until the transaction ends, so that numbers become visible in their
 * order.
 */
export async function appendIn(trx: Db, id: string, lines: readonly Line[]): Promise<void> {
  await sql`select from ops.dag_runs where dag_run_id = ${id} for no key update`.execute(trx);
  await sql`insert into ops.run_log (dag_run_id, at, level, message)
    select ${id}, at, level, message from unnest(${lines.map(({ at }) => at)}::timestamptz[],
      ${lines.map(({ level }) => level)}::text[], ${lines.map(({ message }) => shown(message))}::text[])
      with ordinality as line (at, level, message, place) order by place`.execute(trx);
}

/** At most so many lines are read at once. */
export const mostLines = 1000;

/** The lines behind `after`, oldest first; or the last `tail` of them. */
export async function readLog(
  db: Db,
  id: string,
  from: { readonly after?: number; readonly tail?: number },
): Promise<readonly LogLine[]> {
  const { rows } = await sql<{ seq: string; at: Date; level: LogLine['level']; message: string }>`
    select seq::text, at, level, message from (
      select * from ops.run_log where dag_run_id = ${id} and seq > ${from.after ?? 0}
      order by seq ${from.tail === undefined ? sql`` : sql`desc`} limit ${Math.min(from.tail ?? mostLines, mostLines)}) l
    order by l.seq`.execute(db);
  return rows.map(({ seq, ...line }) => ({ seq: Number(seq), ...line }));
}

/** What of a run is worth a line; undefined for what is only progress. */
export function lineOf(event: RunEvent): Pick<Line, 'level' | 'message'> | undefined {
  const { pipeline } = event;
  switch (event.type) {
    case 'run.started':
      return {
        level: 'info',
        message: `${pipeline}: run ${event.runId} (${event.kind}) ${event.resumed ? 'goes on' : 'started'}`,
      };
    case 'stream.finished': {
      const { stream, status, counts, deleted, seconds, reason } = event.report;
      const what = `${plural(counts.received, 'record')}, ${counts.inserted} new, ${counts.updated} changed, ${deleted} deleted, ${counts.rejected} rejected, ${duration(seconds)}`;
      const good = status === 'ok' || status === 'skipped' || status === 'unavailable';
      return {
        level: good ? 'info' : status === 'failed' ? 'error' : 'warn',
        message: `${pipeline}.${stream}: ${status} (${what})${reason === undefined ? '' : `: ${reason}`}`,
      };
    }
    case 'note':
      return { level: event.level, message: `${pipeline}: ${event.message}` };
    case 'run.finished': {
      const { runId, status, seconds, error } = event.report;
      return {
        level: status === 'succeeded' ? 'info' : status === 'failed' || status === 'lost' ? 'error' : 'warn',
        message: `${pipeline}: run ${runId ?? '–'} ${status.replaceAll('_', ' ')} after ${duration(seconds)}${error === undefined ? '' : `: ${error.message}`}`,
      };
    }
    default:
      return undefined;
  }
}
