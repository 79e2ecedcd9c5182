/** Lists that an issue brings only in part, and that the source then refuses to give whole: what lacks is noted, reported and read later. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { emptyPage, type Fault, status, total } from '../../../simulators/shared/faults.ts';
import { Interrupted } from '../../../src/core/errors.ts';
import { differences } from '../../support/oracle.ts';
import { openRig, type Rig } from '../../support/rig.ts';
import { smallSite } from '../../support/small-site.ts';

const comments = '/rest/api/3/issue/{id}/comment';
const issues = { streams: ['issues'] };
const always = { endpoint: comments, times: Number.POSITIVE_INFINITY };
const ok = { status: 'succeeded' };

let rig: Rig;
/** Issues whose comments come only in part. */
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

const sync = () => rig.sync(issues);
const full = () => rig.sync({ ...issues, full: true });
const all = () => differences(rig, { issuesOnly: true });
const lacking = async () => (await all()).filter((line) => line.endsWith('missing'));
const notes = () => rig.events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
const stateOf = (stream: string) =>
  rig.rows('select state, reason from ops.streams where stream = $1', [stream]);
const commentsState = () => stateOf('issues.comments');
const asked = (from: number): number =>
  rig.tracker.log.slice(from).filter(({ path }) => path.endsWith('/comment')).length;
/** Answers the list of one issue with the code, so often. */
const refuse = (id = '', code = 403, times = 2) =>
  rig.tracker.script.at(
    { endpoint: comments, times, match: ({ path }) => path.includes(`/${id}/`) },
    status(code),
  );

test.each([
  [403, 0],
  [403, 2],
  [404, 0],
  [404, 2],
])(
  'the list of an issue that answers %d twice fails the run, and the next one has it',
  async (code, which) => {
    const rule = refuse(talked[which], code);
    const first = await sync();
    expect(rule.fired).toBe(2);
    expect(first.status).toBe('failed');
    expect(first.streams[0]?.reason).toMatch(/comments of \d+: .*40[34]/);
    expect(await lacking()).not.toEqual([]);
    // Everything else of the run is stored, the other lists of the same issue included.
    expect((await all()).every((line) => line.startsWith('comments '))).toBe(true);
    const from = rig.tracker.log.length;
    expect(await sync()).toMatchObject(ok);
    expect(asked(from)).toBe(1);
    expect(await all()).toEqual([]);
    expect(await commentsState()).toEqual([]);
  },
);

test('a list of a single issue that stays closed fails one run, then gives a warning; a full sync has it when it is open', async () => {
  const [id = ''] = talked;
  refuse(id, 403, Number.POSITIVE_INFINITY);
  expect(await sync()).toMatchObject({ status: 'failed' });
  // Other issues have changed meanwhile, so that lists are given.
  rig.tracker.state.addComment(talked[1] ?? '', 'More');
  expect(await sync()).toMatchObject(ok);
  expect(notes()).toContainEqual(expect.stringContaining(`not given again, comments of ${id}`));
  expect(await lacking()).not.toEqual([]);
  expect(await commentsState()).toEqual([]);
  rig.tracker.script.clear();
  expect(await full()).toMatchObject(ok);
  expect(await all()).toEqual([]);
});

test.each([
  [403, 'forbidden'],
  [404, 'unavailable'],
] as const)(
  'lists that are closed altogether (%d) fail nothing, are noted, hardly requested, and read when they open',
  async (code, state) => {
    rig.tracker.script.at(always, status(code));
    expect(await sync()).toMatchObject(ok);
    expect(await commentsState()).toEqual([{ state, reason: expect.stringContaining(String(code)) }]);
    expect((await all()).every((line) => line.startsWith('comments '))).toBe(true);
    expect(asked(0)).toBe(3);
    const from = rig.tracker.log.length;
    const unchanged = { ...ok, counts: { inserted: 0, updated: 0 } };
    expect(await sync()).toMatchObject(unchanged);
    expect(asked(from)).toBeLessThanOrEqual(3);

    // They open long after the issues changed: no window of changes meets them.
    for (let i = 0; i < 2; i += 1) {
      rig.tracker.clock.advance(20 * 86_400_000);
      rig.tracker.state.update(other, { summary: `Changed ${i}` });
      expect(await sync()).toMatchObject(ok);
    }
    rig.tracker.script.clear();
    rig.tracker.state.addComment(talked[0] ?? '', 'They are open');
    expect(await sync()).toMatchObject(ok);
    expect(notes()).toContainEqual(expect.stringContaining('comments can be read now'));
    expect(await commentsState()).toEqual([]);
    expect(await lacking()).not.toEqual([]);
    expect(await sync()).toMatchObject(ok);
    expect(await all()).toEqual([]);
    expect(await sync()).toMatchObject(unchanged);
  },
);

test('a backfill in which closed lists open leaves it to the next sync to read everything again', async () => {
  const closed = rig.tracker.script.at(always, status(403));
  await sync();
  closed.cancel();
  const [first = ''] = talked;
  const from = new Date(rig.tracker.oracle().issues.get(first)?.created ?? 0);
  await rig.backfill({ ...issues, from, to: new Date(from.getTime() + 1) });
  expect(await lacking()).not.toEqual([]);
  rig.tracker.clock.advance(20 * 86_400_000);
  rig.tracker.state.addComment(first, 'They are open');
  await sync();
  await sync();
  expect(await all()).toEqual([]);
  expect(await commentsState()).toEqual([]);
});

test('a list that does not add up is not taken for all of it: what it does not show stays, and the next run asks again', async () => {
  expect(await sync()).toMatchObject(ok);
  const [id = ''] = talked;
  rig.tracker.clock.advance(60_000);
  for (let i = 0; i < 3; i += 1) rig.tracker.state.addComment(id, `Later ${i}`);
  const broken = rig.tracker.script.at(
    always,
    total((truth) => truth + 5),
  );
  const first = await sync();
  expect(broken.fired).toBeGreaterThan(0);
  expect(first).toMatchObject({ status: 'failed', deleted: 0 });
  expect(first.streams[0]?.reason).toMatch(/comments of \d+: .*the source says \d+, \d+ could be read/);
  // What could be read of it is stored all the same.
  expect(await lacking()).toEqual([]);
  const second = await sync();
  expect(second).toMatchObject(ok);
  expect(notes()).toContainEqual(expect.stringContaining('not given again'));
  expect(await all()).toEqual([]);
  rig.tracker.script.clear();
  expect(await sync()).toMatchObject(ok);
  expect(await all()).toEqual([]);
});

test('an issue that is deleted while its lists are requested closes no list for others', async () => {
  const [id = ''] = talked;
  const rule = rig.tracker.script.at(
    { endpoint: comments, match: ({ path }) => path.includes(`/${id}/`) },
    ({ state }) => state.delete(id),
  );
  expect(await sync()).toMatchObject(ok);
  expect(rule.fired).toBe(1);
  expect(await commentsState()).toEqual([]);
  expect((await lacking()).filter((line) => line.startsWith('comments '))).toEqual([]);
});

test('a reconciliation that was refused a list of an issue that came into sight has it read by the next one', async () => {
  const { state, clock } = rig.tracker;
  const hidden = talked.slice(0, 2);
  for (const id of hidden) state.delete(id);
  await sync();
  clock.advance(3 * 86_400_000);
  await sync();
  for (const id of hidden) state.restore(id);
  clock.advance(3 * 86_400_000);
  const rule = refuse(hidden[0]);
  expect((await rig.reconcile(issues)).status).toMatch(/failed/);
  expect(rule.fired).toBe(2);
  expect(await lacking()).not.toEqual([]);
  expect(await rig.reconcile(issues)).toMatchObject(ok);
  expect(await all()).toEqual([]);
  expect(await rig.rows('select from ops.unseen')).toEqual([]);
});

test('a forced resync that was interrupted is finished with force, though a list has opened meanwhile', async () => {
  const closed = rig.tracker.script.at(always, status(403));
  await sync();
  expect(closed.fired).toBeGreaterThan(0);
  closed.cancel();
  const stop = new AbortController();
  const rule = rig.tracker.script.at({ endpoint: comments, nth: 4 }, () =>
    stop.abort(new Interrupted('stopped')),
  );
  await expect(rig.sync({ ...issues, full: true }, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
  expect(await commentsState()).toMatchObject([{ state: 'forbidden' }]);
  await sync();
  expect(await rig.rows("select status from ops.walks where words like 'full forced%'")).toEqual([
    { status: 'done' },
  ]);
});

test('a full sync fetches the lists of issues that have not changed, and writes what lacks', async () => {
  await sync();
  await rig.rows('delete from tracker.comments where issue_id = $1', [talked[0]]);
  await sync();
  expect(await lacking()).not.toEqual([]);
  expect(await full()).toMatchObject({ counts: { inserted: 0, updated: 0 } });
  expect(await all()).toEqual([]);
});

/** A list as the search gives it with an issue. */
type Embedded = Readonly<Record<string, unknown>> | undefined;
const changed = (change: (list: Embedded, name: string, issueId: string) => unknown): Fault => ({
  name: 'changed lists',
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

test('histories are fetched where the search gives none and had no issue to show that', async () => {
  // As of a site whose first issue comes between the preflight and the walk.
  rig.tracker.script.at(
    { ...searches, match: ({ body }) => /"maxResults":1\b/.test(JSON.stringify(body)) },
    emptyPage,
  );
  rig.tracker.script.at(
    searches,
    changed((list, name) => (name === 'histories' ? undefined : list)),
  );
  expect(await sync()).toMatchObject(ok);
  expect(await all()).toEqual([]);
});

const isLeftOut = (id: string): boolean => Number(id) % 7 === 3;
describe('lists are fetched that', () => {
  test.each<[string, (list: Embedded, name: string, id: string) => unknown]>([
    ['the search leaves out of single issues', (list, _, id) => (isLeftOut(id) ? undefined : list)],
    [
      'the search leaves out of most issues',
      (list, name, id) => (name === 'histories' || isLeftOut(id) ? list : undefined),
    ],
    ['have no total', (list) => list && { ...list, total: undefined }],
    [
      'begin later, without a total',
      (list) => list && { ...list, total: undefined, maxResults: 50, startAt: 3 },
    ],
    ['are bare arrays', (list, name) => list?.[name]],
    ['are counts alone', (list) => list && { total: list.total }],
  ])('%s', async (_, change) => {
    rig.tracker.script.at(searches, changed(change));
    expect(await sync()).toMatchObject(ok);
    expect(await lacking()).toEqual([]);
  });
});
