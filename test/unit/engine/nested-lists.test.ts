/** Lists that an issue brings only in part, and that the source then refuses to give whole: what lacks is known, told, and mended by itself. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { emptyPage, type Fault, status, total } from '../../../simulators/shared/faults.ts';
import { Interrupted } from '../../../src/core/errors.ts';
import { differences } from '../../support/oracle.ts';
import { openRig, type Rig } from '../../support/rig.ts';
import { smallSite } from '../../support/small-site.ts';

const comments = '/rest/api/3/issue/{id}/comment';
const issues = { streams: ['issues'] };
const always = { endpoint: comments, times: Number.POSITIVE_INFINITY };

let rig: Rig;
let talked: readonly string[];
let other: string;
beforeEach(async () => {
  rig = await openRig({
    ...smallSite,
    dialect: 'vendor',
    embedded: { changelog: 5, comments: 2, worklogs: 2 },
  });
  const live = [...rig.tracker.oracle().issues.values()].filter((one) => !one.deleted);
  talked = live.slice(0, 6).map(({ id }) => id);
  other = live.find((one) => one.comments.length === 0 && !talked.includes(one.id))?.id ?? '';
  for (const id of talked) for (let i = 0; i < 4; i += 1) rig.tracker.state.addComment(id, `Comment ${i}`);
});
afterEach(() => rig.close());

const lacking = async (): Promise<readonly string[]> =>
  (await differences(rig, { issuesOnly: true })).filter((line) => line.endsWith('missing'));
const all = () => differences(rig, { issuesOnly: true });
const notes = () => rig.events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
const stateOf = (child: string) =>
  rig.rows<{ state: string; reason: string }>('select state, reason from ops.streams where stream = $1', [
    child,
  ]);
const asked = (from: number): number =>
  rig.tracker.log.slice(from).filter(({ path }) => path.endsWith('/comment')).length;

describe.each([403, 404])('two answers of %d', (code) => {
  test.each([0, 2])(
    'to the question for the list of issue %i: the run says so, and the next one has it',
    async (which) => {
      const rule = rig.tracker.script.at(
        { endpoint: comments, times: 2, match: ({ path }) => path.includes(`/${talked[which]}/`) },
        status(code),
      );
      const first = await rig.sync(issues);
      expect(rule.fired).toBe(2);
      expect(first.status).toBe('failed');
      expect(first.streams[0]?.reason).toMatch(/comments of \d+: .*40[34]/);
      expect(await lacking()).not.toEqual([]);
      // Everything else of the run is there, the other lists of the same issue included.
      expect((await all()).every((line) => line.startsWith('comments '))).toBe(true);
      const from = rig.tracker.log.length;
      expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
      expect(asked(from)).toBe(1);
      expect(await all()).toEqual([]);
      expect(await stateOf('comments')).toEqual([]);
    },
  );
});

test('a list of a single issue that stays closed is asked for twice, told, and had by a full sync when it is open', async () => {
  const [id = ''] = talked;
  rig.tracker.script.at({ ...always, match: ({ path }) => path.includes(`/${id}/`) }, status(403));
  expect(await rig.sync(issues)).toMatchObject({ status: 'failed' });
  // Other issues have changed meanwhile, so that lists are given.
  rig.tracker.state.addComment(talked[1] ?? '', 'More');
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(notes()).toContainEqual(
    expect.stringContaining(`not given again, comments of ${id} stay as they are`),
  );
  expect(await lacking()).not.toEqual([]);
  expect(await stateOf('comments')).toEqual([]);
  rig.tracker.script.clear();
  expect(await rig.sync({ ...issues, full: true })).toMatchObject({ status: 'succeeded' });
  expect(await all()).toEqual([]);
});

test.each([
  [403, 'forbidden'],
  [404, 'unavailable'],
] as const)(
  'lists that are closed altogether (%d) fail nothing, are told of, hardly asked for, and read when they open',
  async (code, state) => {
    rig.tracker.script.at(always, status(code));
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
    expect(await stateOf('comments')).toEqual([{ state, reason: expect.stringContaining(String(code)) }]);
    expect((await all()).every((line) => line.startsWith('comments '))).toBe(true);
    expect(asked(0)).toBe(3);
    const from = rig.tracker.log.length;
    expect(await rig.sync(issues)).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 0, updated: 0 },
    });
    expect(asked(from)).toBeLessThanOrEqual(3);

    // They open long after the issues changed: no window of changes meets them.
    for (let i = 0; i < 2; i += 1) {
      rig.tracker.clock.advance(20 * 86_400_000);
      rig.tracker.state.update(other, { summary: `Changed ${i}` });
      expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
    }
    rig.tracker.script.clear();
    rig.tracker.state.addComment(talked[0] ?? '', 'They are open');
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
    expect(notes()).toContainEqual(expect.stringContaining('comments can be read now'));
    expect(await stateOf('comments')).toEqual([]);
    expect(await lacking()).not.toEqual([]);
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
    expect(await all()).toEqual([]);
    expect(await stateOf('comments')).toEqual([]);
    expect(await rig.sync(issues)).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 0, updated: 0 },
    });
  },
);

test('a list that does not add up is not taken for all of it: what it does not show stays, and the next run asks again', async () => {
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  const [id = ''] = talked;
  rig.tracker.clock.advance(60_000);
  for (let i = 0; i < 3; i += 1) rig.tracker.state.addComment(id, `Later ${i}`);
  const broken = rig.tracker.script.at(
    always,
    total((truth) => truth + 5),
  );
  const first = await rig.sync(issues);
  expect(broken.fired).toBeGreaterThan(0);
  expect(first).toMatchObject({ status: 'failed', deleted: 0 });
  expect(first.streams[0]?.reason).toMatch(/comments of \d+: .*the source says \d+, \d+ could be read/);
  expect(
    await rig.rows('select from tracker.comments where issue_id = $1 and _deleted_at is not null', [id]),
  ).toEqual([]);
  // The new comments of this one issue are here all the same: nobody else brings a list in the same batch.
  expect((await lacking()).filter((line) => line.startsWith('comments '))).toEqual([]);
  rig.tracker.script.clear();
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(await all()).toEqual([]);
});

test('what can be read of a list whose total is too large is here, though it never adds up', async () => {
  rig.tracker.script.at(
    always,
    total((truth) => truth + 5),
  );
  expect(await rig.sync(issues)).toMatchObject({ status: 'failed' });
  expect(await all()).toEqual([]);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(notes()).toContainEqual(expect.stringContaining('not given again'));
  expect(await all()).toEqual([]);
});

test('an issue that is deleted while its lists are asked for closes no list for others', async () => {
  const [id = ''] = talked;
  const rule = rig.tracker.script.at(
    { endpoint: comments, match: ({ path }) => path.includes(`/${id}/`) },
    ({ state }) => state.delete(id),
  );
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(rule.fired).toBe(1);
  expect(await stateOf('comments')).toEqual([]);
  expect((await lacking()).filter((line) => line.startsWith('comments '))).toEqual([]);
});

test('a reconciliation that was refused a list of an issue that came into sight has it read by the next one', async () => {
  const [id = ''] = talked;
  const { state, clock, script } = rig.tracker;
  state.delete(id);
  await rig.sync(issues);
  clock.advance(3 * 86_400_000);
  await rig.sync(issues);
  state.restore(id);
  clock.advance(3 * 86_400_000);
  const rule = script.at(
    { endpoint: comments, times: 2, match: ({ path }) => path.includes(`/${id}/`) },
    status(403),
  );
  expect((await rig.reconcile(issues)).status).toMatch(/failed/);
  expect(rule.fired).toBe(2);
  expect(await lacking()).not.toEqual([]);
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded' });
  expect(await all()).toEqual([]);
  expect(await rig.rows('select from ops.unseen')).toEqual([]);
});

test('a forced resync that was interrupted is finished with force, though a list has opened meanwhile', async () => {
  const closed = rig.tracker.script.at(always, status(403));
  await rig.sync(issues);
  expect(closed.fired).toBeGreaterThan(0);
  closed.cancel();
  const stop = new AbortController();
  const rule = rig.tracker.script.at({ endpoint: comments, nth: 4 }, () =>
    stop.abort(new Interrupted('stopped')),
  );
  await expect(rig.sync({ ...issues, full: true }, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
  expect(await stateOf('comments')).toMatchObject([{ state: 'forbidden' }]);
  await rig.sync(issues);
  expect(await rig.rows("select status from ops.walks where words like 'full forced%'")).toEqual([
    { status: 'done' },
  ]);
});

test('a stream that has the name of a child stays a stream, and changes are read as changes', async () => {
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await stateOf('sprints')).toMatchObject([{ state: 'available' }]);
  expect(await rig.rows("select kind from ops.walks where stream = 'issues' order by walk_id")).toEqual([
    { kind: 'full' },
    { kind: 'incremental' },
  ]);
});

test('a full sync fetches the lists of issues that have not changed, and writes what lacks', async () => {
  await rig.sync(issues);
  await rig.rows('delete from tracker.comments where issue_id = $1', [talked[0]]);
  await rig.sync(issues);
  expect(await lacking()).not.toEqual([]);
  expect(await rig.sync({ ...issues, full: true })).toMatchObject({ counts: { inserted: 0, updated: 0 } });
  expect(await all()).toEqual([]);
});

/** A list as the search tells it with an issue, told otherwise. */
type Told = Readonly<Record<string, unknown>> | undefined;
const retold = (change: (list: Told, name: string, issueId: string) => unknown): Fault => ({
  name: 'retold lists',
  answer: (answer) => {
    const body = JSON.parse(answer.body.toString());
    for (const issue of body.issues ?? []) {
      if (issue.fields?.summary === undefined) continue;
      issue.changelog = change(issue.changelog, 'histories', issue.id);
      issue.fields.comment = change(issue.fields.comment, 'comments', issue.id);
      issue.fields.worklog = change(issue.fields.worklog, 'worklogs', issue.id);
    }
    return { ...answer, body: Buffer.from(JSON.stringify(body)) };
  },
});
const searches = { endpoint: '/rest/api/3/search/jql', times: Number.POSITIVE_INFINITY };

test('a history that the search leaves out of single issues is fetched', async () => {
  const without = retold((list, name, id) =>
    name === 'histories' && Number(id) % 7 === 3 ? undefined : list,
  );
  rig.tracker.script.at(searches, without);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(await all()).toEqual([]);
});

test.each(['comments', 'worklogs'])('%s that the search leaves out of issues are fetched', async (left) => {
  const without = retold((list, name, id) => (name === left && Number(id) % 7 !== 3 ? undefined : list));
  rig.tracker.script.at(searches, without);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(await all()).toEqual([]);
});

test('histories are fetched where the search gives none and had no issue to show that', async () => {
  // As of a site whose first issue comes between the question and the walk.
  rig.tracker.script.at(
    { ...searches, match: ({ body }) => /"maxResults":1\b/.test(JSON.stringify(body)) },
    emptyPage,
  );
  rig.tracker.script.at(
    searches,
    retold((list, name) => (name === 'histories' ? undefined : list)),
  );
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(await all()).toEqual([]);
});

test.each<[string, (list: Told, name: string) => unknown]>([
  ['say no total', (list) => list && { ...list, total: undefined }],
  [
    'begin later, without a total',
    (list) => list && { ...list, total: undefined, maxResults: 50, startAt: 3 },
  ],
  ['are bare arrays', (list, name) => list?.[name]],
  ['are counts alone', (list) => list && { total: list.total }],
])('lists that may not be whole, for they %s, are fetched', async (_, change) => {
  rig.tracker.script.at(searches, retold(change));
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect((await all()).filter((line) => line.endsWith('missing'))).toEqual([]);
});
