import { afterEach, describe, expect, test } from 'vitest';
import { type Fault, status } from '../../simulators/shared/faults.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

let rig: Rig;
afterEach(() => rig.close());

const boardSprint = '/rest/agile/1.0/board/{id}/sprint';
const always = { times: Number.POSITIVE_INFINITY };
const open = async (): Promise<Rig['tracker']> => {
  rig = await openRig({ ...smallSite, issues: 40, dialect: 'vendor' });
  return rig.tracker;
};

const sprintIssues = '/rest/agile/1.0/sprint/{id}/issue';

describe('one bad answer about an owner or a list in the first sync is asked about again, and costs nothing:', () => {
  test.each([
    {
      of: '404, and 403 to a list',
      faults: [
        [404, 2, sprintIssues],
        [404, 2, boardSprint],
        [404, 1, '/rest/api/3/group/member'],
        [404, 1, '/rest/api/3/group/bulk'],
        [404, 1, '/rest/api/3/status'],
        [403, 1, '/rest/api/3/priority'],
      ],
    },
    {
      of: '403, and 400 to a board',
      faults: [
        [403, 2, sprintIssues],
        [403, 1, boardSprint],
        [400, 3, boardSprint],
        [403, 2, '/rest/api/3/group/member'],
      ],
    },
  ] as const)('$of', async ({ faults }) => {
    const { script } = await open();
    const rules = faults.map(([code, nth, endpoint]) => script.at({ endpoint, nth }, status(code)));
    const report = await rig.sync();
    expect(rules.map(({ fired }) => fired)).toEqual(faults.map(() => 1));
    expect(report).toMatchObject({ status: 'succeeded' });
    expect(report.streams.filter((one) => one.status !== 'ok')).toEqual([]);
    expect(await differences(rig)).toEqual([]);
  });
});

describe('one empty list in the first sync is asked for again, and costs nothing:', () => {
  /** The answer with nothing in its lists, and a total of 0 where it states one. */
  const emptied: Fault = {
    name: 'emptied',
    answer: (answer) => {
      const told: unknown = JSON.parse(String(answer.body));
      const empty = (value: unknown, key: string): unknown =>
        Array.isArray(value) ? [] : key === 'total' ? 0 : key === 'isLast' ? true : value;
      const body = Array.isArray(told)
        ? []
        : Object.fromEntries(Object.entries(Object(told)).map(([key, value]) => [key, empty(value, key)]));
      return { ...answer, body: Buffer.from(JSON.stringify(body)) };
    },
  };

  test('of projects, users, priorities, statuses, groups, members, boards, sprints and their issues', async () => {
    const { script } = await open();
    const rules = (
      [
        [1, '/rest/api/3/project/search'],
        [1, '/rest/api/3/users/search'],
        [1, '/rest/api/3/priority'],
        [1, '/rest/api/3/status'],
        [1, '/rest/api/3/group/bulk'],
        [2, '/rest/api/3/group/member'],
        [1, '/rest/agile/1.0/board'],
        [2, boardSprint],
        [3, sprintIssues],
      ] as const
    ).map(([nth, endpoint]) => script.at({ endpoint, nth }, emptied));
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(rules.map(({ fired }) => fired)).toEqual(rules.map(() => 1));
    expect(await differences(rig)).toEqual([]);
  });

  test('an owner that has nothing is asked twice in the first night, and once in those behind it', async () => {
    const { script, log } = await open();
    const asked = (): number => log.filter(({ endpoint }) => endpoint === '/rest/api/3/group/member').length;
    script.at({ endpoint: '/rest/api/3/group/member', ...always }, emptied);
    await rig.sync();
    const groups = (await rig.rows('select from tracker.groups')).length;
    expect(asked()).toBe(2 * groups);
    await rig.sync();
    expect(asked()).toBe(3 * groups);
    expect(await rig.rows('select from tracker.group_members')).toEqual([]);
  });

  test('and so is a list that has no owner', async () => {
    const { script, log } = await open();
    const asked = (): number => log.filter(({ endpoint }) => endpoint === '/rest/agile/1.0/board').length;
    script.at({ endpoint: '/rest/agile/1.0/board', ...always }, emptied);
    await rig.sync();
    expect(asked()).toBe(2);
    await rig.sync();
    expect(asked()).toBe(3);
  });
});

describe('a page of the search that says too early that it is the last', () => {
  /** The page with so many of its issues, as if there were no more. */
  const cutTo = (most: number): Fault => ({
    name: 'cut',
    answer: (answer) => {
      const { issues } = JSON.parse(String(answer.body)) as { issues: readonly unknown[] };
      return {
        ...answer,
        body: Buffer.from(JSON.stringify({ issues: issues.slice(0, most), isLast: true })),
      };
    },
  });
  const ofIssues = {
    endpoint: '/rest/api/3/search/jql',
    match: ({ body }: { readonly body: unknown }) =>
      JSON.stringify(body)?.includes('"fields":["project"') ?? false,
  };

  test.each([0, 15])(
    'with %i of the 40 that were counted costs nothing: it is asked for again',
    async (most) => {
      const { script } = await open();
      const rule = script.at(ofIssues, cutTo(most));
      expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
      expect(rule.fired).toBe(1);
      expect(await differences(rig)).toEqual([]);
    },
  );

  test.each([0, 2])(
    'with %i of what has changed since the night before costs nothing, either',
    async (most) => {
      const { script, state, clock } = await open();
      await rig.sync();
      clock.advance(20 * 86_400_000);
      const ids = [...rig.tracker.oracle().issues.keys()];
      for (const id of ids.slice(0, 8)) state.touch(id);
      const rule = script.at(ofIssues, cutTo(most));
      expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
      expect(rule.fired).toBe(1);
      expect(await differences(rig)).toEqual([]);
    },
  );

  test.each([false, true])(
    'nor does one of a server that states totals, and 0 for once (second night: %s)',
    async (later) => {
      rig = await openRig({ ...smallSite, issues: 40, dialect: 'contract', bare: true });
      const { script, state, clock } = rig.tracker;
      if (later) {
        await rig.sync();
        clock.advance(20 * 86_400_000);
        for (const id of [...rig.tracker.oracle().issues.keys()].slice(0, 8)) state.touch(id);
      }
      const nothing: Fault = {
        name: 'nothing',
        answer: (answer) => {
          const body = { startAt: 0, maxResults: 100, total: 0, issues: [] };
          return { ...answer, body: Buffer.from(JSON.stringify(body)) };
        },
      };
      const rule = script.at(ofIssues, nothing);
      expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
      expect(rule.fired).toBe(1);
      expect(await differences(rig, { bare: true })).toEqual([]);
    },
  );

  test('twice is believed, with a warning that says what was counted', async () => {
    const { script } = await open();
    const rule = script.at({ ...ofIssues, ...always }, cutTo(15));
    expect(await rig.sync({ streams: ['issues'] })).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 15 },
    });
    expect(rule.fired).toBe(2);
    expect(JSON.stringify(rig.events)).toMatch(/the source counts 40 records from .* and shows 15, twice/);
  });
});

describe("one empty answer in the place of an issue's list, of which the issue itself showed some, costs nothing:", () => {
  const embedded = { changelog: 3, comments: 1, worklogs: 1 };
  const lists = [
    ['changelog', 'values'],
    ['comment', 'comments'],
    ['worklog', 'worklogs'],
  ] as const;
  const empty = (list: string): Fault => ({
    name: 'empty',
    answer: (answer) => {
      const body = { startAt: 0, maxResults: 100, total: 0, isLast: true, [list]: [] };
      return { ...answer, body: Buffer.from(JSON.stringify(body)) };
    },
  });

  test.each(lists)('%s', async (endpoint, list) => {
    rig = await openRig({ ...smallSite, issues: 40, dialect: 'vendor', embedded });
    const rule = rig.tracker.script.at({ endpoint: `/rest/api/3/issue/{id}/${endpoint}` }, empty(list));
    expect(await rig.sync({ streams: ['issues'] })).toMatchObject({ status: 'succeeded' });
    expect(rule.fired).toBe(1);
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  });

  test.each(lists.flatMap(([endpoint]) => [404, 403].map((code) => [code, endpoint] as const)))(
    'a %i in the place of %s, either',
    async (code, endpoint) => {
      rig = await openRig({ ...smallSite, issues: 40, dialect: 'vendor', embedded });
      const rule = rig.tracker.script.at({ endpoint: `/rest/api/3/issue/{id}/${endpoint}` }, status(code));
      expect(await rig.sync({ streams: ['issues'] })).toMatchObject({ status: 'succeeded' });
      expect(rule.fired).toBe(1);
      expect(await differences(rig, { issuesOnly: true })).toEqual([]);
    },
  );

  test('not even where it is the only list that is asked for: no other one says that the server has such lists', async () => {
    rig = await openRig({ ...smallSite, issues: 40, dialect: 'vendor', embedded });
    const { state, clock, script } = rig.tracker;
    await rig.sync();
    clock.advance(3 * 86_400_000);
    const [id = ''] = rig.tracker.oracle().issues.keys();
    for (let one = 0; one < 3; one += 1) state.addWorklog(id, 1800);
    const rule = script.at({ endpoint: '/rest/api/3/issue/{id}/worklog' }, status(404));
    expect(await rig.sync({ streams: ['issues'] })).toMatchObject({ status: 'succeeded' });
    expect(rule.fired).toBe(1);
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
    expect(await rig.rows("select from ops.streams where stream = 'worklogs'")).toEqual([]);
  });

  test('and where it says so twice it is believed: they were deleted meanwhile', async () => {
    rig = await openRig({ ...smallSite, issues: 40, dialect: 'vendor', embedded });
    const rule = rig.tracker.script.at(
      { endpoint: '/rest/api/3/issue/{id}/worklog', ...always },
      empty('worklogs'),
    );
    expect(await rig.sync({ streams: ['issues'] })).toMatchObject({ status: 'succeeded' });
    expect(rule.fired).toBeGreaterThan(1);
    const lost = (await differences(rig, { issuesOnly: true })).filter(
      (line) => !line.startsWith('worklogs '),
    );
    expect(lost).toEqual([]);
  });
});
