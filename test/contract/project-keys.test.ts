import { afterEach, describe, expect, test } from 'vitest';
import type { Project } from '../../simulators/jira/model.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

const days = 86_400_000;
const streams = { streams: ['projects', 'fields', 'issues'] };
let rig: Rig;
afterEach(() => rig.close());

/** The project gets another key, and with it every issue in it; no issue counts as changed by that. */
const rekey = (from: string, to: string): void => {
  const { state } = rig.tracker;
  const project = state.projectByKey(from);
  const projects: Map<string, Project> = state.projects;
  projects.set(project.id, { ...project, key: to });
  state.facts += 1;
  state.changes += 1;
};
const former = () => rig.rows("select from tracker.issues where key like 'PAY-%' and _deleted_at is null");

describe.each(['vendor', 'contract'] as const)('in the tongue %s', (dialect) => {
  test('issues whose project gets another key have theirs after the next reconciliation, changed or not, and the former ones still lead to them', async () => {
    rig = await openRig({ ...smallSite, issues: 60, dialect });
    await rig.sync(streams);
    const before = (await former()).length;
    expect(before).toBeGreaterThan(5);
    rig.tracker.clock.advance(3 * days);
    rekey('PAY', 'PAID');
    await rig.sync(streams);
    expect(await rig.reconcile(streams)).toMatchObject({ status: 'succeeded', deleted: 0 });
    expect(await former()).toEqual([]);
    // The simulator's truth knows former keys of moves alone.
    const lines = await differences(rig, { issuesOnly: true });
    expect(lines.filter((line) => !line.startsWith('issue_keys PAY-'))).toEqual([]);
    const kept = await rig.rows("select distinct issue_id from tracker.issue_keys where key like 'PAY-%'");
    expect(kept.length).toBeGreaterThanOrEqual(before);
    // There is nothing more to be read.
    rig.tracker.clock.advance(days);
    expect(await rig.sync(streams)).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 0, updated: 0 },
    });
    expect(await rig.reconcile(streams)).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 0, updated: 0 },
    });
    expect(await rig.rows('select from ops.unseen')).toEqual([]);
  });
});
