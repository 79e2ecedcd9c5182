import { expect, test } from 'vitest';
import { delay } from '../../../simulators/shared/faults.ts';
import { testRig } from '../../support/rig.ts';
import { dialects } from '../../support/small-site.ts';

test.each(dialects)(
  'a first sync reads everything, and a second one changes nothing ($name)',
  async ({ options }) => {
    const rig = await testRig(options);
    const report = await rig.sync();
    expect(report).toMatchObject({ status: 'succeeded' });
    expect(report.streams.find(({ stream }) => stream === 'issues')).toMatchObject({
      status: 'ok',
      receipt: { read: 150, stored: 150 },
      counts: { inserted: 150 },
    });
    expect(await rig.sync()).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 0, updated: 0, rejected: 0 },
      deleted: 0,
    });
  },
);

test('a run that a defect ends says which, not that somebody asked it to stop, whatever its other streams waited for', async () => {
  const rig = await testRig({ issues: 30 });
  await rig.rows('alter table tracker.projects add constraint impossible check (false)');
  const slow = rig.tracker.script.at({ match: ({ path }) => path.includes('/users') }, delay(60_000));
  // The defect comes when the other stream is waiting.
  rig.tracker.script.at({ match: ({ path }) => path.includes('/project') }, delay(500));
  await expect(rig.sync()).rejects.toThrow(/impossible/);
  expect(slow.fired).toBeGreaterThan(0);
  expect(await rig.rows('select status, error_code from ops.runs')).toEqual([
    { status: 'failed', error_code: 'defect' },
  ]);
});

test('a record whose source went back in time is not taken, and the run says so; a full sync takes it', async () => {
  const rig = await testRig({ issues: 30 });
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
});
