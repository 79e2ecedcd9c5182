import { describe, expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import { total } from '../../simulators/shared/faults.ts';
import { Interrupted } from '../../src/core/errors.ts';
import { issueDifferences } from '../support/oracle.ts';
import { type Rig, testRig } from '../support/rig.ts';

const issues = { streams: ['issues'] };
const days = 86_400_000;
const succeeded = { status: 'succeeded', deleted: 0 };
const nothingMore = { status: 'succeeded', counts: { received: 0 } };

let rig: Rig;
/** A site whose issues, and what they refer to, were synced once. */
async function synced(options: TrackerOptions): Promise<void> {
  rig = await testRig(options);
  await rig.sync({ streams: ['projects', 'fields', 'issues'] });
}

const older = (count: number): readonly string[] =>
  [...rig.tracker.oracle().issues.values()]
    .filter((one) => one.projectKey === 'PAY')
    .slice(5, 5 + count)
    .map(({ id }) => id);
/** Changes another project, so that the newest change is recent. */
const touchElsewhere = (): void => {
  const away = [...rig.tracker.oracle().issues.values()].find((one) => one.projectKey === 'WEB');
  rig.tracker.state.touch(away?.id ?? '');
};
const rowsOf = (ids: readonly string[]) =>
  rig.rows('select summary from tracker.issues where _deleted_at is null and id = any ($1)', [ids]);
const unseen = () => rig.rows('select from ops.unseen');

/** Issues that the account could not see at the first sync and can see now; they did not change since. */
async function open(options: TrackerOptions, count: number): Promise<readonly string[]> {
  rig = await testRig(options);
  const { state, clock } = rig.tracker;
  const hidden = older(count);
  for (const id of hidden) state.delete(id);
  await rig.sync({ streams: ['projects', 'fields', 'issues'] });
  clock.advance(3 * days);
  await rig.sync(issues);
  for (const id of hidden) state.restore(id);
  clock.advance(3 * days);
  return hidden;
}

/** A deleted row whose issue was changed while hidden and is visible now; every sync since has missed it. */
async function hiddenAndBack(): Promise<string> {
  await synced({ dialect: 'vendor', issues: 200 });
  const { state, clock } = rig.tracker;
  const [id = '', other = ''] = older(2);
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
  expect(await rowsOf([id])).toEqual([]);
  return id;
}

/** Requests for whole issues, not those for ids. */
const reading = {
  endpoint: '/rest/api/3/search/jql',
  match: ({ body }: { readonly body?: unknown }) => /"summary"/.test(JSON.stringify(body)),
};
/** Stops a reconcile at its first request for whole issues. */
async function interrupted(): Promise<void> {
  const stop = new AbortController();
  const rule = rig.tracker.script.at(reading, () => stop.abort(new Interrupted('asked to stop')));
  await expect(rig.reconcile(issues, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
}

test.each(['vendor', 'contract'] as const)(
  'old issues that become visible are read by the next reconcile, which no sync does (%s)',
  async (dialect) => {
    const hidden = await open({ dialect }, 3);
    await rig.sync(issues);
    expect(await rowsOf(hidden)).toEqual([]);
    const checkpoint = () =>
      rig.rows("select watermark, full_at from ops.checkpoints where stream = 'issues'");
    const before = await checkpoint();
    expect(await rig.reconcile(issues)).toMatchObject({ ...succeeded, counts: { inserted: 3 } });
    expect(await issueDifferences(rig)).toEqual([]);
    expect(await checkpoint()).toEqual(before);
    const counts = `select inserted::int, deleted::int from ops.run_streams
      where run_id = (select max(run_id) from ops.runs)`;
    expect(await rig.rows(counts)).toEqual([{ inserted: 3, deleted: 0 }]);
    const message = expect.stringMatching(/^issues: 3 records of long ago/);
    expect(rig.events).toContainEqual(expect.objectContaining({ type: 'note', level: 'warn', message }));
    expect(await rig.rows("select from ops.walks where status = 'open'")).toEqual([]);
    expect(await rig.reconcile(issues)).toMatchObject(nothingMore);
  },
);

test('a deleted issue that becomes visible is read, also after a reconcile was stopped before', async () => {
  const id = await hiddenAndBack();
  await interrupted();
  expect(await rig.reconcile(issues)).toMatchObject(succeeded);
  expect(await rowsOf([id])).toEqual([{ summary: 'Changed unseen' }]);
  expect(await issueDifferences(rig)).toEqual([]);
  expect(await unseen()).toEqual([]);
});

test('a project that was hidden for weeks is read when it is visible, with what changed meanwhile', async () => {
  await synced({ dialect: 'vendor' });
  const { state, clock } = rig.tracker;
  const [id = '', ...others] = older(3);
  state.hideProject('PAY');
  clock.advance(days);
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'needs_attention', deleted: 0 });
  state.update(id, { summary: 'Changed unseen' });
  for (const other of others) state.addComment(other, 'Said unseen');
  state.create('PAY', { summary: 'Created unseen' });
  clock.advance(9 * days);
  touchElsewhere();
  await rig.sync(issues);
  state.showProject('PAY');
  clock.advance(60_000);
  await rig.sync(issues);
  expect(await issueDifferences(rig)).not.toEqual([]);
  expect(await rig.reconcile(issues)).toMatchObject(succeeded);
  expect(await issueDifferences(rig)).toEqual([]);
  expect(await unseen()).toEqual([]);
  expect(await rig.reconcile(issues)).toMatchObject(nothingMore);
});

test('issues created since the last sync are left to the next one', async () => {
  rig = await testRig({ dialect: 'vendor' });
  expect(await rig.reconcile(issues)).toMatchObject(nothingMore);
  await rig.sync({ streams: ['projects', 'fields', 'issues'] });
  rig.tracker.clock.advance(3_600_000);
  rig.tracker.state.create('PAY', { summary: 'New' });
  expect(await rig.reconcile(issues)).toMatchObject(nothingMore);
  await rig.sync(issues);
  expect(await issueDifferences(rig)).toEqual([]);
});

test('near a cut, on a server with coarse dates, both windows list an issue that became visible', async () => {
  rig = await testRig({ dialect: 'contract', bare: true, epochDates: false });
  const { state, clock } = rig.tracker;
  const exact = { deps: { lookbackMs: 0 } };
  await rig.sync(issues, exact);
  clock.advance(days);
  const { id } = state.create('PAY', { summary: 'Created unseen' });
  state.delete(id);
  clock.advance(3_600_000);
  await rig.sync(issues, exact);
  state.restore(id);
  await rig.reconcile(issues, exact);
  expect(await rowsOf([id])).toEqual([{ summary: 'Created unseen' }]);
  // It counts once.
  const { size } = rig.tracker.oracle().issues;
  const receipt = { expected: size, read: size, stored: size };
  expect(await rig.reconcile(issues, exact)).toMatchObject({ streams: [{ receipt }] });
});

describe('while the deletion guard holds', () => {
  const held = { status: 'needs_attention', deleted: 0 };

  test('nothing is taken over: what came back waits for the first reconcile that it does not hold', async () => {
    const id = await hiddenAndBack();
    const { state } = rig.tracker;
    const gone = older(40).filter((other) => other !== id);
    for (const other of gone) state.delete(other);
    const nothing = { received: 0, updated: 0 };
    expect(await rig.reconcile(issues)).toMatchObject({ ...held, counts: nothing });
    expect(await rowsOf([id])).toEqual([]);
    for (const other of gone) state.restore(other);
    expect(await rig.reconcile(issues)).toMatchObject(succeeded);
    expect(await issueDifferences(rig)).toEqual([]);
  });

  test('what was hidden is read when it is visible', async () => {
    await synced({ dialect: 'vendor', issues: 200 });
    const { state, clock } = rig.tracker;
    const hidden = older(40);
    for (const id of hidden) state.delete(id);
    expect(await rig.reconcile(issues)).toMatchObject(held);
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
    expect(await issueDifferences(rig)).not.toEqual([]);
    expect(await rig.reconcile(issues)).toMatchObject(succeeded);
    expect(await issueDifferences(rig)).toEqual([]);
    expect(await unseen()).toEqual([]);
  });
});

test('a window that does not add up is no success', async () => {
  await open({ dialect: 'contract' }, 2);
  const larger = total((n) => n + 40);
  const rule = rig.tracker.script.at({ ...reading, times: Infinity }, larger);
  const partial = { status: 'partly_failed', streams: [{ status: 'partial' }] };
  expect(await rig.reconcile(issues)).toMatchObject(partial);
  expect(rule.fired).toBeGreaterThan(0);
  rule.cancel();
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded' });
  expect(await issueDifferences(rig)).toEqual([]);
});

test('a reconcile that is stopped while it reads is continued by the next one, and by no sync', async () => {
  const hidden = await open({ dialect: 'contract' }, 2);
  await interrupted();
  const walks = "select purpose from ops.walks where status = 'open'";
  expect(await rig.rows(walks)).toEqual([{ purpose: 'missing' }]);
  await rig.sync(issues);
  expect(await rowsOf(hidden)).toEqual([]);
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', counts: { inserted: 2 } });
  expect(await rig.rows(walks)).toEqual([]);
  expect(await issueDifferences(rig)).toEqual([]);
});
