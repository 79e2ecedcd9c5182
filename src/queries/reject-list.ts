/** The dead letters: records that could not become rows, and why. */
import { sql } from 'kysely';
import { type Db, every, query } from './db.ts';

export interface ListedReject {
  readonly rejectId: string;
  readonly pipeline: string;
  readonly stream: string;
  readonly recordKey: string;
  /** The part of the record, e.g. comments, where that was rejected alone; empty: the record itself. */
  readonly part: string;
  readonly stage: string;
  readonly code: string;
  readonly field: string | null;
  readonly message: string;
  readonly status: string;
  /** The record was too large to be kept whole. */
  readonly truncated: boolean;
  /** Partition and window in which it was met. */
  readonly slice: unknown;
  readonly attempts: number;
  readonly firstRunId: string;
  readonly lastRunId: string;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** Size of the record as received, bytes. */
  readonly bytes: number;
  /** The beginning of the record, as UTF-8; other bytes are shown as U+FFFD. The exact bytes stay in `ops.rejects`. */
  readonly excerpt: string;
}

interface RejectFilter
  extends Partial<Record<'pipeline' | 'stream' | 'code' | 'rejectId', string | undefined>> {
  readonly key?: readonly string[] | undefined;
  /** Also those that are resolved, replayed or dismissed. */
  readonly all?: boolean | undefined;
  /** Only those that were too large to be kept whole, and cannot be replayed. */
  readonly isCut?: boolean;
}

interface RejectPage {
  readonly limit: number;
  /** How much of the payload is read, bytes. */
  readonly excerptBytes?: number;
}

/** Dead letters that fit the filter, the last seen first. */
export async function rejects(db: Db, filter: RejectFilter & RejectPage): Promise<readonly ListedReject[]> {
  const found = await query(db)<Omit<ListedReject, 'excerpt'> & { readonly excerpt: Buffer }>`
    select r.reject_id::text, src.name as pipeline, r.stream, r.part, r.record_key, r.stage, r.code,
      r.field, r.message, r.status, r.truncated, r.slice, r.attempts::float8, r.first_run_id::text,
      r.last_run_id::text, r.first_seen_at, r.last_seen_at, octet_length(r.payload)::float8 as bytes,
      substring(r.payload from 1 for ${filter.excerptBytes ?? 400}::int) as excerpt
    from ops.rejects r join ops.sources src using (source_id) where ${fits(filter)}
    order by r.last_seen_at desc, r.reject_id desc limit ${filter.limit}`;
  return found.map((row) => ({ ...row, excerpt: row.excerpt.toString('utf8') }));
}

/** How many fit. */
export async function countRejects(db: Db, filter: RejectFilter = {}): Promise<number> {
  const [found] = await query(db)<{ readonly rejects: number }>`
    select count(*)::float8 as rejects from ops.rejects r join ops.sources src using (source_id)
    where ${fits(filter)}`;
  return found?.rejects ?? 0;
}

const fits = ({ pipeline, stream, key, code, rejectId, all, isCut }: RejectFilter) =>
  every(
    all !== true && sql`r.status = 'open'`,
    isCut === true && sql`r.truncated`,
    pipeline !== undefined && sql`src.name = ${pipeline}`,
    stream !== undefined && sql`r.stream = ${stream}`,
    key !== undefined && sql`r.record_key = any (${[...key]}::text[])`,
    code !== undefined && sql`r.code = ${code}`,
    rejectId !== undefined && sql`r.reject_id = ${rejectId}::bigint`,
  );
