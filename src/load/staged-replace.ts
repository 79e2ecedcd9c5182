/** A complete listing that is too large for memory: staged batch by batch as it comes, loaded in one transaction at its end. */

import { sql } from 'kysely';
import type pg from 'pg';
import type { Flow } from '../core/stream.ts';
import type { Batch, BatchRecord, Reject } from './batch.ts';
import { layoutOf } from './layout.ts';
import { connected, kyselyOn, type Session, transientIf } from './session.ts';
import { createLastingStage, dropStage, stage } from './stage.ts';

/** What was taken in so far. It holds a connection of its own until it is closed. */
export interface Gathered {
  readonly received: number;
  readonly deduplicated: number;
  /** Rows in the staging table, or in the table itself. */
  readonly rows: number;
  readonly rejects: readonly Reject[];
  readonly notes: ReadonlySet<string>;
  /** Of the records, as `ops.rejects.record_key` has them; only where rejects may be resolved by them. */
  readonly names: readonly string[];
  /** The session on which the rows were staged: the transaction that loads them needs it. */
  readonly client?: pg.PoolClient;
  /** Where a transaction is open already: does the work in it, commits it, and gives the result once that is certain. */
  readonly within?: <T>(work: (session: Session) => Promise<T>) => Promise<T>;
  /** Where the rows were written already: the last ones, too, and what became of all of them. Call it `within`. */
  readonly finish?: (
    batch: Batch,
    records: readonly BatchRecord[],
  ) => Promise<{
    readonly inserted: number;
    readonly updated: number;
    readonly unchanged: number;
    readonly repeated: number;
  }>;
}

export interface Gathering extends Gathered {
  /** Stages the batch; its memory may be used again. */
  add(batch: Batch): Promise<void>;
  /** Gives the connection back, without what was staged. */
  close(): Promise<void>;
}

/**
 * For a flow without children. The staging table outlives transactions, so none is open while the source is read. It and `add` throw `Transient`
 * where the session is lost.
 */
export async function gather(pool: pg.Pool, flow: Flow): Promise<Gathering> {
  const client = await connected(pool);
  // A break shows itself in the next statement.
  const ignore = (): undefined => undefined;
  client.on('error', ignore);
  const db = kyselyOn(client);
  const layout = layoutOf(flow.table);
  const { taken, add } = takings();
  // What is staged is gone with its session: there is nothing to repeat, but the slice may be read another time.
  const within = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    db
      .transaction()
      .execute((trx) => work({ trx, client }))
      .catch((error: unknown) => {
        throw transientIf(error);
      });
  try {
    await within((session) => createLastingStage(session, layout));
  } catch (error) {
    client.release(true);
    throw error;
  }
  return Object.assign(taken, {
    client,
    async add(batch: Batch) {
      const rows = await within(async (session) => {
        await sql`set local synchronous_commit = off`.execute(session.trx);
        return stage(session, batch, 0, batch.records);
      });
      add(batch, rows);
    },
    async close() {
      try {
        await within((session) => dropStage(session, layout));
        client.off('error', ignore);
        client.release();
      } catch {
        // The session is broken, and with it its staging table.
        client.release(true);
      }
    },
  });
}

/** The counts, rejects and notes of batches. */
export function takings(): {
  readonly taken: Gathered;
  /** `rows`: how many it put into the table. */
  readonly add: (batch: Batch, rows: number) => void;
} {
  const taken = { received: 0, deduplicated: 0, rows: 0 };
  const rejects: Reject[] = [];
  const notes = new Set<string>();
  const names: string[] = [];
  return {
    taken: Object.assign(taken, { rejects, notes, names }),
    add(batch, rows) {
      taken.rows += rows;
      taken.received += batch.received;
      taken.deduplicated += batch.deduplicated;
      rejects.push(...batch.rejects);
      for (const note of batch.notes) notes.add(note);
      names.push(...batch.names);
    },
  };
}
