import { describe, expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import { type Fault, status } from '../../simulators/shared/faults.ts';
import type { LoggedRequest } from '../../simulators/shared/script.ts';
import { differences, issueDifferences } from '../support/oracle.ts';
import { type Rig, readListsOfSprints, testRig } from '../support/rig.ts';

const always = { times: Number.POSITIVE_INFINITY };
const issues = { streams: ['issues'] };
const succeeded = { status: 'succeeded' };
const boards = '/rest/agile/1.0/board';
const boardSprints = '/rest/agile/1.0/board/{id}/sprint';
const sprintIssues = '/rest/agile/1.0/sprint/{id}/issue';
const members = '/rest/api/3/group/member';
const groups = '/rest/api/3/group/bulk';
const statuses = '/rest/api/3/status';
const priorities = '/rest/api/3/priorityscheme';

let rig: Rig;
const open = async (options: TrackerOptions = {}): Promise<Rig['tracker']> => {
  rig = await testRig({ issues: 40, years: 0.1, dialect: 'vendor', ...options });
  return rig.tracker;
};

/** The answer with another body. */
const answering = (name: string, body: (sent: unknown) => unknown): Fault => ({
  name,
  answer: (answer) => ({
    ...answer,
    body: Buffer.from(JSON.stringify(body(JSON.parse(String(answer.body))))),
  }),
});
const emptied = answering('emptied', (body) => {
  const empty = (value: unknown, key: string): unknown =>
    Array.isArray(value) ? [] : key === 'total' ? 0 : key === 'isLast' ? true : value;
  if (Array.isArray(body)) return [];
  return Object.fromEntries(Object.entries(Object(body)).map(([key, value]) => [key, empty(value, key)]));
});

describe('one bad answer in the first sync is requested a second time and costs nothing', () => {
  /** Requests for the sprints of one board of those of the site. */
  const isOfBoard = (at: number) => (request: { readonly path: string }) => {
    const board = rig.tracker.oracle().boards[at];
    return request.path === `/rest/agile/1.0/board/${board?.id}/sprint`;
  };
  const empty = { fault: emptied };
  const with404 = { fault: status(404) };
  const with403 = { fault: status(403) };
  test.each([
    {
      of: '404, and 403 to a list',
      faults: [
        ...[sprintIssues, boardSprints].map((endpoint) => ({ endpoint, nth: 2, ...with404 })),
        ...[members, groups, statuses].map((endpoint) => ({ endpoint, nth: 1, ...with404 })),
        { endpoint: priorities, nth: 1, ...with403 },
      ],
    },
    {
      of: '403, and 400 to a board',
      faults: [
        ...[sprintIssues, members].map((endpoint) => ({ endpoint, nth: 2, ...with403 })),
        { endpoint: boardSprints, nth: 1, match: isOfBoard(0), ...with403 },
        { endpoint: boardSprints, nth: 1, match: isOfBoard(1), fault: status(400) },
      ],
    },
    {
      of: 'an empty list',
      faults: [
        ...[
          '/rest/api/3/project/search',
          '/rest/api/3/users/search',
          priorities,
          statuses,
          groups,
          boards,
        ].map((endpoint) => ({ endpoint, nth: 1, ...empty })),
        ...[members, boardSprints].map((endpoint) => ({ endpoint, nth: 2, ...empty })),
        { endpoint: sprintIssues, nth: 3, ...empty },
      ],
    },
  ])('$of', async ({ faults }) => {
    const { script } = await open();
    readListsOfSprints(rig);
    const rules = faults.map(({ fault, ...when }) => script.at(when, fault));
    const report = await rig.sync();
    expect(rules.map(({ fired }) => fired)).toEqual(faults.map(() => 1));
    expect(report).toMatchObject(succeeded);
    expect(report.streams.filter((one) => one.status !== 'ok')).toEqual([]);
    expect(await differences(rig)).toEqual([]);
  });
});

test.each([
  ['403', 'before it is seen to be', 1, status(403)],
  ['404', 'before it is seen to be', 1, status(404)],
  ['403', 'when that is confirmed', 2, status(403)],
  ['404', 'when that is confirmed', 2, status(404)],
])('an empty list is believed though one answer was %s %s', async (_, __, nth, fault) => {
  const { script, state } = await open({ issues: 5 });
  const { groupId } = state.group('nobody-yet');
  const match = ({ query }: LoggedRequest) => query.groupId === groupId;
  const rule = script.at({ endpoint: members, nth, match }, fault);
  const report = await rig.sync({ streams: ['groups', 'group_members'] });
  expect(rule.fired).toBe(1);
  expect(report).toMatchObject(succeeded);
  expect(rig.events.filter((event) => event.type === 'note' && event.level === 'warn')).toEqual([]);
});

test('a list that stays empty is requested twice in the first run and once in later ones', async () => {
  const { script, log } = await open({ issues: 5 });
  const lists = { streams: ['groups', 'group_members', 'boards'] };
  const requests = (endpoint: string) => log.filter((one) => one.endpoint === endpoint).length;
  for (const endpoint of [members, boards]) script.at({ endpoint, ...always }, emptied);
  await rig.sync(lists);
  const owners = (await rig.rows('select from tracker.groups')).length;
  expect([requests(members), requests(boards)]).toEqual([2 * owners, 2]);
  await rig.sync(lists);
  expect([requests(members), requests(boards)]).toEqual([3 * owners, 3]);
  expect(await rig.rows('select from tracker.group_members')).toEqual([]);
});

describe('a page of the search that says too early that it is the last', () => {
  const search = {
    endpoint: '/rest/api/3/search/jql',
    match: ({ body }: { readonly body: unknown }) =>
      JSON.stringify(body)?.includes('"fields":["project"') ?? false,
  };
  const cutTo = (most: number): Fault =>
    answering('cut', (body) => ({ issues: Object(body).issues.slice(0, most), isLast: true }));
  const zero = answering('zero', () => ({ startAt: 0, maxResults: 100, total: 0, issues: [] }));
  const vendor = { dialect: 'vendor' } as const;
  const contract = { dialect: 'contract', bare: true } as const;

  test.each([
    ['no issue in the first run and a later one, 2 of 8 in another', vendor, [cutTo(0), cutTo(0), cutTo(2)]],
    ['15 of 40 in the first run', vendor, [cutTo(15)]],
    ['total 0 in the first run and a later one', contract, [zero, zero]],
  ] as const)('is requested a second time: %s', async (_, options, faults) => {
    const { script, state, clock } = await open(options);
    for (const fault of faults) {
      const rule = script.at(search, fault);
      expect(await rig.sync(issues)).toMatchObject(succeeded);
      expect(rule.fired).toBe(1);
      expect(await issueDifferences(rig, { bare: options.dialect === 'contract' })).toEqual([]);
      clock.advance(20 * 86_400_000);
      for (const id of [...rig.tracker.oracle().issues.keys()].slice(0, 8)) state.touch(id);
    }
  });

  test('twice is believed, with a warning that states the count', async () => {
    const { script } = await open();
    const rule = script.at({ ...search, ...always }, cutTo(15));
    expect(await rig.sync(issues)).toMatchObject({ ...succeeded, counts: { inserted: 15 } });
    expect(rule.fired).toBe(2);
    expect(JSON.stringify(rig.events)).toMatch(/the source counts 40 records from .* and shows 15, twice/);
  });
});

describe('one bad answer to the rest of a list that came truncated with its issue', () => {
  const embedded = { changelog: 3, comments: 1, worklogs: 1 };
  const list = (endpoint: string) => ({ endpoint: `/rest/api/3/issue/{id}/${endpoint}` });
  const nothing = (name: string): Fault =>
    answering('empty', () => ({ startAt: 0, maxResults: 100, total: 0, isLast: true, [name]: [] }));

  test('costs nothing, be it one of many such lists or the only one of the run', async () => {
    const { state, clock, script } = await open({ embedded });
    script.at({ endpoint: '/rest/api/3/changelog/bulkfetch', ...always }, status(404));
    const truth = [...rig.tracker.oracle().issues.values()];
    const ofIssue = (id: string | undefined) => ({
      match: ({ path }: { readonly path: string }) => path.includes(`/issue/${id}/`),
    });
    const lists = [
      ['changelog', 'values', truth.filter(({ history }) => history.length > embedded.changelog)],
      ['comment', 'comments', truth.filter(({ comments }) => comments.length > embedded.comments)],
      ['worklog', 'worklogs', truth.filter(({ worklogs }) => worklogs.length > embedded.worklogs)],
    ] as const;
    const rules = lists.flatMap(([endpoint, name, truncated]) =>
      [nothing(name), status(404), status(403)].map((fault, n) =>
        script.at({ ...list(endpoint), ...ofIssue(truncated[n]?.id) }, fault),
      ),
    );
    expect(await rig.sync(issues)).toMatchObject(succeeded);
    expect(rules.map(({ fired }) => fired)).toEqual(rules.map(() => 1));
    expect(await issueDifferences(rig)).toEqual([]);
    clock.advance(3 * 86_400_000);
    const [id = ''] = rig.tracker.oracle().issues.keys();
    for (let n = 0; n < 3; n += 1) state.addWorklog(id, 1800);
    const only = script.at(list('worklog'), status(404));
    expect(await rig.sync(issues)).toMatchObject(succeeded);
    expect(only.fired).toBe(1);
    expect(await issueDifferences(rig)).toEqual([]);
  });

  test('is believed when it comes twice: the records were deleted meanwhile', async () => {
    const { script } = await open({ embedded });
    const rule = script.at({ ...list('worklog'), ...always }, nothing('worklogs'));
    expect(await rig.sync(issues)).toMatchObject(succeeded);
    expect(rule.fired).toBeGreaterThan(1);
    expect((await issueDifferences(rig)).filter((line) => !line.startsWith('worklogs '))).toEqual([]);
  });
});
