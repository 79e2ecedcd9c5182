/** Lists that an issue brings only in part, and that the source then refuses to give whole: what lacks is noted, reported and read later. */

import { afterEach, beforeEach, expect, test } from 'vitest';
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
const asked = (from: number): number =>
  rig.tracker.log.slice(from).filter(({ path }) => path.endsWith('/comment')).length;
/** Answers the list of one issue with the code, so often. */
const refuse = (id = '', code = 403, times = 2) =>
  rig.tracker.script.at(
    { endpoint: comments, times, match: ({ path }) => path.includes(`/${id}/`) },
    status(code),
  );

test('lists of single issues that are refused twice fail the run, and the next one has them', async () => {
  const [first, second, third, deleted = ''] = talked;
  const rules = [refuse(first, 403), refuse(third, 404)];
  // Nothing is owed of an issue that is deleted while its lists are requested.
  const gone = rig.tracker.script.at(
    { endpoint: comments, match: ({ path }) => path.includes(`/${deleted}/`) },
    ({ state }) => state.delete(deleted),
  );
  const failed = await sync();
  expect([...rules, gone].map(({ fired }) => fired)).toEqual([2, 2, 1]);
  expect(failed.status).toBe('failed');
  expect(failed.streams[0]?.reason).toMatch(/comments of \d+ and 1 other list: .*40[34]/);
  const commented = await rig.rows<{ id: string }>(
    'select distinct issue_id::text as id from tracker.comments',
  );
  const stored = new Set(commented.map(({ id }) => id));
  expect([first, second, third].map((id = '') => stored.has(id))).toEqual([false, true, false]);
  expect((await lacking()).every((line) => line.startsWith('comments '))).toBe(true);
  const from = rig.tracker.log.length;
  expect(await sync()).toMatchObject(ok);
  expect(asked(from)).toBe(2);
  expect(await lacking()).toEqual([]);
});

test('a list of a single issue that stays closed fails every run until it is given; a full sync reads all lists again', async () => {
  const [id = '', changed = '', removed = ''] = talked;
  refuse(id, 403, Number.POSITIVE_INFINITY);
  expect(await sync()).toMatchObject({ status: 'failed' });
  // Other issues have changed meanwhile, so that lists are given. They land.
  rig.tracker.clock.advance(60_000);
  rig.tracker.state.addComment(changed, 'More');
  const again = await sync();
  expect(again).toMatchObject({ status: 'failed' });
  expect(again.streams[0]?.reason).toContain(`comments of ${id}: `);
  const lacks = await lacking();
  expect(lacks.length).toBeGreaterThan(0);
  expect(lacks.filter((line) => !line.startsWith('comments '))).toEqual([]);
  await rig.rows('delete from tracker.comments where issue_id = $1', [removed]);
  rig.tracker.script.clear();
  expect(await full()).toMatchObject(ok);
  expect(await all()).toEqual([]);
});

test('lists that are closed altogether fail nothing, are hardly requested, and read by a full sync once they are open', async () => {
  rig.tracker.script.at(always, status(403));
  for (const endpoint of ['/rest/api/3/issue/{id}/worklog', '/rest/api/3/worklog/updated'])
    rig.tracker.script.at({ ...always, endpoint }, status(404));
  for (const id of talked) for (let i = 0; i < 3; i += 1) rig.tracker.state.addWorklog(id, 60);
  expect(await sync()).toMatchObject(ok);
  for (const said of [/comments forbidden: .*403.*sync --full/, /worklogs unavailable: .*404.*sync --full/])
    expect(notes()).toContainEqual(expect.stringMatching(said));
  expect((await all()).every((line) => /^(comments|worklogs) /.test(line))).toBe(true);
  // Two issues, twice each.
  expect(asked(0)).toBe(4);
  const from = rig.tracker.log.length;
  const unchanged = { ...ok, counts: { inserted: 0, updated: 0 } };
  expect(await sync()).toMatchObject(unchanged);
  expect(asked(from)).toBeLessThanOrEqual(4);

  // They open long after the issues changed: no window of changes meets them.
  rig.tracker.clock.advance(20 * 86_400_000);
  rig.tracker.state.update(other, { summary: 'Changed' });
  expect(await sync()).toMatchObject(ok);
  rig.tracker.script.clear();
  expect(await sync()).toMatchObject(ok);
  expect(await lacking()).not.toEqual([]);
  expect(await full()).toMatchObject(ok);
  expect(await all()).toEqual([]);
  expect(await sync()).toMatchObject(unchanged);
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
  expect(await sync()).toMatchObject({ status: 'failed', deleted: 0 });
  expect(await all()).toEqual([]);
  rig.tracker.script.clear();
  expect(await sync()).toMatchObject(ok);
  expect(await all()).toEqual([]);
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

test('a forced resync that was interrupted is finished with force', async () => {
  await sync();
  const stop = new AbortController();
  const rule = rig.tracker.script.at({ endpoint: comments, nth: 4 }, () =>
    stop.abort(new Interrupted('stopped')),
  );
  await expect(rig.sync({ ...issues, full: true }, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
  await sync();
  expect(await rig.rows('select status from ops.walks where forced')).toEqual([{ status: 'done' }]);
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

test('lists are fetched whose envelope the search leaves out, cuts short or gives without a total', async () => {
  const odd: readonly ((list: Embedded, name: string) => unknown)[] = [
    () => undefined,
    (list) => list && { ...list, total: undefined },
    (list) => list && { ...list, total: undefined, maxResults: 50, startAt: 3 },
    (list, name) => list?.[name],
    (list) => list && { total: list.total },
    (list) => list,
  ];
  rig.tracker.script.at(
    searches,
    changed((list, name, id) => odd[Number(id) % odd.length]?.(list, name)),
  );
  expect(await sync()).toMatchObject(ok);
  expect(await lacking()).toEqual([]);
});

test('lists are fetched that the search leaves out of most issues', async () => {
  rig.tracker.script.at(
    searches,
    changed((list, name, id) => (name === 'histories' || Number(id) % 7 === 3 ? list : undefined)),
  );
  expect(await sync()).toMatchObject(ok);
  expect(await lacking()).toEqual([]);
});
