import { expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import { differences } from '../support/oracle.ts';
import { testRig } from '../support/rig.ts';

test('groups of TRACKER_GROUPS are kept once when the account may list groups, and when it may no longer', async () => {
  const rig = await testRig({ dialect: 'vendor' });
  const { script, state } = rig.tracker;
  const settings = { groups: [...state.groups.values()].map(({ name }) => name) };
  const close = () => script.at({ endpoint: '/rest/api/3/group/bulk', times: Infinity }, status(403));
  const shut = close();
  await rig.sync({}, { settings });
  const names = 'select name from tracker.groups where _deleted_at is null order by name';
  expect(await rig.rows(names)).toEqual([...settings.groups].sort().map((name) => ({ name })));
  shut.cancel();
  expect(await rig.sync({}, { settings })).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
  close();
  const [group] = state.groups.values();
  state.removeFromGroup(group?.groupId ?? '', group?.members[0] ?? '');
  expect(await rig.sync({}, { settings })).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
});

test('groups that the server does not list are those of TRACKER_GROUPS, with their members', async () => {
  const groups = ['jira-users', 'contractors & partners'];
  const rig = await testRig({ dialect: 'contract', bare: true, issues: 20 }, { groups });
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  const truth = rig.tracker.oracle().groups.filter(({ name }) => groups.includes(name));
  const expected = truth.flatMap(({ name, members }) => members.map((id) => `${name} ${id}`));
  const rows = await rig.rows<{ one: string }>(
    "select concat(group_id, ' ', user_id) as one from tracker.group_members",
  );
  expect(rows.map(({ one }) => one).sort()).toEqual(expected.sort());
});
