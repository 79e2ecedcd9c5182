import { expect, test } from 'vitest';
import { testRig } from '../support/rig.ts';

test('versions, components and sprints of an issue are as of its last change, or of a full sync', async () => {
  const rig = await testRig({ dialect: 'vendor' });
  await rig.sync();
  const { state, clock } = rig.tracker;
  const { issues, projects } = rig.tracker.oracle();
  const issue = [...issues.values()].find(
    (one) => one.fixVersionIds.length > 0 && one.componentIds.length > 0 && one.sprintIds.length > 0,
  );
  const project = projects.find(({ id }) => id === issue?.projectId);
  if (issue === undefined || project === undefined) throw new Error('the seed has no such issue');
  const [sprint = 0] = issue.sprintIds;
  const version = project.versions.find(({ id }) => id === issue.fixVersionIds[0]);
  const shown = () =>
    rig.rows(
      `select v.name as version, v.released, c.name as component, s.name as sprint, i.fix_versions[1] as of_issue
         from tracker.issues i
         join tracker.issue_versions v on v.issue_id = i.id and v.version_id = $2
         join tracker.issue_components c on c.issue_id = i.id and c.component_id = $3
         join tracker.issue_sprints s on s.issue_id = i.id and s.sprint_id = $4
         where i.id = $1`,
      [issue.id, version?.id, issue.componentIds[0], sprint],
    );
  const before = await shown();
  expect(before).toHaveLength(1);
  state.updateProject(project.key, {
    versions: project.versions.map((one) => ({ ...one, name: `new ${one.id}`, released: !one.released })),
    components: project.components.map((one) => ({ ...one, name: `new ${one.id}` })),
  });
  state.updateSprint(sprint, { name: 'new sprint' });
  clock.advance(3 * 86_400_000);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await shown()).toEqual(before);
  expect(await rig.sync({ full: true })).toMatchObject({ status: 'succeeded' });
  const names = { version: `new ${version?.id}`, of_issue: `new ${version?.id}`, sprint: 'new sprint' };
  const component = `new ${issue.componentIds[0]}`;
  expect(await shown()).toEqual([{ ...names, component, released: version?.released !== true }]);
});
