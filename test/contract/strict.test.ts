import { expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import { differences } from '../support/oracle.ts';
import { testRig } from '../support/rig.ts';

const always = { times: Number.POSITIVE_INFINITY };
const succeeded = { status: 'succeeded' };

/** What the contract names of each list's query, and what selects the group whose members are listed. */
const ofContract = new Set(['startAt', 'maxResults', 'cursor', 'groupId', 'groupname']);
const beyond = ({ query }: { query: Readonly<Record<string, string>> }): boolean =>
  Object.keys(query).some((name) => !ofContract.has(name));

// The contract names what its lists take; a server of it may refuse anything else.
test('a tracker of the contract gets no parameter beyond it, and is read', async () => {
  const rig = await testRig({ dialect: 'contract', bare: true, issues: 20, years: 0.1 });
  const { groups } = rig.tracker.oracle();
  const settings = { groups: groups.map(({ name }) => name) };
  expect(await rig.sync({}, { settings })).toMatchObject(succeeded);
  const lists = rig.tracker.log.filter(({ method, status: code }) => method === 'GET' && code === 200);
  expect(lists.length).toBeGreaterThan(5);
  expect(lists.filter(beyond)).toEqual([]);
  // The comparison expects no groups of a bare tracker.
  const wrong = await differences(rig, { bare: true });
  expect(wrong.filter((line) => !line.startsWith('group'))).toEqual([]);
  const members = groups.flatMap((group) => group.members);
  expect(await rig.rows('select from tracker.group_members')).toHaveLength(members.length);
});

test('a list that is refused after its first page is not continued with other parameters', async () => {
  const rig = await testRig({ dialect: 'vendor', users: 130, issues: 5 });
  const endpoint = '/rest/api/3/group/member';
  const isLater = ({ query }: { query: Readonly<Record<string, string>> }) => Number(query.startAt ?? 0) > 0;
  const rule = rig.tracker.script.at({ endpoint, ...always, match: isLater }, status(400));
  expect(await rig.sync({ streams: ['group_members', 'groups'] })).toMatchObject({ status: 'partly_failed' });
  expect(rule.fired).toBeGreaterThan(0);
  const sent = rig.tracker.log.filter((one) => one.endpoint === endpoint);
  expect(sent.filter(({ query }) => query.includeInactiveUsers === undefined)).toEqual([]);
});
