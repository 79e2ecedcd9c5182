import { afterAll, expect, test } from 'vitest';
import { startTracker } from '../../../../simulators/jira/server.ts';
import { shortPage } from '../../../../simulators/shared/faults.ts';
import { ask } from '../ask.ts';
import { documentOf, subsetAt } from '../vendor-document.ts';

const subset = subsetAt(new URL('openapi.subset.json', import.meta.url));

// The document says "string"; recorded payloads have null where there was nothing before or is nothing after.
const details = subset.components.schemas.ChangeDetails?.properties ?? {};
for (const name of ['from', 'fromString', 'to', 'toString']) details[name] = { type: ['string', 'null'] };

const { faultsOf } = documentOf(subset);
const tracker = await startTracker({ dialect: 'vendor', issues: 400, now: new Date('2026-01-15T12:00:00Z') });
const { get, search, post } = ask(tracker);
afterAll(() => tracker.close());

const truth = tracker.oracle();
const busy = [...truth.issues.values()].find(
  (one) => one.worklogs.length > 0 && one.comments.length > 0 && one.history.length > 5,
);
const group = truth.groups.find((one) => one.members.length > 50);

test.each([
  'field',
  'field/search',
  'user/search?query=a',
  'users/search',
  'group/bulk',
  'myself',
  'serverInfo',
  'status',
  'issuetype',
  'priorityscheme?expand=priorities',
  `group/member?groupId=${group?.groupId}`,
  'project/search?expand=description,lead,url,issueTypes',
  'search/jql?jql=project=PAY&fields=*all&expand=changelog,names,schema',
  `user?accountId=${encodeURIComponent(truth.users[3]?.accountId ?? '')}`,
  ...['/changelog', '/comment', '/worklog', '?expand=changelog'].map((more) => `issue/{issueIdOrKey}${more}`),
  'project/{projectIdOrKey}',
  '/rest/agile/1.0/board',
  '/rest/agile/1.0/board/{boardId}',
])('%s answers as the vendor documents it', async (place) => {
  const path = place.startsWith('/') ? place : `/rest/api/3/${place}`;
  const ids: Readonly<Record<string, string>> = { issue: busy?.id ?? '', project: 'PAY', board: '1' };
  const reply = await get(path.replace(/\{([a-z]+)\w+\}/, (_, name: string) => ids[name] ?? ''));
  expect(reply.status).toBe(200);
  expect(faultsOf(path.replace(/\?.*/, ''), 'get', 200, reply.body)).toEqual([]);
  const list = Array.isArray(reply.body) ? reply.body : (reply.body.values ?? reply.body.issues);
  if (list !== undefined) expect(list.length).toBeGreaterThan(0);
});

test('the search and the count answer as the vendor documents them', async () => {
  const jql = 'created >= "2000-01-01" ORDER BY key ASC';
  const found = await search({ jql, fields: ['*all'], expand: 'changelog,names,schema', maxResults: 100 });
  expect(found.status).toBe(200);
  expect(found.body.issues).toHaveLength(100);
  expect(faultsOf('/rest/api/3/search/jql', 'post', 200, found.body)).toEqual([]);
  const count = await post('/rest/api/3/search/approximate-count', { jql: 'project = PAY' });
  expect(faultsOf('/rest/api/3/search/approximate-count', 'post', 200, count.body)).toEqual([]);
});

type Log = { issueId: string; changeHistories: readonly { id: string; created: string }[] };

test('histories of many issues are given as the vendor documents them, oldest first, page by page', async () => {
  const issues = [...truth.issues.values()]
    .filter(({ visible, deleted }) => visible && !deleted)
    .slice(0, 50);
  const issueIdsOrKeys = [...issues.map(({ id }) => id), '999999'];
  const path = '/rest/api/3/changelog/bulkfetch';
  const seen: string[] = [];
  const times: number[] = [];
  for (let nextPageToken: string | undefined; ; ) {
    const { body, status } = await post(path, { issueIdsOrKeys, maxResults: 60, nextPageToken });
    expect(status).toBe(200);
    expect(faultsOf(path, 'post', 200, body)).toEqual([]);
    const logs = body.issueChangeLogs as readonly Log[];
    const changes = logs.flatMap((one) =>
      one.changeHistories.map(({ id, created }) => ({ id: `${one.issueId} ${id}`, at: Date.parse(created) })),
    );
    times.push(Math.min(...changes.map(({ at }) => at)));
    seen.push(...changes.map(({ id }) => id));
    nextPageToken = body.nextPageToken;
    if (nextPageToken === undefined) break;
  }
  expect(times.length).toBeGreaterThan(2);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(seen.toSorted()).toEqual(
    issues.flatMap(({ id, history }) => history.map((change) => `${id} ${change.id}`)).toSorted(),
  );
  for (const refused of [
    { issueIdsOrKeys: [] },
    { issueIdsOrKeys, startAt: 0 },
    { issueIdsOrKeys, maxResults: 0 },
  ])
    expect((await post(path, refused)).status).toBe(400);
});

test('the feeds of worklogs answer as the vendor documents them, and their list gives what they name', async () => {
  const { state, clock } = tracker;
  const [issue] = [...tracker.oracle().issues.values()].filter((one) => !one.deleted && one.visible);
  const id = issue?.id ?? '';
  const staff = { type: 'role', value: 'Staff', identifier: '10002', isOurs: true } as const;
  const added = [60, 120, 180, 240].map((seconds) => state.addWorklog(id, seconds));
  const [edited = '', removed = '', limited = '', hidden = ''] = added.map((one) => one.id);
  state.editWorklog(id, edited, 90);
  state.deleteWorklog(id, removed);
  state.showWorklogTo(id, limited, staff);
  state.showWorklogTo(id, hidden, { ...staff, isOurs: false });
  const since = clock.now().getTime() - 1;
  const named = async (feed: string) => {
    const path = `/rest/api/3/worklog/${feed}`;
    const { body } = await get(`${path}?since=${since}`);
    expect(faultsOf(path, 'get', 200, body)).toEqual([]);
    expect(body.lastPage).toBe(true);
    return body.values.map(({ worklogId }) => String(worklogId));
  };
  // What happened in the minute before is not shown.
  expect([await named('updated'), await named('deleted')]).toEqual([[], []]);
  clock.advance(60_001);
  expect([await named('updated'), await named('deleted')]).toEqual([[edited, limited], [removed]]);
  const list = (ids: readonly string[]) => post('/rest/api/3/worklog/list', { ids: ids.map(Number) });
  const { body } = await list([edited, removed, limited, hidden]);
  expect(faultsOf('/rest/api/3/worklog/list', 'post', 200, body)).toEqual([]);
  expect(body).toMatchObject([
    { id: edited, issueId: id, timeSpentSeconds: 90 },
    { id: limited, visibility: { type: 'role', value: 'Staff', identifier: '10002' } },
  ]);
  for (const ids of [[], Array.from({ length: 1001 }, (_, at) => String(at))])
    expect((await list(ids)).status).toBe(400);
});

test('pages of the feed of worklogs join, oldest first', async () => {
  const cut = tracker.script.at({ endpoint: '/rest/api/3/worklog/updated', times: 500 }, shortPage(40));
  const seen: number[] = [];
  for (let path = '/rest/api/3/worklog/updated?since=0'; ; ) {
    const { body } = await get(path);
    seen.push(...body.values.map(({ worklogId }) => Number(worklogId)));
    if (body.lastPage) break;
    path = String(body.nextPage).slice(tracker.url.length);
  }
  expect(cut.fired).toBeGreaterThan(3);
  const visible = [...tracker.oracle().issues.values()].filter((one) => !one.deleted && one.visible);
  const worklogs = visible.flatMap((one) => one.worklogs).toSorted((a, b) => a.updated - b.updated);
  expect(seen.toSorted()).toEqual(worklogs.map(({ id }) => Number(id)).toSorted());
  expect(seen.at(-1)).toBe(Number(worklogs.at(-1)?.id));
});

test('sprints have no members but those of the vendor\u2019s example', async () => {
  const examples = subset.examples['/rest/agile/1.0/sprint/{sprintId}'] ?? {};
  const known = new Set(Object.keys(examples));
  const page = await get('/rest/agile/1.0/board/1/sprint?startAt=50');
  expect(page.body.values.length).toBeGreaterThan(5);
  for (const sprint of page.body.values)
    expect(Object.keys(sprint).filter((name) => !known.has(name))).toEqual([]);
  expect(Object.keys(page.body).sort()).toEqual(
    Object.keys(subset.examples['/rest/agile/1.0/board/{boardId}/sprint'] ?? {}).sort(),
  );
  const future = page.body.values.findLast((one) => one.state === 'future');
  expect(future).toBeDefined();
  expect(future).not.toHaveProperty('startDate');
});

test('a schema fault would be noticed', () => {
  const wrong = { count: 'many', more: 1 };
  expect(faultsOf('/rest/api/3/search/approximate-count', 'post', 200, wrong)).toHaveLength(2);
});
