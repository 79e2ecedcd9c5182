/**
 * Worklogs of many issues at once, by the vendor's feed of changed worklogs: the warehouse holds what it holds where
 * every long list is read by itself. Two sites live through the same nights; one of them has no feed.
 */

import { describe, expect, test } from 'vitest';
import type { Visibility } from '../../simulators/jira/model.ts';
import type { TrackerState } from '../../simulators/jira/state.ts';
import { type Fault, shortPage, status } from '../../simulators/shared/faults.ts';
import { differences } from '../support/oracle.ts';
import { type Rig, testRig } from '../support/rig.ts';
import { dialects } from '../support/small-site.ts';

const always = { times: Number.POSITIVE_INFINITY };
const embedded = { changelog: 400, comments: 400, worklogs: 2 };
const issues = { streams: ['issues'] };
const minutes = (count: number): number => count * 60_000;
const night = minutes(24 * 60);
const staff: Visibility = { type: 'role', value: 'Staff', identifier: '10002', isOurs: true };
const board: Visibility = { type: 'group', value: 'board', identifier: '276f955c', isOurs: false };

const rows = (rig: Rig) =>
  rig.rows(`select to_jsonb(w) - '{_synced_at,_run_id,_deleted_at}'::text[] as row, _deleted_at is null as live
    from tracker.worklogs w order by id`);

const feed = (rig: Rig, name: string) => ({
  endpoint: `/rest/api/${rig.tracker.log.some(({ path }) => path.includes('/api/2/')) ? 2 : 3}/worklog/${name}`,
});

/** Syncs the issues, and counts the requests for worklogs. */
const sync = async (rig: Rig) => {
  const from = rig.tracker.log.length;
  const report = await rig.sync(issues);
  const paths = rig.tracker.log.slice(from).map(({ path }) => path);
  const count = (end: RegExp): number => paths.filter((path) => end.test(path)).length;
  const updated = count(/\/worklog\/updated$/);
  const list = count(/\/worklog\/list$/);
  return { status: report.status, updated, list, single: count(/\/issue\/\d+\/worklog$/) };
};

type Write = (state: TrackerState, ids: readonly string[]) => void;

/** The nth worklog of an issue that the account may or may not see. */
const nth = (state: TrackerState, id: string, place: number): string =>
  state.issue(id).worklogs[place]?.id ?? '';

const addToEach: Write = (state, ids) => {
  for (const id of ids) state.addWorklog(id, 600);
};

/** Two sites with thirty issues of four worklogs each, both synced: with and without the feed. */
const twoSites = async (options: Parameters<typeof testRig>[0]) => {
  const site = { ...options, issues: 80, embedded };
  const fed = await testRig(site);
  const single = await testRig(site);
  const both = [fed, single];
  const ids = [...fed.tracker.oracle().issues.values()]
    .flatMap(({ id, deleted, worklogs }) => (deleted || worklogs.length > 2 ? [] : [id]))
    .slice(0, 30);
  const write = (change: Write): void => {
    for (const { tracker } of both) change(tracker.state, ids);
  };
  const pass = (ms: number): void => {
    for (const { tracker } of both) tracker.clock.advance(ms);
  };
  for (let n = 0; n < 4; n += 1) write(addToEach);
  for (const rig of both) expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  const without = single.tracker.script.at({ ...feed(single, 'updated'), ...always }, status(404));
  /** Both are synced and hold the same. Gives the requests for worklogs. */
  const compare = async () => {
    const requests = await sync(fed);
    const old = await sync(single);
    expect([requests.status, old.status]).toEqual(['succeeded', 'succeeded']);
    expect(await rows(fed)).toEqual(await rows(single));
    return { requests, old };
  };
  return { fed, single, ids, write, pass, compare, without };
};

const [vendor, , dataCenter] = dialects;

describe.each([vendor, dataCenter])('$name', (dialect) => {
  test('many nights end with the rows that lists of single issues give, with a quarter of the requests', async () => {
    const { fed, single, ids, write, pass, compare, without } = await twoSites(dialect.options);
    const nights: Record<string, Write> = {
      added: addToEach,
      edited: (state) => {
        for (const id of ids) state.editWorklog(id, nth(state, id, 3), 60);
      },
      deleted: (state) => {
        for (const id of ids) state.deleteWorklog(id, nth(state, id, 1));
        for (const id of ids.slice(0, 10)) state.addWorklog(id, 300);
      },
      untouched: (state) => {
        for (const id of ids) state.touch(id);
      },
      limited: (state) => {
        for (const [at, id] of ids.entries())
          state.showWorklogTo(id, nth(state, id, 2), at % 2 === 0 ? staff : board);
      },
      moved: (state) => {
        for (const id of ids.slice(0, 8)) state.moveWorklog(id, nth(state, id, 0), ids.at(-1) ?? '');
        for (const id of ids.slice(8, 16)) state.move(id, 'WEB');
        for (const id of ids.slice(16, 20)) state.delete(id);
      },
    };
    for (const [name, change] of Object.entries(nights)) {
      pass(night);
      write(change);
      pass(minutes(5));
      const { requests, old } = await compare();
      expect({ name, ...requests }).toMatchObject({ name, updated: 1, single: 0 });
      expect(requests.updated + requests.list + requests.single).toBeLessThanOrEqual(4);
      expect(old.single).toBeGreaterThanOrEqual(15);
      expect(await differences(fed, { ...dialect, issuesOnly: true, deletedMayLive: true })).toEqual([]);
    }
    expect(without.fired).toBeGreaterThan(0);
    for (const rig of [fed, single]) expect(await rig.reconcile()).toMatchObject({ status: 'succeeded' });
    expect(await rows(fed)).toEqual(await rows(single));
    expect(await differences(fed, { ...dialect, issuesOnly: true })).toEqual([]);
  });
});

test('what of worklogs changes without a trace in the feed is read from the lists of single issues', async () => {
  const { ids, write, pass, compare } = await twoSites(vendor.options);
  const [gained = '', swapped = '', late = ''] = ids;
  write((state) => state.showWorklogTo(gained, nth(state, gained, 2), board));
  write((state) => state.showWorklogTo(swapped, nth(state, swapped, 2), board));
  pass(night);
  await compare();
  // The feed is not asked again for what was before this night.
  pass(3 * night);
  write(addToEach);
  pass(minutes(5));
  await compare();
  pass(night);
  // The account joins the one group and leaves the other: neither changes a worklog or an issue.
  write((state) => {
    const quiet = { bump: false };
    state.showWorklogTo(gained, nth(state, gained, 2), staff, quiet);
    state.showWorklogTo(swapped, nth(state, swapped, 2), staff, quiet);
    state.showWorklogTo(swapped, nth(state, swapped, 3), board, quiet);
    for (const id of ids) state.touch(id);
  });
  pass(minutes(5));
  // The feed does not show the last minute.
  write((state) => state.addWorklog(late, 60));
  expect((await compare()).requests).toMatchObject({ updated: 1, single: 3 });
  pass(night);
  write(addToEach);
  pass(minutes(5));
  expect((await compare()).requests).toMatchObject({ updated: 1, single: 0 });
});

test('a run that is lost between two pages costs nothing', async () => {
  const { fed, single, write, pass, compare } = await twoSites(vendor.options);
  const search = { endpoint: '/rest/api/3/search/jql', ...always };
  for (const { tracker } of [fed, single]) tracker.script.at(search, shortPage(10));
  const isSecondPage = ({ body }: { readonly body: unknown }) =>
    /nextPageToken/.test(JSON.stringify(body) ?? '');
  for (const change of [addToEach, addToEach]) {
    pass(night);
    write(change);
    write((state, [id = '']) => state.deleteWorklog(id, nth(state, id, 1)));
    pass(minutes(5));
    const lost = fed.tracker.script.at({ ...search, times: 20, match: isSecondPage }, status(500));
    expect((await sync(fed)).status).toBe('failed');
    expect(lost.fired).toBeGreaterThan(0);
    lost.cancel();
    pass(night);
    write(change);
    pass(minutes(5));
    expect((await compare()).requests).toMatchObject({ updated: 1, single: 0 });
  }
});

test('a feed or list that fails, or lies, leaves the lists of single issues', async () => {
  const answering = (name: string, body: (sent: unknown) => unknown): Fault => ({
    name,
    answer: (answer) => ({
      ...answer,
      body: Buffer.from(JSON.stringify(body(JSON.parse(String(answer.body))))),
    }),
  });
  const lacking = answering('lacking', (list) => (list as readonly unknown[]).slice(3));
  const silent = answering('silent', (page) => ({ ...Object(page), values: [] }));
  const { fed, write, pass, compare } = await twoSites(vendor.options);
  for (const [what, name, fault] of [
    ['the feed is closed', 'updated', status(403)],
    ['the list is missing', 'list', status(404)],
    ['the list lacks worklogs', 'list', lacking],
    ['the feed names none', 'updated', silent],
  ] as const) {
    const rule = fed.tracker.script.at({ ...feed(fed, name), ...always }, fault);
    pass(night);
    write(addToEach);
    pass(minutes(5));
    const { requests } = await compare();
    expect(rule.fired, what).toBeGreaterThan(0);
    expect(requests.single, what).toBeGreaterThan(0);
    rule.cancel();
  }
});

test('a feed of more pages than there are long lists is not read to its end', async () => {
  const { fed, write, pass, compare, ids } = await twoSites(vendor.options);
  fed.tracker.script.at({ ...feed(fed, 'updated'), ...always }, shortPage(1));
  pass(night);
  for (const id of ids) {
    pass(1000);
    write((state) => addToEach(state, [id]));
  }
  pass(minutes(5));
  const { requests } = await compare();
  expect(requests).toMatchObject({ list: 0, single: ids.length });
  expect(requests.updated).toBeLessThan(ids.length);
});

test('few long lists are read one by one, and the first sync has no feed', async () => {
  const { fed, write, pass, compare } = await twoSites(vendor.options);
  const asked = fed.tracker.log.filter(({ path }) => /\/worklog\/(updated|list)$/.test(path));
  expect(asked).toEqual([]);
  pass(night);
  write((state, ids) => addToEach(state, ids.slice(0, 3)));
  pass(minutes(5));
  expect((await compare()).requests).toMatchObject({ updated: 0, list: 0, single: 3 });
});
