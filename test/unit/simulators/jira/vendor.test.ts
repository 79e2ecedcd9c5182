import { afterAll, describe, expect, test } from 'vitest';
import { startTracker } from '../../../../simulators/jira/server.ts';
import { ask } from '../ask.ts';

const now = new Date('2026-01-15T12:00:00Z');
const tracker = await startTracker({
  dialect: 'vendor',
  issues: 450,
  now,
  tokenLifetimeMs: 60_000,
  expiredToken: 410,
});
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

  test('without fields an issue has its id and nothing else', async () => {
    expect((await search({ jql, maxResults: 1 })).body.issues).toEqual([{ id: expect.any(String) }]);
  });

  test('the last page has no token and isLast', async () => {
    const { body } = await search({ jql: 'project = PAY', fields: ['id'], maxResults: 5000 });
    expect(body.isLast).toBe(true);
    expect(body).not.toHaveProperty('nextPageToken');
    expect(body.issues).toHaveLength(
      [...truth.issues.values()].filter((one) => one.projectKey === 'PAY').length,
    );
  });

  test('5000 a page for ids and keys, 100 as soon as there is more to write', async () => {
    expect((await search({ jql, fields: ['id', 'key'], maxResults: 5000 })).body.issues).toHaveLength(450);
    expect((await search({ jql, fields: ['summary'], maxResults: 5000 })).body.issues).toHaveLength(100);
    expect(
      (await search({ jql, fields: ['id'], expand: 'changelog', maxResults: 5000 })).body.issues,
    ).toHaveLength(100);
  });

  test.each([
    { startAt: 0 },
    { total: 1 },
    { jql: 5 },
    { fields: 'summary' },
    { properties: ['a', 'b', 'c', 'd', 'e', 'f'] },
  ])('a body with %j is an invalid request payload', async (wrong) => {
    const { status, body } = await search({ jql, ...wrong });
    expect(status).toBe(400);
    expect(body).toEqual({
      errorMessages: ['Invalid request payload. Refer to the REST API documentation and try again.'],
    });
  });

  test.each([0, -1, 5001, null])('maxResults %j is out of range', async (maxResults) => {
    const { status, body } = await search({ jql, maxResults });
    expect(status).toBe(400);
    expect(body.errorMessages?.[0]).toContain('between 1 and 5,000');
  });

  test('maxResults is coerced from text and cut to a whole number, but not from words', async () => {
    expect((await search({ jql, maxResults: '5' })).body.issues).toHaveLength(5);
    expect((await search({ jql, maxResults: 1.5 })).body.issues).toHaveLength(1);
    expect((await search({ jql, maxResults: 'abc' })).status).toBe(400);
    expect((await search({ jql, maxResults: true })).status).toBe(400);
  });

  test.each(['', 'ORDER BY key ASC', 'order by created'])(
    'the unbounded query %j is refused',
    async (query) => {
      const { status, body } = await search({ jql: query });
      expect(status).toBe(400);
      expect(body.errorMessages?.[0]).toContain('Unbounded JQL queries are not allowed here');
    },
  );

  test('a token is checked before the page size, the page size before the query', async () => {
    expect(
      (await search({ jql: '', nextPageToken: 'nonsense', maxResults: 0 })).body.errorMessages?.[0],
    ).toContain('token');
    expect((await search({ jql: '', maxResults: 0 })).body.errorMessages?.[0]).toContain('5,000');
  });

  test('a token belongs to its query and dies with age; an empty one is the first page', async () => {
    const first = await search({ jql, fields: ['id'], maxResults: 10 });
    const nextPageToken = first.body.nextPageToken;
    expect((await search({ jql, nextPageToken, maxResults: 10 })).status).toBe(200);
    expect((await search({ jql: 'project = PAY', nextPageToken })).status).toBe(400);
    expect((await search({ jql, nextPageToken: '', maxResults: 10 })).body.issues).toEqual(first.body.issues);
    expect((await search({ jql, nextPageToken: null, maxResults: 10 })).body.issues).toEqual(
      first.body.issues,
    );
    tracker.clock.advance(61_000);
    expect((await search({ jql, nextPageToken })).status).toBe(410);
    tracker.clock.set(now);
  });

  test('a token leads on from its key, whatever came or went before it', async () => {
    const before = await walk(jql, { fields: ['key'] });
    const first = await search({ jql, fields: ['key'], maxResults: 10 });
    const gone = first.body.issues[3]?.id ?? '';
    const last = first.body.issues[9]?.id ?? '';
    tracker.state.delete(gone);
    tracker.state.delete(last);
    const second = await search({
      jql,
      fields: ['key'],
      maxResults: 10,
      nextPageToken: first.body.nextPageToken,
    });
    tracker.state.restore(gone);
    tracker.state.restore(last);
    expect(second.body.issues).toEqual(before.slice(10, 20));
  });

  test('the query string of a POST is not read, and startAt in that of a GET is ignored', async () => {
    const { body } = await post('/rest/api/3/search/jql?maxResults=3&jql=project=PAY&nextPageToken=x', {
      jql,
      maxResults: 7,
    });
    expect(body.issues).toHaveLength(7);
    const got = await get(
      `/rest/api/3/search/jql?startAt=5&maxResults=3&fields=summary,labels&jql=${encodeURIComponent(jql)}`,
    );
    expect(got.body.issues).toHaveLength(3);
    expect(Object.keys(got.body.issues[0]?.fields ?? {})).toEqual(['summary', 'labels']);
  });

  test('a body without its content type is 415, broken or empty JSON is 400', async () => {
    const plain = await post('/rest/api/3/search/jql', { jql }, { 'content-type': 'text/plain' });
    expect(plain.status).toBe(415);
    expect(plain.headers.get('content-type')).toContain('application/problem+json');
    expect((await search('{"jql')).body.errorMessages).toEqual([
      'There was an error parsing JSON. Check that your request body is valid.',
    ]);
    expect((await search('')).body.errorMessages?.[0]).toContain('No content to map');
  });

  test('the old search is gone', async () => {
    for (const reply of [
      await get('/rest/api/3/search?jql=project=PAY'),
      await post('/rest/api/3/search', { jql }),
    ]) {
      expect(reply.status).toBe(410);
      expect(reply.body.errorMessages?.[0]).toContain('CHANGE-2046');
    }
  });

  test('the count is that of the search', async () => {
    expect(
      (await post('/rest/api/3/search/approximate-count', { jql: 'created >= "1970/01/01"' })).body.count,
    ).toBe(450);
    expect((await post('/rest/api/3/search/approximate-count', { jql: '' })).status).toBe(400);
  });

  test('an issue that is not there is an error in a query for it', async () => {
    expect((await search({ jql: 'key = PAY-99999' })).status).toBe(400);
    expect((await search({ jql: 'id in (99999999)' })).status).toBe(400);
    expect((await search({ jql: 'id in (10001, 10002)' })).body.issues).toHaveLength(2);
  });
});

describe('lists', () => {
  test('people come as a bare array, and only to somebody who asks for some', async () => {
    expect((await get('/rest/api/3/user/search')).status).toBe(400);
    const all: unknown[] = [];
    for (let at = 0; ; at += 50) {
      const page: unknown = (await get(`/rest/api/3/users/search?startAt=${at}`)).body;
      if (!Array.isArray(page)) throw new Error('not an array');
      if (page.length === 0) break;
      all.push(...page);
    }
    expect(all).toHaveLength(truth.users.length);
  });

  test('fields come by offset, with a nextPage that has no cursor', async () => {
    const { body } = await get('/rest/api/3/field/search?maxResults=10');
    const shared = truth.fields.filter(({ scope }) => scope === undefined);
    expect(body).toMatchObject({ startAt: 0, maxResults: 10, total: shared.length, isLast: false });
    expect(body.nextPage).toContain('startAt=10');
    const next = await get(String(body.nextPage));
    expect(next.body.values[0]?.id).toBe(shared[10]?.id);
  });

  test('fields of single projects are in the plain list only, with their scope', async () => {
    const own = truth.fields.filter(({ scope }) => scope !== undefined);
    expect(own.length).toBeGreaterThan(0);
    const plain: unknown = (await get('/rest/api/3/field')).body;
    if (!Array.isArray(plain)) throw new Error('not an array');
    expect(plain.map(({ id }) => id)).toEqual(truth.fields.map(({ id }) => id));
    for (const { id, scope } of own)
      expect(plain.find((one) => one.id === id)).toMatchObject({
        scope: { type: 'PROJECT', project: { id: scope } },
      });
    const search = (await get('/rest/api/3/field/search?maxResults=50&startAt=50')).body;
    expect(search.values.map(({ id }) => id)).not.toEqual(expect.arrayContaining(own.map(({ id }) => id)));
  });

  test('inactive members of a group come only when asked for', async () => {
    const group = truth.groups.find((one) => one.name === 'jira-users');
    const inactive = truth.users.filter((one) => !one.active && group?.members.includes(one.accountId));
    expect(inactive.length).toBeGreaterThan(0);
    const path = `/rest/api/3/group/member?groupId=${group?.groupId}`;
    expect((await get(path)).body.total).toBe((group?.members.length ?? 0) - inactive.length);
    expect((await get(`${path}&includeInactiveUsers=true`)).body.total).toBe(group?.members.length);
  });

  test('a kanban board has no sprints to list', async () => {
    const kanban = truth.boards.find((one) => one.type === 'kanban');
    expect((await get(`/rest/agile/1.0/board/${kanban?.id}/sprint`)).status).toBe(400);
    const active = await get('/rest/agile/1.0/board/1/sprint?state=active,future');
    expect(new Set(active.body.values.map((one) => one.state))).toEqual(new Set(['active', 'future']));
  });

  test('the issues of a sprint come in the agile tongue: text for documents, and its own fields', async () => {
    const sprintId = truth.sprintIssues[0]?.sprintId;
    const { body } = await get(`/rest/agile/1.0/sprint/${sprintId}/issue`);
    expect(body.total).toBe(truth.sprintIssues.filter((one) => one.sprintId === sprintId).length);
    expect(body).not.toHaveProperty('isLast');
    const [issue] = body.issues;
    expect(['string', 'object']).toContain(typeof issue?.fields.description);
    expect(issue?.fields.description ?? '').not.toHaveProperty('type');
    expect(issue?.fields).toHaveProperty('closedSprints');
    const sorted = await get(
      `/rest/agile/1.0/sprint/${sprintId}/issue?jql=${encodeURIComponent('ORDER BY key DESC')}&fields=summary`,
    );
    expect(sorted.body.total).toBe(body.total);
  });
});

describe('lists inside issues', () => {
  const long = (name: 'history' | 'comments' | 'worklogs', over: number) => {
    const found = [...truth.issues.values()].find((one) => one[name].length > over);
    if (found === undefined) throw new Error(`the seed has no issue with more than ${over} ${name}`);
    return found;
  };

  test('the changelog comes newest first, cut at forty, with its total; the whole list oldest first', async () => {
    const issue = long('history', 40);
    const { body } = await search({ jql: `id = ${issue.id}`, expand: 'changelog', fields: ['summary'] });
    const log = body.issues[0]?.changelog;
    expect(log?.total).toBe(issue.history.length);
    expect(log?.histories.map((one) => one.id)).toEqual(
      issue.history
        .slice(-40)
        .reverse()
        .map((one) => one.id),
    );
    const all = await get(`/rest/api/3/issue/${issue.key}/changelog`);
    expect(all.body.values.map((one) => one.id)).toEqual(issue.history.map((one) => one.id));
  });

  test.each([
    ['comment', 'comments'],
    ['worklog', 'worklogs'],
  ] as const)('%ss come cut at twenty with their total; their own endpoint has all', async (field, list) => {
    const issue = long(list, 20);
    const { body } = await search({ jql: `id = ${issue.id}`, fields: [field] });
    expect(body.issues[0]?.fields[field]).toMatchObject({
      startAt: 0,
      maxResults: 20,
      total: issue[list].length,
    });
    const shown = body.issues[0]?.fields[field];
    const inside =
      typeof shown === 'object' && shown !== null && list in shown
        ? Object.entries(shown).find(([name]) => name === list)?.[1]
        : [];
    expect(inside).toHaveLength(20);
    const all = await get(`/rest/api/3/issue/${issue.id}/${field}`);
    expect(all.body.total).toBe(issue[list].length);
    expect(all.body[list]).toHaveLength(issue[list].length);
  });

  test('a wrong order of comments is refused before the issue is looked for', async () => {
    expect((await get('/rest/api/3/issue/NO-1/comment?orderBy=size')).status).toBe(400);
    expect((await get('/rest/api/3/issue/NO-1/comment')).status).toBe(404);
  });
});

describe('credentials', () => {
  const wrong = { authorization: `Basic ${Buffer.from('sync@example.com:expired').toString('base64')}` };

  test.each(['/rest/api/3/project/search', '/rest/agile/1.0/board', '/rest/api/3/field/search'])(
    '%s looks like an empty site to wrong ones',
    async (path) => {
      const reply = await get(path, wrong);
      expect(reply.status).toBe(200);
      expect(reply.body.values).toEqual([]);
      expect(reply.headers.get('x-seraph-loginreason')).toBe('AUTHENTICATED_FAILED');
    },
  );

  test('the search finds nothing, an issue is not there, and only /myself says why', async () => {
    const found = await post('/rest/api/3/search/jql', { jql }, wrong);
    expect(found.body).toEqual({ isLast: true, issues: [] });
    expect((await get('/rest/api/3/issue/10001', wrong)).status).toBe(404);
    const myself = await get('/rest/api/3/myself', wrong);
    expect(myself.status).toBe(401);
    expect(myself.headers.get('content-type')).toContain('text/html');
  });

  test('a bearer token that means nothing here is 403', async () => {
    expect((await get('/rest/api/3/myself', { authorization: 'Bearer x' })).status).toBe(403);
  });

  test('right ones get the account with its zone', async () => {
    expect((await get('/rest/api/3/myself')).body).toMatchObject({
      emailAddress: 'sync@example.com',
      timeZone: 'Europe/Berlin',
      active: true,
    });
  });
});

test('unknown paths and methods are problems', async () => {
  const missing = await get('/rest/api/3/nothing');
  expect(missing.status).toBe(404);
  expect(missing.headers.get('content-type')).toContain('application/problem+json');
  const odd = await get('/rest/api/3/project/search?maxResults=abc');
  expect(odd.status).toBe(400);
  expect(odd.body.detail).toBe("Failed to convert 'maxResults' with value: 'abc'");
  expect(tracker.errors).toEqual([]);
});
