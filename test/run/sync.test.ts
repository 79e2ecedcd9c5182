import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { delay } from '../../src/simulator/shared/faults.ts';
import { openRig, type Rig } from '../support/rig.ts';

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
    expect(issues).toMatchObject({ status: 'ok', receipt: { fetched: 400, landed: 400 }, counts: { inserted: 400 } });
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
