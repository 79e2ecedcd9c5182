import { expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import { emptyPage, status, total } from '../../simulators/shared/faults.ts';
import { Interrupted } from '../../src/core/errors.ts';
import { fingerprint, issueDifferences } from '../support/oracle.ts';
import { type Rig, testRig } from '../support/rig.ts';

const issues = { streams: ['issues'] };
const succeeded = { status: 'succeeded', deleted: 0 };
const attention = { status: 'needs_attention', deleted: 0 };
const search = '/rest/api/3/search/jql';
const single = '/rest/api/3/issue/{id}';

let rig: Rig;
const open = async (options: TrackerOptions = {}, settings: Parameters<typeof testRig>[1] = {}) => {
  rig = await testRig(options, settings);
  await rig.sync({ streams: ['projects', 'issues'] });
  return rig.tracker;
};
const numerically = (ids: readonly string[]) => ids.toSorted((a, b) => Number(a) - Number(b));
const tombstones = async (): Promise<readonly string[]> => {
  const query = 'select id::text from tracker.issues where _deleted_at is not null order by id';
  return (await rig.rows<{ id: string }>(query)).map(({ id }) => id);
};
const some = (count: number): readonly string[] =>
  [...rig.tracker.oracle().issues.values()]
    .filter((one) => one.projectKey === 'PAY' && !one.deleted)
    .slice(0, count)
    .map(({ id }) => id);

test.each(['vendor', 'contract'] as const)(
  'deleted issues become tombstones by a reconcile, each confirmed twice, and by no sync (%s)',
  async (dialect) => {
    const { state, clock, log } = await open({ dialect });
    const gone = some(3);
    for (const id of gone) state.delete(id);
    clock.advance(60_000);
    await rig.sync({ ...issues, full: true });
    expect(await tombstones()).toEqual([]);
    const from = log.length;
    const report = await rig.reconcile(issues);
    expect(report).toMatchObject({ status: 'succeeded', kind: 'reconcile', deleted: 3 });
    expect(await tombstones()).toEqual(numerically(gone));
    const sent = log.slice(from).filter((one) => one.endpoint.startsWith('/rest/api/3/issue/'));
    const missing = sent.filter((one) => one.status === 404).map(({ path }) => path.split('/').at(-1));
    expect(missing.sort()).toEqual(gone.flatMap((id) => [id, id]).sort());
    // A living issue is requested before the confirmations and after them.
    expect(sent.filter((one) => one.status === 200)).toHaveLength(2);
    expect(await issueDifferences(rig)).toEqual([]);
    expect(await rig.reconcile(issues)).toMatchObject(succeeded);
  },
);

test('an issue that left the filter is noted and not deleted, also after a bad answer about it', async () => {
  const { state, script, clock } = await open({ dialect: 'vendor' }, { jql: 'project = PAY' });
  const [id = ''] = some(1);
  state.move(id, 'WEB');
  clock.advance(60_000);
  await rig.sync(issues);
  for (const bad of [0, 1]) {
    const isAboutIt = ({ path }: { readonly path: string }) => bad > 0 && path === `/rest/api/3/issue/${id}`;
    const rule = script.at({ match: isAboutIt }, status(404));
    expect(await rig.reconcile(issues)).toMatchObject(succeeded);
    expect(rule.fired).toBe(bad);
    expect(await tombstones()).toEqual([]);
  }
  const message = expect.stringMatching(
    /^issues: 1 row can be had one by one but the source lists .* no more/,
  );
  const notes = rig.events.filter((event) => event.type === 'note' && event.level === 'warn');
  expect(notes).toEqual([expect.objectContaining({ message }), expect.objectContaining({ message })]);
});

test('what comes back is resurrected, by a reconcile or by a sync that reads it', async () => {
  const { state, clock } = await open({ dialect: 'vendor' });
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
  expect(await issueDifferences(rig)).toEqual([]);
});

test('an issue that moved to another project is one row under its id', async () => {
  const { state, clock } = await open({ dialect: 'vendor' });
  const [id = ''] = some(1);
  clock.advance(60_000);
  const old = state.keyOf(id);
  state.move(id, 'WEB');
  expect(await rig.reconcile(issues)).toMatchObject(succeeded);
  await rig.sync(issues);
  expect(await tombstones()).toEqual([]);
  const query = `select i.key from tracker.issues i join tracker.issue_keys k on k.issue_id = i.id
    where i.id = $1 and k.key = $2`;
  expect(await rig.rows(query, [id, old])).toEqual([{ key: state.keyOf(id) }]);
  expect(await issueDifferences(rig)).toEqual([]);
});

test('projects that can no longer be seen lose nothing: one, or all', async () => {
  const { state, log } = await open({ dialect: 'vendor', issues: 60 });
  const before = await fingerprint(rig);
  const from = log.length;
  state.hideProject('MOB');
  const report = await rig.reconcile(issues);
  expect(report).toMatchObject({
    ...attention,
    streams: [{ reason: expect.stringMatching(/they were not deleted/) }],
  });
  // Its issues are not requested one by one.
  expect(log.slice(from).filter((one) => one.endpoint.startsWith('/rest/api/3/issue/'))).toEqual([]);
  for (const key of ['PAY', 'WEB']) state.hideProject(key);
  expect(await rig.reconcile()).toMatchObject(attention);
  expect(await rig.sync()).toMatchObject({ deleted: 0 });
  expect((await fingerprint(rig)).issues).toBe(before.issues);
  for (const key of ['MOB', 'PAY', 'WEB']) state.showProject(key);
  expect(await rig.reconcile(issues)).toMatchObject(succeeded);
});

test('the deletion guard holds back more than 20 deletions, confirmed or not', async () => {
  const { state } = await open({ dialect: 'contract' });
  for (const id of some(21)) state.delete(id);
  const report = await rig.reconcile(issues);
  expect(report).toMatchObject({ ...attention, error: { code: 'attention' } });
  expect(report.error?.message).toMatch(/more than 20 of 150 rows/);
  expect(await tombstones()).toEqual([]);
});

/** The project PAY is deleted and made again: another id, and issues of its own under the old keys. */
const makeAgain = (left: number): { readonly old: readonly string[]; readonly fresh: string } => {
  const { state, clock } = rig.tracker;
  const { id, ...project } = state.projectByKey('PAY');
  const all = some(Number.POSITIVE_INFINITY);
  for (const one of all.slice(left)) state.move(one, 'WEB');
  state.hideProject('PAY');
  state.projects.set('19999', { ...project, id: '19999', name: 'Payments, again' });
  const fresh = state.create('19999').id;
  clock.advance(60_000);
  return { old: all.slice(0, left), fresh };
};

test('issues of a project that was made again under its key are gone: another id owns it', async () => {
  await open({ dialect: 'vendor' });
  const { old, fresh } = makeAgain(15);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await tombstones()).toEqual([]);
  expect(await rig.reconcile()).toMatchObject({ status: 'succeeded', deleted: 16 });
  expect(await tombstones()).toEqual(numerically(old));
  const projects =
    'select id::text, _deleted_at is null as live from tracker.projects where key = $1 order by id';
  expect(await rig.rows(projects, ['PAY'])).toMatchObject([{ live: false }, { id: '19999', live: true }]);
  expect(await rig.rows('select key from tracker.issues where id = $1', [fresh])).toHaveLength(1);
  expect(await rig.reconcile()).toMatchObject(succeeded);
});

test('the deletion guard holds for a project that was made again, too: it may be another site', async () => {
  await open({ dialect: 'vendor' });
  makeAgain(30);
  await rig.sync();
  expect(await rig.reconcile()).toMatchObject({ status: 'needs_attention', deleted: 1 });
  expect(await tombstones()).toEqual([]);
});

test('an issue of a project that was made again is not marked while it can still be had', async () => {
  const { script } = await open({ dialect: 'vendor' });
  const { old } = makeAgain(3);
  await rig.sync();
  const [alive = ''] = old;
  const answered = script.at(
    { match: ({ path }) => path === `/rest/api/3/issue/${alive}` },
    {
      name: 'still there',
      answer: (answer) => ({ ...answer, status: 200, body: Buffer.from(JSON.stringify({ id: alive })) }),
    },
  );
  await rig.reconcile();
  expect(answered.fired).toBe(1);
  expect(await tombstones()).toEqual(numerically(old.slice(1)));
});

test('a reconcile that is interrupted concludes nothing', async () => {
  const { state, script } = await open({ dialect: 'contract' });
  for (const id of some(2)) state.delete(id);
  const stop = new AbortController();
  const half = script.at(
    { endpoint: search, match: ({ body }) => /"startAt":99/.test(JSON.stringify(body)) },
    () => stop.abort(new Interrupted('asked to stop')),
  );
  await expect(rig.reconcile(issues, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(half.fired).toBe(1);
  expect(await tombstones()).toEqual([]);
  const runs = "select status from ops.runs where kind = 'reconcile'";
  expect(await rig.rows(runs)).toEqual([{ status: 'interrupted' }]);
  expect(await rig.reconcile(issues)).toMatchObject({ deleted: 2 });
});

test('a reconcile that meets a broken list deletes nothing that lives', async () => {
  const { state, script } = await open({ dialect: 'contract' });
  const [gone = ''] = some(1);
  state.delete(gone);
  const ids = { match: ({ body }: { body?: unknown }) => /"fields":\["id"\]/.test(JSON.stringify(body)) };
  for (const fault of [emptyPage, total(3), total((n) => n + 40), status(500)]) {
    const rule = script.at({ endpoint: search, times: Infinity, ...ids }, fault);
    expect((await rig.reconcile(issues)).deleted).toBeLessThanOrEqual(1);
    expect([fault.name, rule.fired > 0]).toEqual([fault.name, true]);
    expect((await tombstones()).filter((id) => id !== gone)).toEqual([]);
    rule.cancel();
  }
  await rig.reconcile(issues);
  expect(await tombstones()).toEqual([gone]);
});

test('an outage while deletions are confirmed deletes nothing', async () => {
  const { state, script } = await open({ dialect: 'vendor', issues: 60 });
  for (const id of some(2)) state.delete(id);
  for (const [nth, code, outcome] of [
    [1, 404, attention],
    [2, 404, attention],
    [1, 503, { status: 'failed', deleted: 0, error: { code: 'failed' } }],
  ] as const) {
    const outage = script.at({ endpoint: single, nth, times: Infinity }, status(code));
    expect(await rig.reconcile(issues), `${code} from request ${nth} on`).toMatchObject(outcome);
    expect(outage.fired).toBeGreaterThan(0);
    outage.cancel();
    expect(await tombstones()).toEqual([]);
  }
  expect(await rig.reconcile(issues)).toMatchObject({ deleted: 2 });
});
