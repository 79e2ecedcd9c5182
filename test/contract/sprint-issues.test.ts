/**
 * Issues of sprints come from the search where it pages by token (`sprint = ID`, only ids, 5000 a page): the sprint's own list pages by
 * number, and a site limits how many it shows (the vendor's OpenAPI). Both give the same.
 */
import { expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import { differences } from '../support/oracle.ts';
import { type Rig, readListsOfSprints, testRig } from '../support/rig.ts';

const site = { dialect: 'vendor', issues: 150, projects: 1, years: 0.1 } as const;
const rows = (rig: Rig) =>
  rig.rows('select sprint_id::int, issue_id::int from tracker.sprint_issues order by 1, 2');
const asked = (rig: Rig, from = 0) => {
  const sent = rig.tracker.log.slice(from);
  return {
    lists: sent.filter(({ path }) => /\/sprint\/\d+\/issue$/.test(path)).length,
    searches: sent.filter(({ body }) => /"jql":"sprint = /.test(JSON.stringify(body) ?? '')).length,
  };
};

test('the search gives the issues that the lists of sprints give, in fewer requests', async () => {
  const bySearch = await testRig(site);
  const byLists = await testRig(site);
  const refused = readListsOfSprints(byLists);
  for (const rig of [bySearch, byLists]) {
    // One sprint of more than a page of its list.
    const { id } = rig.tracker.state.addSprint(1);
    for (const issue of [...rig.tracker.oracle().issues.keys()].slice(0, 130))
      rig.tracker.state.update(issue, { sprintIds: [id] });
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig)).toEqual([]);
  }
  expect(refused.fired).toBeGreaterThan(0);
  expect(await rows(bySearch)).toEqual(await rows(byLists));
  expect((await rows(bySearch)).length).toBeGreaterThan(130);
  expect(asked(bySearch).lists).toBe(0);
  expect(asked(bySearch).searches).toBeLessThan(asked(byLists).lists);
});

test('a sprint that is deleted while it is read is gone, by its own list', async () => {
  const rig = await testRig(site);
  await rig.sync();
  const { state, clock, log, script } = rig.tracker;
  const planned = state.addSprint(1, { name: 'Planned' });
  clock.advance(60_000);
  const deleted = script.at(
    { match: ({ body }) => /"jql":"sprint = /.test(JSON.stringify(body) ?? '') },
    () => state.deleteSprint(planned.id),
  );
  const from = log.length;
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(deleted.fired).toBe(1);
  expect(asked(rig, from).lists).toBeGreaterThan(0);
  clock.advance(60_000);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
});

test('where the search is closed, the lists of sprints are read', async () => {
  const rig = await testRig(site);
  rig.tracker.script.at({ endpoint: '/rest/api/3/search/jql', times: Infinity }, status(403));
  await rig.sync({ streams: ['boards', 'sprints', 'board_sprints', 'sprint_issues'] });
  expect(asked(rig)).toMatchObject({ searches: 0, lists: expect.any(Number) });
  expect((await rows(rig)).length).toBeGreaterThan(0);
});
