import { expect, test } from 'vitest';
import { issueDifferences } from '../support/oracle.ts';
import { testRig } from '../support/rig.ts';

const days = 86_400_000;
const streams = { streams: ['projects', 'fields', 'issues'] };
const unchanged = { status: 'succeeded', counts: { inserted: 0, updated: 0 } };

test.each(['vendor', 'contract'] as const)(
  'issues of a project with a new key get theirs by a reconcile and keep the former ones (%s)',
  async (dialect) => {
    const rig = await testRig({ issues: 60, dialect });
    const { state, clock } = rig.tracker;
    const former = () =>
      rig.rows("select from tracker.issues where key like 'PAY-%' and _deleted_at is null");
    await rig.sync(streams);
    const before = (await former()).length;
    expect(before).toBeGreaterThan(5);
    clock.advance(3 * days);
    // Every issue of the project gets another key; no issue counts as changed by that.
    const project = state.projectByKey('PAY');
    (state.projects as Map<string, typeof project>).set(project.id, { ...project, key: 'PAID' });
    state.facts += 1;
    state.changes += 1;
    await rig.sync(streams);
    expect(await rig.reconcile(streams)).toMatchObject({ status: 'succeeded', deleted: 0 });
    expect(await former()).toEqual([]);
    // The simulator's truth has former keys of moved issues alone.
    const lines = await issueDifferences(rig);
    expect(lines.filter((line) => !line.startsWith('issue_keys PAY-'))).toEqual([]);
    const kept = await rig.rows("select distinct issue_id from tracker.issue_keys where key like 'PAY-%'");
    expect(kept.length).toBeGreaterThanOrEqual(before);
    clock.advance(days);
    expect(await rig.sync(streams)).toMatchObject(unchanged);
    expect(await rig.reconcile(streams)).toMatchObject(unchanged);
    expect(await rig.rows('select from ops.unseen')).toEqual([]);
  },
);
