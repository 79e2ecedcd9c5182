import { afterAll, describe, expect, test } from 'vitest';
import { startTracker } from '../../../../simulators/jira/server.ts';
import { ask } from '../ask.ts';

const now = new Date('2026-01-15T12:00:00Z');
const tokens = { tokenLifetimeMs: 60_000, expiredToken: 410 } as const;
const tracker = await startTracker({ dialect: 'vendor', issues: 450, now, ...tokens });
const { get, post, search, walk } = ask(tracker);
afterAll(() => tracker.close());
const truth = tracker.oracle();
const jql = 'created >= "1970/01/01" ORDER BY key ASC';

describe('search by page token', () => {
  test('a walk shows every issue once, in the order of keys, and no total', async () => {
    const found = await walk(jql, { fields: ['summary'], size: 80 });
    expect(found).toHaveLength(450);
    expect(new Set(found.map((one) => one.id)).size).toBe(450);
    const { body } = await search({ jql });
    expect(Object.keys(body).sort()).toEqual(['isLast', 'issues', 'nextPageToken']);
    expect(body.isLast).toBe(false);
  });

  test('the last page has no token and isLast', async () => {
    const { body } = await search({ jql: 'project = PAY', fields: ['id'], maxResults: 5000 });
    expect(body.isLast).toBe(true);
    expect(body).not.toHaveProperty('nextPageToken');
    const pay = [...truth.issues.values()].filter((one) => one.projectKey === 'PAY');
    expect(body.issues).toHaveLength(pay.length);
  });

  test('5000 a page for ids and keys, 100 as soon as there is more to write', async () => {
    const cases = [
      [450, { fields: ['id', 'key'] }],
      [100, { fields: ['summary'] }],
      [100, { fields: ['id'], expand: 'changelog' }],
    ] as const;
    for (const [count, more] of cases)
      expect((await search({ jql, maxResults: 5000, ...more })).body.issues).toHaveLength(count);
  });

  test('an invalid body, a maxResults out of range and an unbounded query are refused', async () => {
    const payload = 'Invalid request payload. Refer to the REST API documentation and try again.';
    const six = { properties: ['a', 'b', 'c', 'd', 'e', 'f'] };
    const sizes = [0, -1, 5001, null].map((maxResults) => ({ maxResults }));
    const unbounded = ['', 'ORDER BY key ASC', 'order by created'].map((query) => ({ jql: query }));
    const refused = {
      [payload]: [{ startAt: 0 }, { total: 1 }, { jql: 5 }, { fields: 'summary' }, six],
      'between 1 and 5,000': sizes,
      'Unbounded JQL queries are not allowed here': unbounded,
    };
    for (const [message, bodies] of Object.entries(refused))
      for (const body of bodies) {
        const errorMessages = [expect.stringContaining(message)];
        expect(await search({ jql, ...body })).toMatchObject({ status: 400, body: { errorMessages } });
      }
  });

  test('a token belongs to its query and dies with age; an empty one is the first page', async () => {
    const first = await search({ jql, fields: ['id'], maxResults: 10 });
    const nextPageToken = first.body.nextPageToken;
    expect((await search({ jql, nextPageToken, maxResults: 10 })).status).toBe(200);
    expect((await search({ jql: 'project = PAY', nextPageToken })).status).toBe(400);
    for (const none of ['', null])
      expect((await search({ jql, nextPageToken: none, maxResults: 10 })).body.issues).toEqual(
        first.body.issues,
      );
    tracker.clock.advance(61_000);
    expect((await search({ jql, nextPageToken })).status).toBe(410);
    tracker.clock.set(now);
  });

  test('a token continues after its key, whatever came or went before it', async () => {
    const before = await walk(jql, { fields: ['key'] });
    const page = { jql, fields: ['key'], maxResults: 10 };
    const { issues, nextPageToken } = (await search(page)).body;
    const gone = [issues[3]?.id ?? '', issues[9]?.id ?? ''];
    for (const id of gone) tracker.state.delete(id);
    const second = await search({ ...page, nextPageToken });
    for (const id of gone) tracker.state.restore(id);
    expect(second.body.issues).toEqual(before.slice(10, 20));
  });

  test('an unknown issue is an error in a query for it', async () => {
    expect((await search({ jql: 'key = PAY-99999' })).status).toBe(400);
    expect((await search({ jql: 'id in (99999999)' })).status).toBe(400);
    expect((await search({ jql: 'id in (10001, 10002)' })).body.issues).toHaveLength(2);
  });
});

describe('credentials', () => {
  const wrong = { authorization: `Basic ${Buffer.from('sync@example.com:expired').toString('base64')}` };

  test('to wrong ones every list looks like that of an empty site', async () => {
    for (const path of ['api/3/project/search', 'agile/1.0/board', 'api/3/field/search']) {
      const reply = await get(`/rest/${path}`, wrong);
      expect(reply.status).toBe(200);
      expect(reply.body.values).toEqual([]);
      expect(reply.headers.get('x-seraph-loginreason')).toBe('AUTHENTICATED_FAILED');
    }
  });

  test('to wrong ones the search is empty, an issue is missing, and only /myself says why', async () => {
    const found = await post('/rest/api/3/search/jql', { jql }, wrong);
    expect(found.body).toEqual({ isLast: true, issues: [] });
    expect((await get('/rest/api/3/issue/10001', wrong)).status).toBe(404);
    const myself = await get('/rest/api/3/myself', wrong);
    expect(myself.status).toBe(401);
    expect(myself.headers.get('content-type')).toContain('text/html');
  });
});
