import { describe, expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import type { RunReport } from '../../src/core/run.ts';
import { differences } from '../support/oracle.ts';
import { testRig } from '../support/rig.ts';

const always = { times: Number.POSITIVE_INFINITY };
const open = () => testRig({ issues: 40, dialect: 'vendor' });
const streamOf = (report: RunReport, name: string) => report.streams.find(({ stream }) => stream === name);

describe.each([
  ['group_members', '/rest/api/3/group/member'],
  ['sprint_issues', '/rest/agile/1.0/sprint/{id}/issue'],
] as const)('%s, which the contract promises', (stream, endpoint) => {
  const failed = { status: 'failed', reason: expect.stringContaining(`${endpoint} answered 403`) };

  test('fail while every owner answers 403, keep their rows, and are read when they open', async () => {
    const rig = await open();
    const { script, clock } = rig.tracker;
    const rows = () => rig.rows(`select 1 from tracker.${stream}`);
    const refused = async (): Promise<void> => {
      const shut = script.at({ endpoint, ...always }, status(403));
      const report = await rig.sync();
      expect(report).toMatchObject({ status: 'partly_failed' });
      expect(streamOf(report, stream)).toMatchObject(failed);
      expect(shut.fired).toBeGreaterThan(1);
      clock.advance(86_400_000);
      script.clear();
    };
    await refused();
    await refused();
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig)).toEqual([]);
    const before = await rows();
    await refused();
    expect(await rows()).toHaveLength(before.length);
  });

  test('make the run partly failed where one owner answers 403; the others land', async () => {
    const rig = await open();
    let first: string | undefined;
    const match = ({ path, query }: { path: string; query: Readonly<Record<string, string>> }): boolean => {
      const owner = query.groupId ?? path;
      first ??= owner;
      return owner === first;
    };
    rig.tracker.script.at({ endpoint, ...always, match }, status(403));
    const report = await rig.sync();
    expect(report).toMatchObject({ status: 'partly_failed' });
    expect(streamOf(report, stream)).toMatchObject({ status: 'forbidden' });
    expect((await rig.rows(`select 1 from tracker.${stream}`)).length).toBeGreaterThan(0);
  });
});
