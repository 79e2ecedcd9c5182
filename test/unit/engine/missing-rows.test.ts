/** What a reconciliation compares by itself: all ids with all rows, whatever the server believes of a table that was filled a moment ago. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { issues } from '../../../src/connectors/jira/tables.ts';
import type { Stream } from '../../../src/core/stream.ts';
import { newTally, type RunContext } from '../../../src/engine/context/run-context.ts';
import { lackingIn, noteLacking } from '../../../src/engine/reconcile/missing-rows.ts';
import { SeenIds } from '../../../src/engine/reconcile/seen-ids.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

const stored = 5_000;
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await database.warehouse.pool.query(`
    insert into ops.sources (source_id, name, kind, base_url) overriding system value values (1, 'tracker', 'tracker', 'http://x');
    alter table tracker.issues set (autovacuum_enabled = false);
    insert into tracker.issues (source_id, id, key, project_id, status_id, created_at, updated_at)
      select 1, n, 'A-' || n, 1, 1, 'epoch', 'epoch' from generate_series(1, ${stored}) n`);
});
afterAll(() => database.drop());

test('finds what is not in a table of which the server has no statistics, and reads that table once', async () => {
  const context = { run: { sourceId: 1 }, signal: new AbortController().signal };
  const flow = { table: issues, name: 'issues' } as unknown as Stream;
  const due = new Date('2026-01-01');
  const slice = { window: { field: 'created', from: new Date('2020-01-01'), to: due } } as const;
  const client = await database.warehouse.pool.connect();
  try {
    await client.query(`begin; set local random_page_cost = 4;
      create temp table reconcile_seen (key text, place int, primary key (key, place));
      insert into reconcile_seen select n::text, 0 from generate_series(3, ${stored + 2}) n`);
    const seen = new SeenIds(context as RunContext, flow, client, newTally());
    seen.slices.push(slice);
    const lacking = await lackingIn(seen, flow, due);
    expect(lacking).toEqual({ places: [0], records: 2 });
    await noteLacking(seen, flow, lacking);
    const { rows } = await client.query<{ read: number }>(
      `select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relid = 'tracker.issues'::regclass`,
    );
    // Once a statement.
    expect(rows[0]?.read).toBe(2 * stored);
    const { rows: noted } = await client.query('select key from ops.unseen order by key');
    expect(noted).toEqual([{ key: String(stored + 1) }, { key: String(stored + 2) }]);
    await client.query('rollback');
  } finally {
    client.release(true);
  }
});
