/** A walk ends with its slices, whichever of them are loaded last and at the same moment, and a run with its work. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Interrupted } from '../../../src/core/errors.ts';
import type { RunEvent } from '../../../src/core/run.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { until } from '../../support/processes.ts';
import { proxy } from '../../support/proxy.ts';
import { openRig } from '../../support/rig.ts';

test('a walk whose last slices are loaded at the same moment is closed, and the next run reads changes alone', async () => {
  const rig = await openRig({
    issues: 2_600,
    projects: 3,
    users: 20,
    years: 0.7,
    history: 0,
    now: new Date('2026-03-10T09:00:00Z'),
  });
  const holder = await rig.database.warehouse.pool.connect();
  try {
    await holder.query('begin; lock table tracker.issues in exclusive mode');
    // The window is halved until each piece is small: two have issues.
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
  expect(
    await rig.rows(`select kind from ops.walks where stream = 'issues' order by walk_id desc limit 1`),
  ).toEqual([{ kind: 'incremental' }]);
  expect(rig.tracker.log.length - before).toBeLessThan(20);
  await rig.close();
});

test('a run that is done when it is told to end, and the warehouse is away for a moment, has succeeded and is not lost', async () => {
  const rig = await openRig({ issues: 0, projects: 2, users: 5 });
  const { hostname: host, port } = new URL(rig.database.url);
  const wire = await proxy({ host, port: Number(port) });
  const through = new URL(rig.database.url);
  through.port = String(wire.port);
  const ending = new AbortController();
  const far = await connect(through.href, { signal: ending.signal });
  let away: Promise<void> | undefined;
  const cut = async (): Promise<void> => {
    const backAt = performance.now() + 500;
    while (performance.now() < backAt) {
      wire.cut();
      await sleep(5);
    }
  };
  try {
    const observe = ({ type }: RunEvent): void => {
      if (type !== 'stream.finished') return;
      ending.abort(new Interrupted('told to end'));
      away = cut();
    };
    const asked = rig.sync(
      { streams: ['projects'] },
      { signal: ending.signal, deps: { warehouse: far, observe } },
    );
    expect(await asked).toMatchObject({ status: 'succeeded' });
    await away;
    expect(await rig.rows('select status from ops.runs')).toEqual([{ status: 'succeeded' }]);
  } finally {
    await far.close();
    await wire.close();
    await rig.close();
  }
});
