import { expect, test } from 'vitest';
import { Interrupted } from '../../src/core/errors.ts';
import { mostOfFew } from '../../src/engine/sync/cut.ts';
import { testRig } from '../support/rig.ts';

const issues = { streams: ['issues'] };

test('more issues than a slice holds are read in slices without gap or overlap', async () => {
  const issuesOf = { issues: mostOfFew + 1200, users: 20, years: 1, history: 0 };
  const rig = await testRig({ dialect: 'contract', ...issuesOf });
  // Stopped in the middle of the slices, then finished.
  const stop = new AbortController();
  rig.tracker.script.at({ endpoint: '/rest/api/3/search/jql', nth: 25 }, () =>
    stop.abort(new Interrupted('asked to stop')),
  );
  await expect(rig.sync(issues, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });

  const slices = await rig.rows<{ from: Date; to: Date | null; expected: number; read: number }>(
    `select s.window_from as "from", s.window_to as "to", s.expected::int, s.read::int from ops.slices s
       join ops.walks w using (walk_id)
       where w.stream = 'issues' and w.kind = 'full' and s.status = 'done' order by 1`,
  );
  expect(slices.length).toBeGreaterThanOrEqual(2);
  expect(slices[0]?.from.toISOString()).toBe('2000-01-01T00:00:00.000Z');
  expect(slices.map(({ to }) => to)).toEqual([...slices.slice(1).map(({ from }) => from), null]);
  const truth = [...rig.tracker.oracle().issues.values()];
  for (const { from, to, expected, read } of slices) {
    expect(read).toBeLessThanOrEqual(mostOfFew);
    const end = to?.getTime() ?? Infinity;
    const inside = truth.filter(({ created }) => created >= from.getTime() && created < end).length;
    expect([read, expected]).toEqual([inside, inside]);
  }
  expect(await rig.rows(`select from ops.slices where status not in ('done', 'split')`)).toEqual([]);

  const stored = 'select id::text, key from tracker.issues where _deleted_at is null order by id';
  const byId = truth.toSorted((a, b) => Number(a.id) - Number(b.id));
  expect(await rig.rows(stored)).toEqual(byId.map(({ id, key }) => ({ id, key })));
});
