/** What a reconciliation compares by itself: all ids with all rows, whatever the server believes of a table that was filled a moment ago. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { issues } from '../../../src/connectors/jira/issue-tables.ts';
import { Tally } from '../../../src/engine/context/run-context.ts';
import { lackingBefore } from '../../../src/engine/reconcile/missing-rows.ts';
import { type Reconciling, readIds } from '../../../src/engine/reconcile/seen-ids.ts';
import { kyselyOn } from '../../../src/load/session.ts';
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
  const client = await database.warehouse.pool.connect();
  const stream = { table: issues, name: 'issues' };
  const of = { sourceId: 1, stream, tally: new Tally(), signal: new AbortController().signal };
  const reconciling = { ...of, own: kyselyOn(client) } as unknown as Reconciling;
  try {
    const rowsRead = async (): Promise<number> => {
      const { rows } = await client.query(`select (seq_tup_read + idx_tup_fetch)::int as read
        from pg_stat_xact_user_tables where relid = 'tracker.issues'::regclass`);
      return rows[0].read;
    };
    await client.query('begin; set local random_page_cost = 4');
    const before = await rowsRead();
    await readIds(reconciling, []);
    await client.query(
      `insert into reconcile_seen select n::text, 'epoch', '2026-01-01Z' from generate_series(3, ${stored + 2}) n`,
    );
    const from = new Date(0);
    const to = new Date('2026-01-01Z');
    expect(await lackingBefore(reconciling, to)).toEqual([{ from, to, records: 2 }]);
    expect((await rowsRead()) - before).toBe(stored);
    const { rows: noted } = await client.query('select key from ops.unseen order by key');
    expect(noted).toEqual([{ key: String(stored + 1) }, { key: String(stored + 2) }]);
  } finally {
    client.release(true);
  }
});
