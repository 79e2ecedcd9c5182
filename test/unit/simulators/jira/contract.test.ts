import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { startTracker } from '../../../../simulators/jira/server.ts';
import { ask, basic } from '../ask.ts';

const now = new Date('2026-01-15T12:00:00Z');
const tracker = await startTracker({ issues: 100, bare: true, now, users: 1100 });
const { get, search } = ask(tracker);
afterAll(() => tracker.close());
const truth = tracker.oracle();
const jql = 'created >= "2000-01-01" ORDER BY key ASC';

describe('offset paging', () => {
  const bySprint = [...Map.groupBy(truth.sprintIssues, (one) => one.sprintId)];
  const [sprint, ofSprint = []] = bySprint.find(([, issues]) => issues.length > 1) ?? [];
  const limits = [
    ['/rest/api/3/user/search', 1000, 'values', truth.users.length],
    ['/rest/api/3/group/member?groupname=jira-users', 50, 'values', truth.groups[0]?.members.length ?? 0],
    ['/rest/api/3/project/search', 100, 'values', truth.projects.length],
    ['/rest/agile/1.0/board', 100, 'values', truth.boards.length],
    [`/rest/agile/1.0/sprint/${sprint}/issue`, 100, 'issues', ofSprint.length],
  ] as const;

  test.each(limits)(
    '%s lowers maxResults to %i without an error, and starts at startAt',
    async (path, max, name, count) => {
      const page = async (query: string) => {
        const { status, body } = await get(`${path}${path.includes('?') ? '&' : '?'}${query}`);
        expect(status).toBe(200);
        expect(body.total).toBe(count);
        return body;
      };
      const whole = await page('maxResults=100000');
      expect(whole).toMatchObject({ maxResults: max, startAt: 0 });
      expect(whole[name]).toHaveLength(Math.min(max, count));
      expect(Object.keys(whole).sort()).toEqual(['maxResults', 'startAt', 'total', name].sort());
      const first = await page('maxResults=2');
      const second = await page('maxResults=2&startAt=1');
      expect(first[name]).toHaveLength(2);
      expect(second[name][0]).toEqual(first[name][1]);
      expect((await page(`startAt=${count}`))[name]).toEqual([]);
    },
  );

  test('the page size is 50 unless the request says otherwise', async () => {
    expect((await get('/rest/api/3/user/search')).body.maxResults).toBe(50);
    expect((await search({ jql })).body.maxResults).toBe(50);
  });

  test('a startAt or maxResults that is no number is refused', async () => {
    for (const query of ['startAt=-1', 'maxResults=abc', 'startAt=1.5'])
      expect((await get(`/rest/api/3/project/search?${query}`)).status).toBe(400);
    for (const body of [{ startAt: '0' }, { maxResults: -5 }])
      expect((await search({ jql, ...body })).status).toBe(400);
  });
});

test('fields come by cursor until isLast', async () => {
  const seen: unknown[] = [];
  let url = '/rest/api/3/field/search?maxResults=7';
  for (let page = 0; ; page++) {
    expect(page).toBeLessThan(20);
    const { body } = await get(url);
    seen.push(...body.values.map((one) => one.id));
    const members = body.isLast ? ['isLast', 'values'] : ['isLast', 'nextPage', 'values'];
    expect(Object.keys(body).sort()).toEqual(members);
    if (body.isLast) break;
    expect(body.values).toHaveLength(7);
    url = String(body.nextPage);
    expect(new URL(url).origin).toBe(tracker.url);
    expect(new URL(url).searchParams.get('cursor')).not.toBeNull();
  }
  expect(seen).toEqual(truth.fields.map((one) => one.id));
});

test('an unknown group or sprint answers 404, a missing name 400', async () => {
  expect((await get('/rest/api/3/group/member?groupname=no-such')).status).toBe(404);
  expect((await get('/rest/api/3/group/member')).status).toBe(400);
  expect((await get('/rest/agile/1.0/sprint/99999/issue')).status).toBe(404);
});

test('wrong or missing credentials are answered 401', async () => {
  const wrong = [
    { authorization: '' },
    { authorization: basic({ email: tracker.email, token: 'other' }) },
    { authorization: 'Bearer other' },
  ];
  for (const headers of wrong) {
    const reply = await get('/rest/api/3/project/search', headers);
    expect(reply.status).toBe(401);
    expect(reply.headers.get('www-authenticate')).toContain('Basic');
    expect(reply.body).not.toHaveProperty('values');
  }
});

test('a server with the contract’s seven endpoints answers 404 to all others', async () => {
  const core = 'myself serverInfo users/search field group/bulk status issuetype priority search';
  const others = [
    ...`${core} issue/10001 issue/10001/changelog`.split(' ').map((path) => `/rest/api/3/${path}`),
    ...['board/1/sprint', 'sprint/1'].map((path) => `/rest/agile/1.0/${path}`),
  ];
  for (const path of others) expect([path, (await get(path)).status]).toEqual([path, 404]);
});

test('answers are dated by the tracker\u2019s clock, unless it has none', async () => {
  expect((await get('/rest/api/3/project/search')).headers.get('date')).toBe(now.toUTCString());
  const silent = await startTracker({ issues: 1, dateHeader: false, now });
  onTestFinished(() => silent.close());
  expect((await ask(silent).get('/rest/api/3/project/search')).headers.get('date')).toBeNull();
});
