import { afterEach, expect, it } from 'vitest';
import type { OracleIssue } from '../../../../simulators/jira/oracle.ts';
import { openRig, type Rig } from '../../../support/rig.ts';

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});
const rigOf = async (...how: Parameters<typeof openRig>): Promise<Rig> => {
  const rig = await openRig({ issues: 120, users: 20, projects: 2, years: 0.3, ...how[0] }, how[1]);
  open.push(rig);
  return rig;
};
it('statuses, types and priorities that no list tells of are those that the issues name, by their names of today', async () => {
  const rig = await rigOf({ bare: true });
  await rig.sync();
  const seen = (): readonly OracleIssue[] =>
    [...rig.tracker.oracle().issues.values()].filter((one) => !one.deleted);
  const named = () => {
    const { statuses, issueTypes, priorities } = rig.tracker.oracle();
    const of = <T extends { readonly id: string }>(list: readonly T[], id: string) =>
      list.find((one) => one.id === id);
    return seen().map(({ key, statusId, typeId, priorityId }) => {
      const status = of(statuses, statusId);
      const type = of(issueTypes, typeId);
      const means = { new: 'todo', indeterminate: 'in_progress', done: 'done' }[status?.category ?? 'new'];
      const isDone = means === 'done';
      return [
        key,
        status?.name,
        means,
        type?.name,
        type?.hierarchyLevel === -1,
        of(priorities, priorityId)?.name,
        !isDone,
      ];
    });
  };
  const shown = async () =>
    (
      await rig.rows<{
        row: unknown[];
      }>(`select jsonb_build_array(issue_key, status, status_category, issue_type, is_subtask, priority, is_open) as row
        from bi.issues order by issue_id::bigint`)
    ).map(({ row }) => row);
  expect(await shown()).toEqual(named());

  const [first] = seen();
  rig.tracker.state.renameStatus(first?.statusId ?? '', 'Called otherwise');
  rig.tracker.state.touch(first?.id ?? '');
  await rig.sync();
  expect(await shown()).toEqual(named());
  const again = await rig.sync();
  expect(again.streams.filter(({ counts }) => counts.inserted + counts.updated > 0)).toEqual([]);
});

it('what a status means is what issues say of it: one that tells its status without a category takes that from no other', async () => {
  const rig = await rigOf({ bare: true });
  const done = (): Promise<readonly { n: number }[]> =>
    rig.rows<{ n: number }>('select count(*)::int as n from bi.issues where not is_open');
  await rig.sync();
  const [{ n } = { n: 0 }] = await done();
  expect(n).toBeGreaterThan(1);
  const { state } = rig.tracker;
  const isDone = new Set(
    [...state.statuses.values()].filter(({ category }) => category === 'done').map(({ id }) => id),
  );
  const one = [...rig.tracker.oracle().issues.values()].find(
    (issue) => !issue.deleted && isDone.has(issue.statusId),
  );
  state.setRaw(one?.id ?? '', 'status', JSON.stringify({ id: one?.statusId, name: 'Done' }));
  state.touch(one?.id ?? '');
  await rig.sync();
  expect(await rig.rows('select status_category from tracker.issues where id = $1', [one?.id])).toEqual([
    { status_category: 'unknown' },
  ]);
  expect(await done()).toEqual([{ n }]);
});
