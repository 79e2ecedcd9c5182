import { expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import { bearer } from '../../src/http/auth.ts';
import { differences, issueDifferences } from '../support/oracle.ts';
import { testRig } from '../support/rig.ts';

const server = { dialect: 'data-center', issues: 40 } as const;
const search = '/rest/api/2/search';
const always = { times: Number.POSITIVE_INFINITY };

test('a personal access token reads, and reconciles, a whole Jira Data Center', async () => {
  const rig = await testRig(server);
  const { state, clock, token } = rig.tracker;
  const how = { settings: { auth: bearer({ reveal: () => token }) } };
  expect(await rig.sync({}, how)).toMatchObject({ status: 'succeeded' });
  const [gone = ''] = rig.tracker.oracle().issues.keys();
  state.delete(gone);
  clock.advance(60_000);
  expect(await rig.reconcile({}, how)).toMatchObject({ status: 'succeeded', deleted: 1 });
  expect(await differences(rig, { server: true })).toEqual([]);
  expect(
    rig.tracker.log.filter(({ path, status: code }) => path.startsWith('/rest/api/3/') && code === 200),
  ).toEqual([]);
});

// jira-node/node-jira-client#368: "I can only use GET method, POST will fail", with 403.
test.each([403, 404, 405])(
  'behind a gateway that lets only GET through (%i) issues are read',
  async (code) => {
    const rig = await testRig(server);
    const closed = rig.tracker.script.at({ endpoint: search, method: 'POST', ...always }, status(code));
    expect(await rig.sync({ streams: ['fields', 'issues'] })).toMatchObject({ status: 'succeeded' });
    expect(await issueDifferences(rig, { server: true })).toEqual([]);
    // What is open is found out once.
    expect(closed.fired).toBe(1);
  },
);

test('a search that is closed in both methods fails the issues, with the reason', async () => {
  const rig = await testRig(server);
  const closed = rig.tracker.script.at({ endpoint: search, ...always }, status(403));
  const report = await rig.sync({ streams: ['projects', 'issues'] });
  expect(report.streams.map(({ stream, status: outcome }) => [stream, outcome])).toEqual([
    ['projects', 'ok'],
    ['issues', expect.stringMatching(/failed|forbidden/)],
  ]);
  expect(JSON.stringify(report)).toContain(`${search} answered 403`);
  expect(closed.fired).toBeGreaterThan(1);
});
