/** The log of each request: its worker writes it in small batches, every process reads it. */

import { sql } from 'kysely';
import pLimit from 'p-limit';
import { duration, escaped, withoutSecrets } from '../core/format.ts';
import type { RunEvent } from '../core/run.ts';
import { type Db, query } from '../queries/db.ts';
import { outcome } from '../queries/summary-text.ts';
import type { LogLine } from './run-request.ts';

type NewLogLine = Omit<LogLine, 'seq'>;

/** Longer lines are cut: one source's error page must not fill the log. */
const longest = 2000;

export type RunLog = ReturnType<typeof openLog>;

/** The log of a request, open for writing. Lines wait until `flush`; those that could not be written are tried again with the next. */
export function openLog(db: Db, id: string) {
  const waiting: NewLogLine[] = [];
  const oneByOne = pLimit(1);
  return {
    add(level: NewLogLine['level'], message: string): void {
      waiting.push({ at: new Date(), level, message });
    },
    /** Throws what kept the lines from being written. */
    flush: (): Promise<void> =>
      oneByOne(async () => {
        const batch = waiting.slice();
        if (batch.length > 0) await write(db, id, batch);
        waiting.splice(0, batch.length);
      }),
  };
}

/** Adds one line at the end of a request's log. */
export const append = (db: Db, id: string, level: NewLogLine['level'], message: string): Promise<void> =>
  write(db, id, [{ at: new Date(), level, message }]);

/** The row of the request, or of its night, is locked until the end of the transaction: lines of several processes become visible in order. */
async function write(db: Db, id: string, lines: readonly NewLogLine[]): Promise<void> {
  await sql`with d as materialized (select dag_run_id from ops.dag_runs where dag_run_id = (
      select coalesce(part_of, dag_run_id) from ops.dag_runs where dag_run_id = ${id}) for no key update)
    insert into ops.run_log (dag_run_id, at, level, message)
    select ${id}, at, level, message from d, unnest(${lines.map(({ at }) => at)}::timestamptz[],
      ${lines.map(({ level }) => level)}::text[], ${lines.map(({ message }) => shown(message))}::text[])
      with ordinality as line (at, level, message, n) order by n`.execute(db);
}

const shown = (message: string): string => {
  const text = escaped(withoutSecrets(message));
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
};

/** The lines after `after`, or the last `tail` of them; only those with these words, and of this level or a worse one. */
export interface LogPart {
  readonly search?: string | undefined;
  readonly level?: string | undefined;
  readonly after?: number | undefined;
  readonly tail?: number | undefined;
  /** The largest number of lines that is read; 1000 unless given. */
  readonly most?: number | undefined;
}

/** Oldest first, as `ops.log_lines` has them. */
export const readLog = (
  db: Db,
  id: string,
  { after = 0, search = '', level = 'info', most = 1000, tail }: LogPart,
) =>
  query(db)<LogLine>`
    select seq::float8, at, level, message from (
      select l.* from ops.log_lines l
      where l.request_id = ${id} and l.seq > ${after} and strpos(lower(l.message collate ops.any_case), lower(${search} collate ops.any_case)) > 0
        and array_position('{info,warn,error}', l.level) >= array_position('{info,warn,error}', ${level})
      order by seq ${tail === undefined ? sql`` : sql`desc`} limit ${Math.min(tail ?? most, most)}) l
    order by l.seq`;

/** The line that an event of a run is worth; undefined for mere progress. May hold text of the source. */
export function lineOf(event: RunEvent): Pick<NewLogLine, 'level' | 'message'> | undefined {
  const { type, pipeline } = event;
  if (type === 'note') return { level: event.level, message: `${pipeline}: ${event.message}` };
  if (type === 'run.started')
    return { level: 'info', message: `${pipeline}: run ${event.runId} (${event.kind}) started` };
  if (!('report' in event)) return undefined;
  const { status, seconds } = event.report;
  const of = type === 'stream.finished' ? `.${event.report.stream}` : `: run ${event.report.runId ?? '–'}`;
  const why = type === 'stream.finished' ? event.report.reason : event.report.error?.message;
  const read = type === 'stream.finished' ? ` (${outcome(event.report)})` : '';
  const ended = `${status.replaceAll('_', ' ')} after ${duration(seconds)}${read}`;
  const message = `${pipeline}${of} ${ended}${why === undefined ? '' : `: ${why}`}`;
  const isFine = ['ok', 'skipped', 'unavailable', 'succeeded'].includes(status);
  return { level: isFine ? 'info' : status === 'failed' || status === 'lost' ? 'error' : 'warn', message };
}
