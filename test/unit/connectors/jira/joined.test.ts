import { expect, it } from 'vitest';
import { testRig } from '../../../support/rig.ts';

it('without their lists, statuses, types and priorities are those that issues name, by their newest names', async () => {
  const rig = await testRig({ bare: true, issues: 80, users: 20, projects: 2, years: 0.3 });
  await rig.sync();
  const { state } = rig.tracker;
  const live = () => [...rig.tracker.oracle().issues.values()].filter((one) => !one.deleted);
  const truth = () => {
    const { statuses, issueTypes, priorities } = rig.tracker.oracle();
    const categories = { new: 'todo', indeterminate: 'in_progress', done: 'done' };
    return live().map(({ key, statusId, typeId, priorityId }) => {
      const status = statuses.find(({ id }) => id === statusId);
      const type = issueTypes.find(({ id }) => id === typeId);
      const priority = priorities.find(({ id }) => id === priorityId);
      const category = categories[status?.category ?? 'new'];
      const isSubtask = type?.hierarchyLevel === -1;
      return [key, status?.name, category, type?.name, isSubtask, priority?.name, category !== 'done'];
    });
  };
  const query = `select jsonb_build_array(issue_key, status, status_category, issue_type, is_subtask, priority, is_open) as row
    from bi.issues order by issue_id::bigint`;
  const shown = async () => (await rig.rows<{ row: unknown[] }>(query)).map(({ row }) => row);
  expect(await shown()).toEqual(truth());

  const [first] = live();
  state.renameStatus(first?.statusId ?? '', 'Another name');
  state.touch(first?.id ?? '');
  await rig.sync();
  expect(await shown()).toEqual(truth());
  const { streams } = await rig.sync();
  expect(streams.filter(({ counts }) => counts.inserted + counts.updated > 0)).toEqual([]);

  // An issue that names its status without a category takes the category from no other issue.
  const done = () => rig.rows('select from bi.issues where not is_open');
  const before = (await done()).length;
  expect(before).toBeGreaterThan(1);
  const one = live().find(({ statusId }) => state.statuses.get(statusId)?.category === 'done');
  state.setRaw(one?.id ?? '', 'status', JSON.stringify({ id: one?.statusId, name: 'Done' }));
  state.touch(one?.id ?? '');
  await rig.sync();
  const category = 'select status_category from tracker.issues where id = $1';
  expect(await rig.rows(category, [one?.id])).toEqual([{ status_category: 'unknown' }]);
  expect(await done()).toHaveLength(before);
});
