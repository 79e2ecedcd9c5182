/** A complete listing that is too large for memory: staged batch by batch as it comes, loaded in one transaction at its end. */

import { sql } from 'kysely';
import type pg from 'pg';
import type { Flow } from '../core/stream.ts';
import { type Batch, type BatchRecord, keyText, type Reject } from './batch.ts';
import { layoutOf } from './layout.ts';
import { kyselyOn, type Session } from './session.ts';
import { createStage, dropStage, stage } from './stage.ts';

/** What was staged so far. It holds a connection of its own until it is closed. */
export interface Gathered {
  readonly client: pg.PoolClient;
  readonly received: number;
  readonly deduplicated: number;
  /** Rows in the staging table. */
  readonly rows: number;
  readonly rejects: readonly Reject[];
  readonly notes: ReadonlySet<string>;
  /** Keys as `ops.rejects.record_key` has them; only where rejects may be resolved by them. */
  readonly keys: readonly string[];
}

export interface Gathering extends Gathered {
  /** Stages the batch; its memory may be used again. */
  add(batch: Batch): Promise<void>;
  /** Gives the connection back, without what was staged. */
  close(): Promise<void>;
}

/** For a flow without children. The staging table outlives transactions, so none is open while the source is read. */
export async function gather(pool: pg.Pool, flow: Flow, keepKeys: boolean): Promise<Gathering> {
  const client = await pool.connect();
  // A break shows itself in the next statement.
  const ignore = (): undefined => undefined;
  client.on('error', ignore);
  const db = kyselyOn(client);
  const layout = layoutOf(flow.table);
  const rejects: Reject[] = [];
  const notes = new Set<string>();
  const keys: string[] = [];
  const total = { received: 0, deduplicated: 0, rows: 0 };
  const within = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    db.transaction().execute((trx) => work({ trx, client }));
  try {
    await within((session) => createStage(session, layout, true, 'preserve'));
  } catch (error) {
    client.release(true);
    throw error;
  }
  return {
    client,
    rejects,
    notes,
    keys,
    get received() {
      return total.received;
    },
    get deduplicated() {
      return total.deduplicated;
    },
    get rows() {
      return total.rows;
    },
    async add(batch) {
      const records: readonly BatchRecord[] = batch.records;
      await within(async (session) => {
        await sql`set local synchronous_commit = off`.execute(session.trx);
        total.rows += await stage(session, batch, 0, records);
      });
      total.received += batch.received;
      total.deduplicated += batch.deduplicated;
      rejects.push(...batch.rejects);
      for (const note of batch.notes) notes.add(note);
      if (keepKeys) for (const record of records) keys.push(keyText(record));
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
  };
}
