/**
 * A first sync fills tables of which the server has no statistics yet, and an external one plans by its own costs: whatever it believes of them, a
 * batch looks up its own keys and reads no table through.
 */

import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Mapped } from '../../../src/core/stream.ts';
import type { Loaded } from '../../../src/load/load.ts';
import { until } from '../../support/processes.ts';
import { openLab, thing, thingFlow } from './things.ts';

const stored = 20_000;
const size = 400;

const lab = openLab(
  thingFlow,
  '',
  `alter table lab.things set (autovacuum_enabled = false);
   alter table lab.thing_tags set (autovacuum_enabled = false);
   alter table lab.thing_notes set (autovacuum_enabled = false);
   create index on lab.thing_notes (source_id, thing_id);
   insert into lab.things (source_id, id, name, updated_at, _row_hash, _run_id)
     select 1, n, 'old', 'epoch', 1, 1 from generate_series(1, ${stored}) n;
   insert into lab.thing_tags (source_id, thing_id, tag, weight) select 1, n, 'a', 1 from generate_series(1, ${stored}) n;
   insert into lab.thing_notes (source_id, id, thing_id, body) select 1, n, n, 'hi' from generate_series(1, ${stored}) n`,
);

const some = (from: number, name: string, updatedAt: bigint): readonly Mapped[] =>
  Array.from({ length: size }, (_, i) => {
    const id = from + i;
    const notes = [{ id, thing_id: id, body: 'new' }];
    return thing(id, name, updatedAt, { tags: [{ thing_id: id, tag: 'b', weight: 2 }], notes });
  });

/** Loads a batch under the default settings of Postgres; `fetched`: how many rows of the tables its transaction read. */
const loading = async (
  records: readonly Mapped[],
  runId: string,
): Promise<Loaded & { readonly fetched: number }> => {
  let fetched = Number.NaN;
  const loaded = await lab.put(records, {
    runId,
    settings: 'set local random_page_cost = 4; set local effective_cache_size = 524288',
    close: async ({ trx }) => {
      const { rows } = await sql<{ fetched: number }>`select sum(seq_tup_read + idx_tup_fetch)::int as fetched
        from pg_stat_xact_user_tables where schemaname = 'lab'`.execute(trx);
      fetched = rows[0]?.fetched ?? Number.NaN;
    },
  });
  return { ...loaded, fetched };
};

/** Of each record its row, its child rows and what they replace may be looked at a few times. */
const few = 20 * size;

test('new records: one look-up each', async () => {
  const { counts, fetched } = await loading(some(stored + 1, 'new', 5n), '2');
  expect(counts).toMatchObject({ received: size, inserted: size });
  expect(fetched).toBeLessThanOrEqual(few);
});

test('changed records and their children', async () => {
  const { counts, deleted, fetched } = await loading(some(5_000, 'changed', 6n), '3');
  expect(counts).toMatchObject({ updated: size });
  expect(deleted).toBe(size);
  expect(fetched).toBeLessThanOrEqual(few);
});

test('records that another session writes at the same time', async () => {
  const other = await lab.warehouse.pool.connect();
  try {
    await other.query('begin');
    await other.query(
      `update lab.things set updated_at = '2030-01-01', name = 'newer' where id between 9000 and ${9_000 + size - 1}`,
    );
    const pending = loading(some(9_000, 'changed', 6n), '4');
    const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await until('the load waits for the other session', async () => (await lab.rows(waiting)).length === 1);
    await other.query('commit');
    const { counts, fetched } = await pending;
    expect(counts).toMatchObject({ superseded: size });
    expect(fetched).toBeLessThanOrEqual(few);
  } finally {
    other.release();
  }
});
