import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LoggedRequest } from '../../simulators/shared/script.ts';
import { openTracker } from '../../src/connectors/jira/source.ts';
import type { RunReport } from '../../src/core/run.ts';
import { bearer } from '../../src/http/auth.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig, testRig } from '../support/rig.ts';
import { dialects } from '../support/small-site.ts';

/** The streams as they are listed, opened on no server. */
const streams = openTracker({
  baseUrl: 'http://127.0.0.1:1',
  auth: bearer({ reveal: () => 'none' }),
  start: new Date('2000-01-01T00:00:00Z'),
  changes: 'auto',
  groups: [],
}).streams.map(({ name, optional, table, children }) => ({
  stream: name,
  // The contract promises boards and who is in a sprint; a site without Jira Software has neither.
  promised: optional !== true || name === 'boards' || name === 'sprint_issues',
  tables: [table.name, ...Object.values(children ?? {}).map((child) => child.table.name)],
}));

/** contracts/tracker.md, section 8; the rest from the vendor's documentation. */
const most: Readonly<Record<string, number>> = {
  '/rest/api/3/search/jql': 100,
  '/rest/api/2/search': 100,
  '/rest/api/2/user/search': 1000,
  '/rest/api/2/group/member': 50,
  '/rest/api/3/user/search': 1000,
  '/rest/api/3/users/search': 1000,
  '/rest/api/3/group/member': 50,
  '/rest/api/3/group/bulk': 100,
  '/rest/api/3/project/search': 100,
  '/rest/api/3/field/search': 100,
  '/rest/agile/1.0/board': 100,
  '/rest/agile/1.0/board/{boardId}/sprint': 100,
  '/rest/agile/1.0/sprint/{sprintId}/issue': 100,
};

const bodyOf = ({ body }: LoggedRequest): Readonly<Record<string, unknown>> => ({ ...Object(body) });
const searches = ['/rest/api/3/search/jql', '/rest/api/2/search'];
/** A search for the issues of one sprint, by ids alone. */
const isOfSprint = (one: LoggedRequest): boolean => String(bodyOf(one).jql).startsWith('sprint = ');
const isSearch = (one: LoggedRequest): boolean => searches.includes(one.endpoint) && !isOfSprint(one);

describe.each(dialects)('a tracker of the dialect $name', (dialect) => {
  const { options, bare } = dialect;
  let rig: Rig;
  let first: RunReport;
  let second: RunReport;
  let requests: readonly LoggedRequest[];
  let found: readonly string[];

  beforeAll(async () => {
    rig = await openRig(options);
    first = await rig.sync();
    requests = [...rig.tracker.log];
    found = await differences(rig, dialect);
    second = await rig.sync();
  });
  afterAll(() => rig.close());

  test('is synced without an error', () => {
    for (const report of [first, second]) expect(report).toMatchObject({ status: 'succeeded' });
    expect(rig.tracker.errors).toEqual([]);
  });

  test.each(streams)(
    'is equal in $stream, as its receipt says; a second run writes nothing',
    async ({ stream, promised, tables }) => {
      const unchanged = second.streams.find((one) => one.stream === stream);
      expect(unchanged).toMatchObject({ counts: { inserted: 0, updated: 0, rejected: 0 }, deleted: 0 });
      for (const table of tables) {
        const touched = await rig.rows(`select 1 from tracker.${table} where _run_id = $1`, [second.runId]);
        expect([table, touched]).toEqual([table, []]);
      }
      const report = first.streams.find((one) => one.stream === stream);
      expect(found.filter((line) => tables.some((table) => line.startsWith(`${table} `)))).toEqual([]);
      if (bare && !promised) {
        const reason = expect.stringMatching(/404|TRACKER_GROUPS/);
        expect(report).toMatchObject({ status: 'unavailable', reason });
        return;
      }
      expect(report?.reason).toBeUndefined();
      expect(report).toMatchObject({ status: 'ok', counts: { rejected: 0, superseded: 0 } });
      expect(report?.receipt.stored).toBe(report?.receipt.read);
      if (report?.receipt.expected !== null) expect(report?.receipt.expected).toBe(report?.receipt.read);
    },
  );

  test('marks what is unavailable with its reason', async () => {
    const query = "select stream, reason from ops.streams where state <> 'available' order by stream";
    const closed = await rig.rows<{ stream: string; reason: string | null }>(query);
    const optional = streams.flatMap(({ promised, stream }) => (promised ? [] : [stream]));
    expect(closed.map(({ stream }) => stream)).toEqual(bare ? optional.sort() : []);
    for (const { reason } of closed) expect(reason).toMatch(/404|TRACKER_GROUPS/);
  });

  test('gets credentials with every request, and a content type with every body', () => {
    const { email, token } = rig.tracker;
    const basic = `Basic ${Buffer.from(`${email}:${token}`).toString('base64')}`;
    for (const { method, headers } of requests) {
      expect(headers.authorization).toBe(basic);
      if (method === 'POST') expect(headers['content-type']).toMatch(/^application\/json/);
    }
  });

  test('gets searches that are bounded, ordered by key, and name their fields', () => {
    const searches = requests.filter(isSearch).map(bodyOf);
    expect(searches.length).toBeGreaterThan(2);
    for (const { jql, fields } of searches) {
      expect(jql).toMatch(/^created >= \S.* ORDER BY key ASC$/);
      expect(fields).toEqual(expect.arrayContaining([expect.any(String)]));
    }
  });

  test('is read in pages as large as each endpoint allows', () => {
    const sizes = new Map<string, Set<number>>();
    for (const request of requests.filter((one) => !isOfSprint(one))) {
      const size = Number(request.query.maxResults ?? bodyOf(request).maxResults ?? 0);
      // A probe requests one record.
      if (size > 1) sizes.set(request.endpoint, (sizes.get(request.endpoint) ?? new Set()).add(size));
    }
    for (const [endpoint, seen] of sizes) {
      // The server may lower the size of the list of fields, and a cursor continues with that.
      const isCursor = endpoint === '/rest/api/3/field/search' && options.dialect === 'contract';
      if (most[endpoint] === undefined) continue;
      expect([endpoint, ...seen]).toEqual([endpoint, most[endpoint], ...(isCursor ? [50] : [])]);
    }
    expect(searches.filter((endpoint) => sizes.has(endpoint))).toHaveLength(1);
    // The cloud's search has them by tokens.
    expect(sizes.has('/rest/agile/1.0/sprint/{sprintId}/issue')).toBe(options.dialect !== 'vendor');
  });

  test('gets no request of a first sync twice, and at most one for a total alone', () => {
    const sent = requests.flatMap(({ method, path, query, body, status, bytes }) =>
      // What is missing or empty is confirmed. An empty envelope has 220 bytes at most.
      status === 404 || bytes < 220 ? [] : [JSON.stringify([method, path, query, body])],
    );
    const twice = sent.filter(
      (one, n) => sent.indexOf(one) < n && !/\/field["/]|\/sprint"|\/picker"/.test(one),
    );
    expect(twice).toEqual([]);
    // The answer that shows what the search understands is found by `updated`. Servers that state totals are asked for that of all issues.
    const counting = requests.filter((one) => isSearch(one) && String(bodyOf(one).fields) === 'id');
    expect(counting.map((one) => String(bodyOf(one).expand ?? ''))).toEqual(
      dialect.name === 'vendor' ? ['changelog'] : ['changelog', ''],
    );
  });

  test('shows its archived projects', async () => {
    rig.tracker.state.updateProject('PAY', { archived: true });
    expect(await rig.sync({ streams: ['projects'] })).toMatchObject({ status: 'succeeded' });
    const lines = await differences(rig, dialect);
    expect(lines.filter((line) => line.startsWith('projects '))).toEqual([]);
    const archived = "select archived from tracker.projects where key = 'PAY'";
    expect(await rig.rows(archived)).toEqual([{ archived: true }]);
  });
});

test('the comparison with the source finds a changed, a missing and a superfluous row', async () => {
  const rig = await testRig({ dialect: 'vendor', issues: 20 });
  await rig.sync();
  await rig.rows(`update tracker.issues set updated_at = updated_at + interval '1 millisecond'
    where id = (select min(id) from tracker.issues)`);
  await rig.rows(
    'delete from tracker.issue_labels where ctid = (select min(ctid) from tracker.issue_labels)',
  );
  await rig.rows('insert into tracker.sprint_issues (source_id, sprint_id, issue_id) values (1, 1, 1)');
  expect((await differences(rig)).toSorted()).toEqual([
    expect.stringMatching(/^issue_labels .+: missing/),
    expect.stringMatching(/^issues \d+: updated_at is .+, should be /),
    'sprint_issues 1/1: should not be there',
  ]);
});
