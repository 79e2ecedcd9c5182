import { afterAll, beforeAll, expect, test } from 'vitest';
import { pruneRejects } from '../../../src/load/rejects.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test('rejects that were settled long ago go with their bytes; one that is open stays, whatever its age', async () => {
  const { db, pool } = database.warehouse;
  await pool.query(`insert into ops.rejects
      (source_id, stream, record_key, sha256, payload, stage, code, message, first_run_id, last_run_id, first_seen_at, status, resolved_at)
    select source_id, 'issues', name, sha256(name::bytea), 'x', 'transform', 'bad_instant', 'bad', 1, 1, now() - interval '1 year', status,
      now() - days * interval '1 day' from (values
        (1, 'open', 'open', null), (1, 'resolved lately', 'resolved', 89), (1, 'resolved long ago', 'resolved', 91),
        (1, 'replayed long ago', 'replayed', 91), (2, 'of another source', 'resolved', 91)
      ) as rejects (source_id, name, status, days)`);
  await pruneRejects(db, 1);
  const { rows } = await pool.query<{ record_key: string }>('select record_key from ops.rejects order by 1');
  expect(rows.map(({ record_key }) => record_key)).toEqual(['of another source', 'open', 'resolved lately']);
});
