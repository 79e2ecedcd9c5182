import { afterEach, expect, test } from 'vitest';
import { Interrupted } from '../../src/core/errors.ts';
import { total } from '../../src/simulator/shared/faults.ts';
import { openRig, type Rig } from '../support/rig.ts';

let rig: Rig;
afterEach(() => rig.close());

const search = { endpoint: '/rest/api/3/search/jql', method: 'POST' } as const;
const summaryOf = async (id: string): Promise<string | undefined> =>
  (await rig.rows<{ summary: string }>('select summary from tracker.issues where id = $1', [id]))[0]?.summary;

test('a run that finishes an interrupted first walk also reads what has changed since that walk began', async () => {
  rig = await openRig({ dialect: 'vendor', issues: 350 });
  const stop = new AbortController();
  const rule = rig.tracker.script.at({ ...search, nth: 8 }, () => stop.abort(new Interrupted('stopped')));
  await expect(rig.sync({ streams: ['issues'] }, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
  rig.tracker.state.update('10001', { summary: 'changed while nobody ran' });
  const report = await rig.sync({ streams: ['issues'] });
  expect(report.status).toBe('succeeded');
  expect(await summaryOf('10001')).toBe('changed while nobody ran');
});

test('a slice whose total never adds up stays red, moves no watermark, and does not keep new issues out', async () => {
  rig = await openRig({ dialect: 'contract', issues: 120 });
  rig.tracker.script.at(
    { ...search, times: Number.POSITIVE_INFINITY },
    total((truth) => truth + 1),
  );
  const first = await rig.sync({ streams: ['issues'] });
  expect(first.streams[0]).toMatchObject({ status: 'partial', counts: { inserted: 120 } });
  const { id } = rig.tracker.state.create('WEB', { summary: 'new after the first walk' });
  rig.tracker.state.update('10002', { summary: 'changed after the first walk' });
  const second = await rig.sync({ streams: ['issues'] });
  expect(second.status).not.toBe('succeeded');
  expect(await summaryOf(id)).toBe('new after the first walk');
  expect(await summaryOf('10002')).toBe('changed after the first walk');
  expect(await rig.rows('select * from ops.checkpoints')).toEqual([]);
  rig.tracker.script.clear();
  const third = await rig.sync({ streams: ['issues'] });
  expect(third.status).toBe('succeeded');
  expect(await rig.rows('select stream from ops.checkpoints')).toEqual([{ stream: 'issues' }]);
});
