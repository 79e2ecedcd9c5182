import { afterEach, describe, expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import { emptyPage, status, total } from '../../simulators/shared/faults.ts';
import { Interrupted } from '../../src/core/errors.ts';
import { differences, fingerprint } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

let rig: Rig;
const open = async (options: TrackerOptions = {}): Promise<void> => {
  rig = await openRig({ ...smallSite, ...options });
  await rig.sync({ streams: ['projects', 'issues'] });
};
afterEach(() => rig.close());

const issues = { streams: ['issues'] };
const tombstones = async (): Promise<readonly string[]> => {
  const rows = await rig.rows<{ id: string }>(
    'select id::text from tracker.issues where _deleted_at is not null order by id',
  );
  return rows.map((row) => row.id);
};
const some = (count: number): readonly string[] =>
  [...rig.tracker.oracle().issues.values()]
    .filter((one) => one.projectKey === 'PAY' && !one.deleted)
    .slice(0, count)
    .map((one) => one.id);
const searches = (): number =>
  rig.tracker.log.filter((one) => one.endpoint === '/rest/api/3/search/jql').length;

describe.each(['vendor', 'contract'] as const)('in the tongue %s', (dialect) => {
  test('three issues that were really deleted are tombstones after the reconciliation, each confirmed, with a canary; no sync deletes', async () => {
    await open({ dialect });
    const { state, clock, log } = rig.tracker;
    const gone = some(3);
    for (const id of gone) state.delete(id);
    clock.advance(60_000);
    await rig.sync({ ...issues, full: true });
    expect(await tombstones()).toEqual([]);
    const from = log.length;
    const report = await rig.reconcile(issues);
    expect(report).toMatchObject({ status: 'succeeded', kind: 'reconcile', deleted: 3 });
    expect(await tombstones()).toEqual([...gone].sort((a, b) => Number(a) - Number(b)));
    const asked = log.slice(from).filter((one) => one.endpoint.startsWith('/rest/api/3/issue/'));
    expect(
      asked
        .filter((one) => one.status === 404)
        .map((one) => one.path.split('/').at(-1))
        .sort(),
    ).toEqual(gone.flatMap((id) => [id, id]).sort());
    // The canary is asked before the confirmations and after them.
    expect(asked.filter((one) => one.status === 200)).toHaveLength(2);
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
    expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', deleted: 0 });
  });
});

test('an issue that left what is selected is not deleted, and a reconciliation says that it is no longer kept up', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' }, { jql: 'project = PAY' });
  await rig.sync({ streams: ['projects', 'issues'] });
  const [id = ''] = some(1);
  rig.tracker.state.move(id, 'WEB');
  rig.tracker.clock.advance(60_000);
  await rig.sync(issues);
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(await tombstones()).toEqual([]);
  expect(rig.events).toContainEqual(
    expect.objectContaining({
      type: 'note',
      level: 'warn',
      message: expect.stringMatching(/^issues: 1 row can be had one by one but the source lists .* no more/),
    }),
  );
});

test('and one bad answer does not make it a deleted one: no list would ever show it again', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' }, { jql: 'project = PAY' });
  await rig.sync({ streams: ['projects', 'issues'] });
  const [id = ''] = some(1);
  rig.tracker.state.move(id, 'WEB');
  const rule = rig.tracker.script.at(
    { match: ({ path }) => path === `/rest/api/3/issue/${id}` },
    status(404),
  );
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(rule.fired).toBe(1);
  expect(await tombstones()).toEqual([]);
});

test('P28: what comes back is resurrected, by the reconciliation or by a sync that reads it again', async () => {
  await open({ dialect: 'vendor' });
  const { state, clock } = rig.tracker;
  const [one = '', two = ''] = some(2);
  for (const id of [one, two]) state.delete(id);
  await rig.reconcile(issues);
  expect(await tombstones()).toHaveLength(2);
  state.restore(one);
  await rig.reconcile(issues);
  expect(await tombstones()).toEqual([two]);
  clock.advance(60_000);
  state.restore(two);
  state.update(two, { summary: 'Back from the dead' });
  await rig.sync(issues);
  expect(await tombstones()).toEqual([]);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('P22: an issue that moved to another project is one row under its id: no deletion, no second row', async () => {
  await open({ dialect: 'vendor' });
  const [id = ''] = some(1);
  rig.tracker.clock.advance(60_000);
  const old = rig.tracker.state.keyOf(id);
  rig.tracker.state.move(id, 'WEB');
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', deleted: 0 });
  await rig.sync(issues);
  expect(await tombstones()).toEqual([]);
  expect(await rig.rows('select key from tracker.issues where id = $1', [id])).toEqual([
    { key: rig.tracker.state.keyOf(id) },
  ]);
  expect(await rig.rows('select issue_id::text from tracker.issue_keys where key = $1', [old])).toEqual([
    { issue_id: id },
  ]);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('a project that we may no longer see loses nothing', async () => {
  await open({ dialect: 'vendor', issues: 60 });
  const before = await fingerprint(rig);
  const hidden = [...rig.tracker.oracle().issues.values()].filter((one) => one.projectKey === 'MOB').length;
  expect(hidden).toBeGreaterThan(3);
  const from = rig.tracker.log.length;
  rig.tracker.state.hideProject('MOB');
  const report = await rig.reconcile(issues);
  expect(report).toMatchObject({ status: 'needs_attention', deleted: 0 });
  expect(report.streams.find((one) => one.stream === 'issues')?.reason).toMatch(/they were not deleted/);
  // And they are not asked for one by one.
  expect(rig.tracker.log.slice(from).filter((one) => one.endpoint.startsWith('/rest/api/3/issue/'))).toEqual(
    [],
  );
  expect((await fingerprint(rig)).issues).toBe(before.issues);
  rig.tracker.state.showProject('MOB');
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', deleted: 0 });
});

test('P27: when everything vanishes nothing is deleted and somebody is asked to look', async () => {
  await open({ dialect: 'vendor' });
  const before = await fingerprint(rig);
  for (const key of ['PAY', 'WEB', 'MOB']) rig.tracker.state.hideProject(key);
  expect(await rig.reconcile()).toMatchObject({ status: 'needs_attention', deleted: 0 });
  expect((await rig.sync()).deleted).toBe(0);
  expect((await fingerprint(rig)).issues).toBe(before.issues);
});

test('more deletions at once than the deletion guard allows are not believed, even if each is confirmed', async () => {
  await open({ dialect: 'contract' });
  for (const id of some(21)) rig.tracker.state.delete(id);
  const report = await rig.reconcile(issues);
  expect(report).toMatchObject({ status: 'needs_attention', deleted: 0, error: { code: 'attention' } });
  expect(report.error?.message).toMatch(/more than 20 of 150 rows/);
  expect(await tombstones()).toEqual([]);
});

test('P29: a reconciliation that is interrupted half-way concludes nothing', async () => {
  await open({ dialect: 'contract' });
  for (const id of some(2)) rig.tracker.state.delete(id);
  const stop = new AbortController();
  const half = rig.tracker.script.at(
    { endpoint: '/rest/api/3/search/jql', match: (one) => /"startAt":99/.test(JSON.stringify(one.body)) },
    () => stop.abort(new Interrupted('asked to stop')),
  );
  await expect(rig.reconcile(issues, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(half.fired).toBe(1);
  expect(await tombstones()).toEqual([]);
  expect(await rig.rows("select status from ops.runs where kind = 'reconcile'")).toEqual([
    { status: 'interrupted' },
  ]);
  expect(await rig.reconcile(issues)).toMatchObject({ deleted: 2 });
});

test.each([
  ['an empty page in the middle', emptyPage],
  ['a total that is too small', total(3)],
  ['a total that is too large', total((n) => n + 40)],
  ['a broken answer', status(500)],
])('a reconciliation that meets %s deletes nothing that lives', async (_, fault) => {
  await open({ dialect: 'contract' });
  const [gone = ''] = some(1);
  rig.tracker.state.delete(gone);
  const before = searches();
  const rule = rig.tracker.script.at(
    {
      endpoint: '/rest/api/3/search/jql',
      nth: 1,
      times: Infinity,
      match: (one) => /"fields":\["id"\]/.test(JSON.stringify(one.body)),
    },
    fault,
  );
  const report = await rig.reconcile(issues);
  expect(searches()).toBeGreaterThan(before);
  expect(rule.fired).toBeGreaterThan(0);
  expect((await tombstones()).filter((id) => id !== gone)).toEqual([]);
  expect(report.deleted).toBeLessThanOrEqual(1);
  rule.cancel();
  await rig.reconcile(issues);
  expect(await tombstones()).toEqual([gone]);
});

test('an outage while deletions are confirmed deletes nothing', async () => {
  await open({ dialect: 'vendor' });
  for (const id of some(2)) rig.tracker.state.delete(id);
  const outage = rig.tracker.script.at({ endpoint: '/rest/api/3/issue/{id}', times: Infinity }, status(404));
  // Every issue answers 404, the canaries, too.
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'needs_attention', deleted: 0 });
  expect(outage.fired).toBeGreaterThanOrEqual(1);
  outage.cancel();
  const late = rig.tracker.script.at(
    { endpoint: '/rest/api/3/issue/{id}', nth: 2, times: Infinity },
    status(404),
  );
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'needs_attention', deleted: 0 });
  expect(late.fired).toBeGreaterThanOrEqual(3);
  late.cancel();
  const broken = rig.tracker.script.at({ endpoint: '/rest/api/3/issue/{id}', times: Infinity }, status(503));
  expect(await rig.reconcile(issues)).toMatchObject({
    status: 'failed',
    deleted: 0,
    error: { code: 'failed' },
  });
  expect(broken.fired).toBeGreaterThan(0);
  broken.cancel();
  expect(await tombstones()).toEqual([]);
  expect(await rig.reconcile(issues)).toMatchObject({ deleted: 2 });
});
