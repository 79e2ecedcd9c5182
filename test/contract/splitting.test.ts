import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Interrupted } from '../../src/core/errors.ts';
import { mostRecords } from '../../src/engine/sync/cut-window.ts';
import { openRig, type Rig } from '../support/rig.ts';

const issues = { streams: ['issues'] };

describe.each([
  ['vendor', 2 * mostRecords + 1200],
  ['contract', mostRecords + 1200],
] as const)('more issues than a slice holds, in the tongue %s (%i of them)', (dialect, count) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig({
      dialect,
      issues: count,
      projects: 3,
      users: 20,
      years: 1,
      history: 0,
      now: new Date('2026-03-10T09:00:00Z'),
    });
    const stop = new AbortController();
    // Stopped in the middle of the slices, then finished.
    rig.tracker.script.at({ endpoint: '/rest/api/3/search/jql', nth: 25 }, () =>
      stop.abort(new Interrupted('asked to stop')),
    );
    await expect(rig.sync(issues, { signal: stop.signal })).rejects.toThrow(Interrupted);
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  }, 120_000);
  afterAll(() => rig.close());

  test('slices hold no more than a slice may, and tile the window without gap or overlap', async () => {
    const slices = await rig.rows<{ from: Date; to: Date | null; expected: string | null; fetched: string }>(
      `select s.window_from as "from", s.window_to as "to", s.expected::text, s.fetched::text
       from ops.slices s join ops.walks w using (walk_id) where w.stream = 'issues' and w.kind = 'full' and s.status = 'done' order by 1`,
    );
    expect(slices.length).toBeGreaterThanOrEqual(2);
    expect(slices[0]?.from.toISOString()).toBe('2000-01-01T00:00:00.000Z');
    expect(slices.at(-1)?.to).toBeNull();
    const truth = [...rig.tracker.oracle().issues.values()];
    for (const [place, slice] of slices.entries()) {
      expect(Number(slice.fetched)).toBeLessThanOrEqual(mostRecords);
      const next = slices[place + 1];
      if (next !== undefined) expect(slice.to?.getTime()).toBe(next.from.getTime());
      const inside = truth.filter(
        (one) =>
          one.created >= slice.from.getTime() && (slice.to === null || one.created < slice.to.getTime()),
      );
      expect(Number(slice.fetched)).toBe(inside.length);
      if (dialect === 'contract') expect(Number(slice.expected)).toBe(inside.length);
    }
    expect(
      await rig.rows(`select count(*)::int as n from ops.slices where status not in ('done', 'split')`),
    ).toEqual([{ n: 0 }]);
  });

  test('every issue is there once', async () => {
    const [row] = await rig.rows<{ n: number; digest: string }>(
      `select count(*)::int as n, md5(string_agg(id::text || ' ' || key, ',' order by id)) as digest from tracker.issues where _deleted_at is null`,
    );
    const { createHash } = await import('node:crypto');
    const truth = [...rig.tracker.oracle().issues.values()].sort((a, b) => Number(a.id) - Number(b.id));
    const digest = createHash('md5')
      .update(truth.map((one) => `${one.id} ${one.key}`).join(','))
      .digest('hex');
    expect(row).toEqual({ n: truth.length, digest });
  });
});
