import { afterAll, describe, expect, test } from 'vitest';
import { startTracker } from '../../../../simulators/jira/server.ts';
import { ask, basic } from '../ask.ts';

const now = new Date('2026-01-15T12:00:00Z');
const tracker = await startTracker({ issues: 450, bare: true, now, users: 1100 });
const { get, search } = ask(tracker);
afterAll(() => tracker.close());
const truth = tracker.oracle();
const jql = 'created >= "2000-01-01" ORDER BY key ASC';

describe('offset paging', () => {
  const sprint = [...Map.groupBy(truth.sprintIssues, (one) => one.sprintId)].find(
    ([, issues]) => issues.length > 1,
  )?.[0];
  const limits = [
    ['/rest/api/3/user/search', 1000, 'values', truth.users.length],
    ['/rest/api/3/group/member?groupname=jira-users', 50, 'values', truth.groups[0]?.members.length ?? 0],
    ['/rest/api/3/project/search', 100, 'values', truth.projects.length],
    ['/rest/agile/1.0/board', 100, 'values', truth.boards.length],
    [
      `/rest/agile/1.0/sprint/${sprint}/issue`,
      100,
      'issues',
      truth.sprintIssues.filter((one) => one.sprintId === sprint).length,
    ],
  ] as const;

  test.each(limits)('%s lowers maxResults to %i without an error', async (path, max, name, count) => {
    const glue = path.includes('?') ? '&' : '?';
    const { status, body } = await get(`${path}${glue}maxResults=100000`);
    expect(status).toBe(200);
    expect(body.maxResults).toBe(max);
    expect(body.startAt).toBe(0);
    expect(body.total).toBe(count);
    expect(body[name]).toHaveLength(Math.min(max, count));
    expect(Object.keys(body).sort()).toEqual(['maxResults', 'startAt', 'total', name].sort());
  });

  test.each(limits)('%s starts at startAt', async (path, _max, name, count) => {
    const glue = path.includes('?') ? '&' : '?';
    const first = await get(`${path}${glue}maxResults=2`);
    const second = await get(`${path}${glue}maxResults=2&startAt=1`);
    expect(first.body[name]).toHaveLength(2);
    expect(JSON.stringify(second.body[name])).toContain(
      JSON.stringify(first.body[name === 'issues' ? 'issues' : 'values'][1]),
    );
    const beyond = await get(`${path}${glue}startAt=${count}`);
    expect(beyond.body[name]).toEqual([]);
    expect(beyond.body.total).toBe(count);
  });

  test('the page size is 50 unless another is asked for', async () => {
    expect((await get('/rest/api/3/user/search')).body.maxResults).toBe(50);
    expect((await search({ jql })).body.maxResults).toBe(50);
  });

  test('a place that is no number is refused', async () => {
    for (const query of ['startAt=-1', 'maxResults=abc', 'startAt=1.5'])
      expect((await get(`/rest/api/3/project/search?${query}`)).status).toBe(400);
    expect((await search({ jql, startAt: '0' })).status).toBe(400);
    expect((await search({ jql, maxResults: -5 })).status).toBe(400);
  });
});

test('fields come by cursor until isLast', async () => {
  const seen: unknown[] = [];
  let url = '/rest/api/3/field/search?maxResults=7';
  for (let page = 0; ; page++) {
    expect(page).toBeLessThan(20);
    const { body } = await get(url);
    seen.push(...body.values.map((one) => one.id));
    expect(Object.keys(body).sort()).toEqual(
      body.isLast ? ['isLast', 'values'] : ['isLast', 'nextPage', 'values'],
    );
    if (body.isLast) break;
    expect(body.values).toHaveLength(7);
    url = String(body.nextPage);
    expect(new URL(url).origin).toBe(tracker.url);
    expect(new URL(url).searchParams.get('cursor')).not.toBeNull();
  }
  expect(seen).toEqual(truth.fields.map((one) => one.id));
});

test('a group or sprint that is not there is 404, a missing name 400', async () => {
  expect((await get('/rest/api/3/group/member?groupname=no-such')).status).toBe(404);
  expect((await get('/rest/api/3/group/member')).status).toBe(400);
  expect((await get('/rest/agile/1.0/sprint/99999/issue')).status).toBe(404);
});

test('wrong or missing credentials are answered 401', async () => {
  const wrong = [
    { authorization: '' },
    { authorization: basic({ email: tracker.email, token: 'other' }) },
    { authorization: `Bearer ${tracker.token}` },
  ];
  for (const headers of wrong) {
    const reply = await get('/rest/api/3/project/search', headers);
    expect(reply.status).toBe(401);
    expect(reply.headers.get('www-authenticate')).toContain('Basic');
    expect(reply.body).not.toHaveProperty('values');
  }
});

test.each([
  '/rest/api/3/myself',
  '/rest/api/3/serverInfo',
  '/rest/api/3/users/search',
  '/rest/api/3/field',
  '/rest/api/3/group/bulk',
  '/rest/api/3/status',
  '/rest/api/3/issuetype',
  '/rest/api/3/priority',
  '/rest/api/3/issue/10001',
  '/rest/api/3/issue/10001/changelog',
  '/rest/agile/1.0/board/1/sprint',
  '/rest/agile/1.0/sprint/1',
  '/rest/api/3/search',
])('%s is not there on a server with the contract\u2019s seven endpoints', async (path) => {
  expect((await get(path)).status).toBe(404);
});

test('answers are dated by the tracker\u2019s clock, unless it has none', async () => {
  expect((await get('/rest/api/3/project/search')).headers.get('date')).toBe(now.toUTCString());
  const silent = await startTracker({ issues: 1, dateHeader: false, now });
  try {
    expect((await ask(silent).get('/rest/api/3/project/search')).headers.get('date')).toBeNull();
  } finally {
    await silent.close();
  }
});
