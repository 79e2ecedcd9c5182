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

// The property jira.ajax.autocomplete.limit cuts the only list of groups that Data Center has (20 by default), and
// says so by its total (docs.atlassian.com/software/jira/docs/api/10.7.0, GroupPickerResource).
test.each([
  ['cut', 1, /shows 1 of \d+ groups/],
  ['empty, because the account may not browse users', 0, /shows 0 of \d+ groups/],
])('where the list of groups is %s, those that are configured are read', async (_, shown, reason) => {
  const rig = await testRig({ dialect: 'data-center', issues: 5 });
  const { groups } = rig.tracker.oracle();
  const endpoint = '/rest/api/2/groups/picker';
  const body = JSON.stringify({ total: groups.length, groups: groups.slice(0, shown) });
  const cut = rig.tracker.script.at({ endpoint, times: Infinity }, status(200, { body }));
  const streams = ['groups', 'group_members'];
  const report = await rig.sync({ streams });
  expect(report.streams.find(({ stream }) => stream === 'groups')).toMatchObject({
    status: 'unavailable',
    reason: expect.stringMatching(reason),
  });
  const names = groups.map(({ name }) => name);
  expect(await rig.sync({ streams }, { settings: { groups: names } })).toMatchObject({ status: 'succeeded' });
  const rows = await rig.rows<{ id: string }>('select id from tracker.groups where _deleted_at is null');
  expect(rows.map(({ id }) => id).sort()).toEqual(names.toSorted());
  expect(await rig.rows('select from tracker.group_members')).not.toEqual([]);
  expect(cut.fired).toBeGreaterThan(1);
});
