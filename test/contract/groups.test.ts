import { afterEach, expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

let rig: Rig;
afterEach(() => rig.close());

test('groups that were read by name are there once when the account may list them, and stay so when it may not again', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' });
  const { script, state } = rig.tracker;
  const settings = { groups: [...state.groups.values()].map(({ name }) => name) };
  const close = () =>
    script.at({ endpoint: '/rest/api/3/group/bulk', times: Number.POSITIVE_INFINITY }, status(403));
  const names = async () =>
    (await rig.rows<{ name: string }>('select name from tracker.groups where _deleted_at is null')).map(
      ({ name }) => name,
    );
  const shut = close();
  await rig.sync({}, { settings });
  expect((await names()).sort()).toEqual([...settings.groups].sort());
  shut.cancel();
  expect(await rig.sync({}, { settings })).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
  close();
  const [group] = state.groups.values();
  const [person] = group?.members ?? [];
  if (group === undefined || person === undefined) throw new Error('the seed has no group with members');
  state.removeFromGroup(group.groupId, person);
  expect(await rig.sync({}, { settings })).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
});
