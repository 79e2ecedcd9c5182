import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { delay } from '../../../simulators/shared/faults.ts';
import { openRig, type Rig } from '../../support/rig.ts';

describe.each([
  ['vendor', { dialect: 'vendor' as const }],
  ['contract', { dialect: 'contract' as const }],
  ['contract, seven endpoints only', { dialect: 'contract' as const, bare: true }],
])('against a tracker that speaks %s', (_, options) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig({ ...options, issues: 400 });
  });
  afterAll(() => rig.close());

  test('the first sync succeeds and its receipts hold', async () => {
    const report = await rig.sync();
    expect(report.error).toBeUndefined();
    expect(report.status).toBe('succeeded');
    const issues = report.streams.find((stream) => stream.stream === 'issues');
    expect(issues).toMatchObject({
      status: 'ok',
      receipt: { fetched: 400, landed: 400 },
      counts: { inserted: 400 },
    });
  });

  test('a second sync changes nothing and says so', async () => {
    const report = await rig.sync();
    expect(report.status).toBe('succeeded');
    expect(report.counts).toMatchObject({ inserted: 0, updated: 0, rejected: 0 });
    expect(report.deleted).toBe(0);
  });
});

test('a run that a defect ends says which, not that somebody asked it to stop, whatever its other streams waited for', async () => {
  const rig = await openRig({ issues: 30 });
  try {
    await rig.rows('alter table tracker.projects add constraint impossible check (false)');
    const slow = rig.tracker.script.at({ match: ({ path }) => path.includes('/users') }, delay(60_000));
    // The defect comes when the other stream is waiting.
    rig.tracker.script.at({ match: ({ path }) => path.includes('/project') }, delay(500));
    await expect(rig.sync()).rejects.toThrow(/impossible/);
    expect(slow.fired).toBeGreaterThan(0);
    expect(await rig.rows('select status, error_code from ops.runs')).toEqual([
      { status: 'failed', error_code: 'defect' },
    ]);
  } finally {
    await rig.close();
  }
});

test('a record whose source went back in time is not taken, and the run says so; a full sync takes it', async () => {
  const rig = await openRig({ issues: 30, now: new Date('2026-03-10T09:00:00Z') });
  try {
    const { state, clock } = rig.tracker;
    const id = state.store.at(0).id;
    state.update(id, { summary: 'Before' });
    await rig.sync();
    clock.set(new Date('2026-03-10T08:00:00Z'));
    state.update(id, { summary: 'After' });
    clock.set(new Date('2026-03-10T09:10:00Z'));
    const summary = () => rig.rows(`select summary from tracker.issues where id = ${id}`);
    const report = await rig.sync();
    expect(report.counts.superseded).toBe(1);
    expect(await summary()).toEqual([{ summary: 'Before' }]);
    const warned = rig.events.flatMap((event) =>
      event.type === 'note' && event.level === 'warn' ? [event.message] : [],
    );
    expect(warned).toEqual([
      expect.stringMatching(/^issues: 1 record .* the stored rows were kept. .* run sync tracker --full$/),
    ]);
    expect((await rig.sync({ full: true })).counts.superseded).toBe(0);
    expect(await summary()).toEqual([{ summary: 'After' }]);
  } finally {
    await rig.close();
  }
});
