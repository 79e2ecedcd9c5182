import { afterEach, describe, expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import { total } from '../../simulators/shared/faults.ts';
import { Interrupted } from '../../src/core/errors.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

const issues = { streams: ['issues'] };
const days = 86_400_000;
let rig: Rig;
afterEach(() => rig.close());

/** A site of which the account could not see these issues at its first sync, and can now; nobody has written to them since. */
async function open(
  options: TrackerOptions,
  unseen: (rig: Rig) => readonly string[],
): Promise<readonly string[]> {
  rig = await openRig({ ...smallSite, ...options });
  const { state, clock } = rig.tracker;
  const hidden = unseen(rig);
  for (const id of hidden) state.delete(id);
  await rig.sync({ streams: ['projects', 'fields', 'issues'] });
  clock.advance(3 * days);
  await rig.sync(issues);
  for (const id of hidden) state.restore(id);
  clock.advance(3 * days);
  return hidden;
}

const older = ({ tracker }: Rig, count: number): readonly string[] =>
  [...tracker.oracle().issues.values()]
    .filter((one) => one.projectKey === 'PAY')
    .slice(5, 5 + count)
    .map((one) => one.id);
/** Something happens in another project, so that the newest change is not of long ago. */
const touchElsewhere = (): void => {
  const away = [...rig.tracker.oracle().issues.values()].find((one) => one.projectKey === 'WEB');
  rig.tracker.state.touch(away?.id ?? '');
};
const checkpoint = () => rig.rows("select watermark, full_at from ops.checkpoints where stream = 'issues'");
const counts = async () =>
  (
    await rig.rows<{ received: number; inserted: number; updated: number; deleted: number }>(
      `select received::int, inserted::int, updated::int, deleted::int from ops.run_streams
       where run_id = (select max(run_id) from ops.runs)`,
    )
  )[0];

describe.each(['vendor', 'contract'] as const)('in the tongue %s', (dialect) => {
  test('issues of long ago that come into sight are shown by no sync, and read by the next reconciliation, with all that hangs on them', async () => {
    const hidden = await open({ dialect }, (of) => older(of, 3));
    await rig.sync(issues);
    const missing = await rig.rows('select from tracker.issues where id = any ($1)', [hidden]);
    expect(missing).toHaveLength(0);
    const before = await checkpoint();

    expect(await rig.reconcile(issues)).toMatchObject({
      status: 'succeeded',
      deleted: 0,
      counts: { inserted: 3 },
    });
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
    expect(await checkpoint()).toEqual(before);
    expect(await counts()).toMatchObject({ inserted: 3, deleted: 0 });
    expect(rig.events).toContainEqual(
      expect.objectContaining({
        type: 'note',
        level: 'warn',
        message: expect.stringMatching(/^issues: 3 records of long ago/),
      }),
    );
    expect(await rig.rows("select from ops.walks where status = 'open'")).toEqual([]);
    // There is nothing more to be found.
    expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', counts: { received: 0 } });
  });
});

/** A row with a tombstone whose issue was changed unseen and can be seen again; every sync since has missed it. */
async function hiddenAndBack(): Promise<string> {
  rig = await openRig({ ...smallSite, dialect: 'vendor', issues: 200 });
  const { state, clock } = rig.tracker;
  await rig.sync({ streams: ['projects', 'fields', 'issues'] });
  const [id = '', other = ''] = older(rig, 2);
  state.delete(id);
  expect(await rig.reconcile(issues)).toMatchObject({ deleted: 1 });
  state.restore(id);
  state.update(id, { summary: 'Changed unseen' });
  state.delete(id);
  clock.advance(9 * days);
  state.touch(other);
  await rig.sync(issues);
  state.restore(id);
  await rig.sync(issues);
  return id;
}

test('what comes back is read again: it may have changed while nobody could see it', async () => {
  const id = await hiddenAndBack();
  expect(
    await rig.rows('select summary from tracker.issues where _deleted_at is null and id = $1', [id]),
  ).toEqual([]);

  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(
    await rig.rows('select summary from tracker.issues where _deleted_at is null and id = $1', [id]),
  ).toEqual([{ summary: 'Changed unseen' }]);
  expect(await counts()).toMatchObject({ deleted: 0 });
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('a project that was hidden for weeks is read again when it is seen: what changed meanwhile, and what was born', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' });
  const { state, clock } = rig.tracker;
  await rig.sync({ streams: ['projects', 'fields', 'issues'] });
  const [id = '', ...others] = older(rig, 3);
  state.hideProject('PAY');
  clock.advance(days);
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'needs_attention', deleted: 0 });
  state.update(id, { summary: 'Changed unseen' });
  for (const other of others) state.addComment(other, 'Said unseen');
  state.create('PAY', { summary: 'Born unseen' });
  clock.advance(9 * days);
  touchElsewhere();
  await rig.sync(issues);
  state.showProject('PAY');
  clock.advance(60_000);
  await rig.sync(issues);
  // No sync tells of it: `updated` is of long ago.
  expect(await differences(rig, { issuesOnly: true })).not.toEqual([]);

  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  expect(await rig.rows('select from ops.unseen')).toEqual([]);
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', counts: { received: 0 } });
});

test('issues that were created since the last sync are left to the next one, and before the first sync everything is', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' });
  const { state, clock } = rig.tracker;
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', counts: { received: 0 } });
  await rig.sync({ streams: ['projects', 'fields', 'issues'] });
  clock.advance(3_600_000);
  state.create('PAY', { summary: 'New' });
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', counts: { received: 0 } });
  await rig.sync(issues);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('where the deletion guard holds nothing is taken over: it may be another site', async () => {
  const [one = ''] = await open({ dialect: 'vendor', issues: 200 }, (of) => older(of, 1));
  const { state } = rig.tracker;
  const gone = [...rig.tracker.oracle().issues.values()].filter(
    (other) => other.projectKey === 'PAY' && other.id !== one,
  );
  for (const { id } of gone.slice(0, 30)) state.delete(id);
  expect(await rig.reconcile(issues)).toMatchObject({
    status: 'needs_attention',
    deleted: 0,
    counts: { received: 0 },
  });
  expect(await rig.rows('select from tracker.issues where id = $1', [one])).toHaveLength(0);
});

/** The searches for whole issues, not those for ids. */
const reading = {
  endpoint: '/rest/api/3/search/jql',
  nth: 1,
  times: Infinity,
  match: ({ body }: { readonly body?: unknown }) => /"summary"/.test(JSON.stringify(body)),
};

test('near a cut, on a server that knows time but roughly, it is read as well: the windows on both sides list it', async () => {
  rig = await openRig({ ...smallSite, dialect: 'contract', bare: true, epochDates: false });
  const { state, clock } = rig.tracker;
  const exact = { deps: { lookbackMs: 0 } };
  await rig.sync(issues, exact);
  clock.advance(days);
  const { id } = state.create('PAY', { summary: 'Born unseen' });
  state.delete(id);
  clock.advance(3_600_000);
  await rig.sync(issues, exact);
  state.restore(id);
  await rig.reconcile(issues, exact);
  expect(await rig.rows('select summary from tracker.issues where id = $1', [id])).toEqual([
    { summary: 'Born unseen' },
  ]);
});

test('what came back is read by the next reconciliation where the one that saw it was stopped before it had read it', async () => {
  const id = await hiddenAndBack();
  const stop = new AbortController();
  const rule = rig.tracker.script.at({ ...reading, times: 1 }, () =>
    stop.abort(new Interrupted('asked to stop')),
  );
  await expect(rig.reconcile(issues, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
  await rig.reconcile(issues);
  expect(
    await rig.rows('select summary from tracker.issues where _deleted_at is null and id = $1', [id]),
  ).toEqual([{ summary: 'Changed unseen' }]);
  expect(await rig.rows('select from ops.unseen')).toEqual([]);
});

test('what came back while the deletion guard held is taken over, and read, by the first reconcile that it does not hold', async () => {
  const id = await hiddenAndBack();
  const { state } = rig.tracker;
  const gone = older(rig, 40).filter((other) => other !== id);
  for (const other of gone) state.delete(other);
  expect(await rig.reconcile(issues)).toMatchObject({
    status: 'needs_attention',
    deleted: 0,
    counts: { updated: 0 },
  });
  for (const other of gone) state.restore(other);
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('what was hidden from a reconciliation whose deletion guard held is read again when it is seen', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor', issues: 200 });
  const { state, clock } = rig.tracker;
  await rig.sync({ streams: ['projects', 'fields', 'issues'] });
  const hidden = older(rig, 40);
  for (const id of hidden) state.delete(id);
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'needs_attention', deleted: 0 });
  for (const id of hidden) {
    state.restore(id);
    state.update(id, { summary: 'Changed unseen' });
    state.delete(id);
  }
  clock.advance(9 * days);
  touchElsewhere();
  await rig.sync(issues);
  for (const id of hidden) state.restore(id);
  await rig.sync(issues);
  expect(await differences(rig, { issuesOnly: true })).not.toEqual([]);

  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  expect(await rig.rows('select from ops.unseen')).toEqual([]);
});

test('a window that does not add up is no success', async () => {
  await open({ dialect: 'contract' }, (of) => older(of, 2));
  const rule = rig.tracker.script.at(
    reading,
    total((n) => n + 40),
  );
  expect(await rig.reconcile(issues)).toMatchObject({
    status: 'partly_failed',
    streams: [{ status: 'partial' }],
  });
  expect(rule.fired).toBeGreaterThan(0);
  rule.cancel();
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('one that is stopped while it reads leaves the rest to the next, and no sync takes it for its own', async () => {
  const hidden = await open({ dialect: 'contract' }, (of) => older(of, 2));
  const stop = new AbortController();
  const rule = rig.tracker.script.at({ ...reading, times: 1 }, () =>
    stop.abort(new Interrupted('asked to stop')),
  );
  await expect(rig.reconcile(issues, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
  const walks = "select words from ops.walks where status = 'open'";
  expect(await rig.rows(walks)).toEqual([{ words: expect.stringMatching(/^reconcile \d+$/) }]);
  const before = rig.events.length;
  await rig.sync(issues);
  expect(rig.events.slice(before)).toContainEqual(
    expect.objectContaining({ type: 'run.started', resumed: false }),
  );
  expect(await rig.rows('select from tracker.issues where id = any ($1)', [hidden])).toHaveLength(0);
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', counts: { inserted: 2 } });
  expect(await rig.rows(walks)).toEqual([]);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});
