import { expect, it } from 'vitest';
import { testRig } from '../../../support/rig.ts';

const open = () => testRig({ bare: true, issues: 120, users: 20, projects: 2, years: 0.3 });

it('without their lists, statuses, types and priorities are those that issues name, by their newest names', async () => {
  const rig = await open();
  await rig.sync();
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
  rig.tracker.state.renameStatus(first?.statusId ?? '', 'Another name');
  rig.tracker.state.touch(first?.id ?? '');
  await rig.sync();
  expect(await shown()).toEqual(truth());
  const { streams } = await rig.sync();
  expect(streams.filter(({ counts }) => counts.inserted + counts.updated > 0)).toEqual([]);
});

it('an issue that names its status without a category takes the category from no other issue', async () => {
  const rig = await open();
  const done = () => rig.rows('select from bi.issues where not is_open');
  await rig.sync();
  const before = (await done()).length;
  expect(before).toBeGreaterThan(1);
  const { state } = rig.tracker;
  const isDone = (id: string): boolean => state.statuses.get(id)?.category === 'done';
  const issues = [...rig.tracker.oracle().issues.values()];
  const one = issues.find(({ deleted, statusId }) => !deleted && isDone(statusId));
  state.setRaw(one?.id ?? '', 'status', JSON.stringify({ id: one?.statusId, name: 'Done' }));
  state.touch(one?.id ?? '');
  await rig.sync();
  const category = 'select status_category from tracker.issues where id = $1';
  expect(await rig.rows(category, [one?.id])).toEqual([{ status_category: 'unknown' }]);
  expect(await done()).toHaveLength(before);
});
