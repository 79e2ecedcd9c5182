/** A walk ends with its slices, whichever of them are loaded last and at the same moment. */

import { expect, test } from 'vitest';
import { until } from '../support/processes.ts';
import { openRig } from '../support/rig.ts';

test('a walk whose last slices are loaded at the same moment is closed, and the next run reads changes alone', async () => {
  const rig = await openRig({
    issues: 1_300,
    projects: 3,
    users: 20,
    years: 0.7,
    history: 0,
    now: new Date('2026-03-10T09:00:00Z'),
  });
  const holder = await rig.database.warehouse.pool.connect();
  try {
    await holder.query('begin; lock table tracker.issues in exclusive mode');
    // Hands enough to halve the window until each piece is small: two have issues.
    const running = rig.sync({ streams: ['issues'] }, { deps: { concurrency: 16 } });
    await until('two loads that wait', async () => {
      const [row] = await rig.rows<{ n: number }>(
        `select count(distinct pid)::int as n from pg_locks where relation = 'tracker.issues'::regclass and not granted`,
      );
      return row?.n === 2;
    });
    await holder.query('commit');
    expect(await running).toMatchObject({ status: 'succeeded' });
  } finally {
    holder.release(true);
  }
  expect(
    await rig.rows(
      `select status, (select count(*)::int from ops.checkpoints) as marks from ops.walks where stream = 'issues'`,
    ),
  ).toEqual([{ status: 'done', marks: 1 }]);
  const before = rig.tracker.log.length;
  expect(await rig.sync({ streams: ['issues'] })).toMatchObject({
    status: 'succeeded',
    counts: { inserted: 0, updated: 0 },
  });
  expect(await rig.rows(`select kind from ops.walks where stream = 'issues' order by walk_id desc limit 1`)).toEqual([
    { kind: 'incremental' },
  ]);
  expect(rig.tracker.log.length - before).toBeLessThan(20);
  await rig.close();
}, 60_000);
