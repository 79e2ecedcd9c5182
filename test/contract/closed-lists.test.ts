import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import type { RunReport } from '../../src/core/run.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

const always = { times: Number.POSITIVE_INFINITY };
const night = 86_400_000;

let rig: Rig;
beforeEach(async () => {
  rig = await openRig({ ...smallSite, issues: 40, dialect: 'vendor' });
});
afterEach(() => rig.close());

const streamOf = (report: RunReport, name: string) => report.streams.find(({ stream }) => stream === name);

describe.each([
  ['group_members', '/rest/api/3/group/member'],
  ['sprint_issues', '/rest/agile/1.0/sprint/{id}/issue'],
] as const)('%s, which the contract promises,', (stream, endpoint) => {
  const failed = { status: 'failed', reason: expect.stringContaining(`${endpoint} answered 403`) };

  test('fail night after night while they are closed to us of every owner, as a list without owners does, and are read when they open', async () => {
    const { script, clock } = rig.tracker;
    const shut = script.at({ endpoint, ...always }, status(403));
    for (let one = 0; one < 2; one += 1) {
      const report = await rig.sync();
      expect(report).toMatchObject({ status: 'partly_failed' });
      expect(streamOf(report, stream)).toMatchObject(failed);
      clock.advance(night);
    }
    expect(shut.fired).toBeGreaterThan(2);
    script.clear();
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig)).toEqual([]);
  });

  test('that were read before fail as well, and their rows stay', async () => {
    const { script, clock } = rig.tracker;
    await rig.sync();
    clock.advance(night);
    const before = await rig.rows(`select count(*) from tracker.${stream}`);
    script.at({ endpoint, ...always }, status(403));
    const report = await rig.sync();
    expect(report).toMatchObject({ status: 'partly_failed' });
    expect(streamOf(report, stream)).toMatchObject(failed);
    expect(await rig.rows(`select count(*) from tracker.${stream}`)).toEqual(before);
  });

  test('that one owner alone refuses make the run partly failed; the others land', async () => {
    const { script } = rig.tracker;
    const asked: string[] = [];
    script.at(
      {
        endpoint,
        ...always,
        match: ({ path, query }) => {
          asked.push(String(query.groupId ?? path));
          return asked.at(-1) === asked[0];
        },
      },
      status(403),
    );
    const report = await rig.sync();
    expect(report).toMatchObject({ status: 'partly_failed' });
    expect(streamOf(report, stream)).toMatchObject({ status: 'forbidden' });
    expect((await rig.rows(`select 1 from tracker.${stream}`)).length).toBeGreaterThan(0);
  });
});
