import { describe, expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import type { RunReport } from '../../src/core/run.ts';
import { differences } from '../support/oracle.ts';
import { readListsOfSprints, testRig } from '../support/rig.ts';

const always = { times: Number.POSITIVE_INFINITY };
type Match = (sent: { path: string; query: Readonly<Record<string, string>> }) => boolean;
const streamOf = (report: RunReport, name: string) => report.streams.find(({ stream }) => stream === name);

// The agile API is there with Jira Software alone: closed to all, it is a fact about the site.
describe.each([
  ['group_members', '/rest/api/3/group/member', 'failed'],
  ['sprint_issues', '/rest/agile/1.0/sprint/{id}/issue', 'forbidden'],
] as const)('%s', (stream, endpoint, outcome) => {
  const failed = { status: outcome, reason: expect.stringContaining(`${endpoint} answered 403`) };

  test(`are ${outcome} while every owner answers 403 and keep their rows; where one does, the others land`, async () => {
    const rig = await testRig({ issues: 40, dialect: 'vendor' });
    const { script, clock } = rig.tracker;
    const rows = async () => (await rig.rows(`select 1 from tracker.${stream}`)).length;
    const refused = async (match: Match = () => true): Promise<RunReport> => {
      readListsOfSprints(rig);
      const shut = script.at({ endpoint, ...always, match }, status(403));
      const report = await rig.sync();
      expect(report).toMatchObject({ status: 'partly_failed' });
      expect(shut.fired).toBeGreaterThan(1);
      clock.advance(86_400_000);
      script.clear();
      return report;
    };
    let first: string | undefined;
    const isFirst: Match = ({ path, query }) => {
      first ??= query.groupId ?? path;
      return first === (query.groupId ?? path);
    };
    expect(streamOf(await refused(), stream)).toMatchObject(failed);
    expect(streamOf(await refused(isFirst), stream)).toMatchObject({ status: 'forbidden' });
    expect(await rows()).toBeGreaterThan(0);
    expect(await rig.sync(), 'they are open').toMatchObject({ status: 'succeeded' });
    expect(await differences(rig)).toEqual([]);
    const before = await rows();
    expect(streamOf(await refused(), stream)).toMatchObject(failed);
    expect(await rows()).toBe(before);
  });
});
