import { afterEach, expect, test } from 'vitest';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite, tongues } from '../support/small-site.ts';

let rig: Rig;
afterEach(() => rig.close());

test.each(tongues)(
  'what an issue shows of versions, components and sprints is as of its last change, and as it is after a full sync ($tongue)',
  async ({ options }) => {
    rig = await openRig({ ...smallSite, ...options });
    await rig.sync();
    const { state, clock } = rig.tracker;
    const { issues, projects } = rig.tracker.oracle();
    const issue = [...issues.values()].find(
      (one) => one.fixVersionIds.length > 0 && one.componentIds.length > 0 && one.sprintIds.length > 0,
    );
    if (issue === undefined) throw new Error('the seed has no such issue');
    const project = projects.find(({ id }) => id === issue.projectId);
    if (project === undefined) throw new Error('an issue without a project');
    const [sprint = 0] = issue.sprintIds;
    const shown = () =>
      rig.rows(
        `select v.name as version, v.released, c.name as component, s.name as sprint, i.fix_versions[1] as of_issue
         from tracker.issues i
         join tracker.issue_versions v on v.issue_id = i.id and v.version_id = $2
         join tracker.issue_components c on c.issue_id = i.id and c.component_id = $3
         join tracker.issue_sprints s on s.issue_id = i.id and s.sprint_id = $4
         where i.id = $1`,
        [issue.id, issue.fixVersionIds[0], issue.componentIds[0], sprint],
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
    expect(await shown()).toEqual([
      {
        version: `new ${issue.fixVersionIds[0]}`,
        released: !(project.versions.find(({ id }) => id === issue.fixVersionIds[0])?.released ?? false),
        component: `new ${issue.componentIds[0]}`,
        sprint: 'new sprint',
        of_issue: `new ${issue.fixVersionIds[0]}`,
      },
    ]);
  },
);
