import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import type { LoggedRequest } from '../../simulators/shared/script.ts';
import { openTracker } from '../../src/connectors/jira/source.ts';
import type { RunReport } from '../../src/core/run.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite, tongues } from '../support/small-site.ts';

/** The registry itself, opened on nothing: what is tested is what is listed. */
const { streams: streamsOfSource } = openTracker({
  baseUrl: 'http://127.0.0.1:1',
  email: 'nobody@example.com',
  apiToken: { reveal: () => 'none' },
  start: new Date('2000-01-01T00:00:00Z'),
  changes: 'auto',
  groups: [],
  concurrency: 1,
  requestsPerSecond: 0,
});

const streams = streamsOfSource.map((flow) => ({
  stream: flow.name,
  promised: flow.optional !== true,
  tables: [flow.table.name, ...Object.values(flow.children ?? {}).map((child) => child.table.name)],
}));

/** contracts/tracker.md, section 8; the rest: vendor-facts. Probes that ask whether an endpoint is there ask for one record. */
const most: Readonly<Record<string, number>> = {
  '/rest/api/3/search/jql': 100,
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

const bodyOf = (request: LoggedRequest): Readonly<Record<string, unknown>> =>
  typeof request.body === 'object' && request.body !== null ? { ...request.body } : {};

describe.each(tongues)('a tracker that speaks $tongue', ({ options, bare }) => {
  let rig: Rig;
  let first: RunReport;
  let second: RunReport;
  let requests: readonly LoggedRequest[];
  let found: readonly string[];

  beforeAll(async () => {
    rig = await openRig(options);
    first = await rig.sync();
    requests = [...rig.tracker.log];
    found = await differences(rig, { bare });
    second = await rig.sync();
  });
  afterAll(() => rig.close());

  test('the run is green, the simulator never had to apologise', () => {
    expect(first).toMatchObject({ status: 'succeeded' });
    expect(second).toMatchObject({ status: 'succeeded' });
    expect(rig.tracker.errors).toEqual([]);
  });

  test.each(streams)(
    '$stream lands what the source holds, and its receipt says so',
    ({ stream, promised, tables }) => {
      const report = first.streams.find((one) => one.stream === stream);
      expect(found.filter((line) => tables.some((table) => line.startsWith(`${table} `)))).toEqual([]);
      if (bare && !promised) {
        expect(report).toMatchObject({
          status: 'unavailable',
          reason: expect.stringMatching(/404|TRACKER_GROUPS/),
        });
        return;
      }
      expect(report?.reason).toBeUndefined();
      expect(report).toMatchObject({ status: 'ok', counts: { rejected: 0, superseded: 0 } });
      expect(report?.receipt.landed).toBe(report?.receipt.fetched);
      if (report?.receipt.expected !== null) expect(report?.receipt.expected).toBe(report?.receipt.fetched);
    },
  );

  test.each(streams)('a second run writes nothing for $stream', async ({ stream, tables }) => {
    const report = second.streams.find((one) => one.stream === stream);
    expect(report).toMatchObject({ counts: { inserted: 0, updated: 0, rejected: 0 }, deleted: 0 });
    for (const table of tables) {
      const touched = await rig.rows<{ n: number }>(
        `select count(*)::int as n from tracker.${table} where _run_id = $1`,
        [second.runId],
      );
      expect({ table, touched: touched[0]?.n }).toEqual({ table, touched: 0 });
    }
  });

  test('what is unavailable is marked with its reason', async () => {
    const marked = await rig.rows<{ stream: string; state: string; reason: string | null }>(
      'select stream, state, reason from ops.streams order by stream',
    );
    const closed = marked.filter((one) => one.state !== 'available');
    // A stream whose owners the server has none of is read in no slice at all: it is there, and empty.
    expect(closed.map((one) => one.stream)).toEqual(
      // And the lists that hang on an issue, which the contract does not promise either.
      bare
        ? [
            ...streams.flatMap((one) => (one.promised ? [] : [one.stream])),
            'changelog',
            'comments',
            'worklogs',
          ].sort()
        : [],
    );
    for (const one of closed) expect(one.reason).toMatch(/404|TRACKER_GROUPS/);
  });

  test('every request carries the credentials, and a body its content type', () => {
    const basic = `Basic ${Buffer.from(`${rig.tracker.email}:${rig.tracker.token}`).toString('base64')}`;
    for (const request of requests) {
      expect(request.headers.authorization).toBe(basic);
      if (request.method === 'POST') expect(request.headers['content-type']).toMatch(/^application\/json/);
    }
  });

  test('every search is bounded and ordered by key, and names its fields', () => {
    const searches = requests.filter((one) => one.endpoint === '/rest/api/3/search/jql');
    expect(searches.length).toBeGreaterThan(2);
    for (const search of searches) {
      expect(bodyOf(search).jql).toMatch(/^created >= \S.* ORDER BY key ASC$/);
      expect(bodyOf(search).fields).toEqual(expect.arrayContaining([expect.any(String)]));
    }
  });

  test('pages are as large as each endpoint allows', () => {
    const asked = new Map<string, Set<number>>();
    for (const request of requests) {
      const size = Number(request.query.maxResults ?? bodyOf(request).maxResults ?? 0);
      // One record is asked for to learn whether and how an endpoint answers, never to read a list.
      if (size > 1) asked.set(request.endpoint, (asked.get(request.endpoint) ?? new Set()).add(size));
    }
    for (const [endpoint, sizes] of asked) {
      // The server may lower the size of the field list, and a walk by cursor follows it.
      const isByCursor = endpoint === '/rest/api/3/field/search' && options.dialect === 'contract';
      const lowered = isByCursor ? [50] : [];
      if (most[endpoint] === undefined) continue;
      expect({ endpoint, sizes: [...sizes] }).toEqual({ endpoint, sizes: [most[endpoint], ...lowered] });
    }
    for (const endpoint of ['/rest/api/3/search/jql', '/rest/agile/1.0/sprint/{sprintId}/issue'])
      expect(asked.has(endpoint)).toBe(true);
  });

  test('no request of a first sync is sent twice but the list of fields, what is not there and what is empty, and no total is asked for on its own', () => {
    const seen = new Map<string, number>();
    /** The bytes of an envelope with nothing in it, at most. */
    const empty = 220;
    for (const { method, path, query, body, status, bytes } of requests) {
      if (status === 404 || bytes < empty) continue;
      const words = JSON.stringify([method, path, query, body]);
      seen.set(words, (seen.get(words) ?? 0) + 1);
    }
    const again = [...seen].filter(([words, times]) => times > 1 && !/\/field["/]|\/sprint"/.test(words));
    expect(again).toEqual([]);
    const totals = requests.filter(
      (one) => one.endpoint === '/rest/api/3/search/jql' && JSON.stringify(bodyOf(one).fields) === '["id"]',
    );
    expect(totals).toEqual([]);
  });

  test('the warehouse of a stranger is told apart from the truth', async () => {
    const [issue] = await rig.rows<{ id: string }>('select id from tracker.issues order by id limit 1');
    const client = await rig.database.warehouse.pool.connect();
    await client.query('begin');
    try {
      await client.query(
        "update tracker.issues set updated_at = updated_at + interval '1 millisecond' where id = $1",
        [issue?.id],
      );
      await client.query(
        'delete from tracker.issue_labels where ctid = (select min(ctid) from tracker.issue_labels)',
      );
      await client.query(
        'insert into tracker.sprint_issues (source_id, sprint_id, issue_id, _synced_at) values (1, 1, 1, now())',
      );
      const inside: Rig = {
        ...rig,
        rows: async <R extends object>(query: string, parameters: readonly unknown[] = []) =>
          (await client.query<R>(query, [...parameters])).rows,
      };
      const seen = await differences(inside, { bare });
      expect(seen).toHaveLength(3);
      expect(seen.join('\n')).toMatch(/sprint_issues 1\/1: should not be there/);
      expect(seen.join('\n')).toMatch(/issues \d+: updated_at is .+, should be /);
      expect(seen.join('\n')).toMatch(/issue_labels .+: missing/);
    } finally {
      await client.query('rollback');
      client.release();
    }
    expect(await differences(rig, { bare })).toEqual([]);
  });
});

test('groups that the server does not list are those of TRACKER_GROUPS, with their members', async () => {
  const rig = await openRig(
    { ...tongues[2].options, issues: 20 },
    { groups: ['jira-users', 'contractors & partners'] },
  );
  try {
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    const truth = rig.tracker
      .oracle()
      .groups.filter((one) => ['jira-users', 'contractors & partners'].includes(one.name));
    const members = await rig.rows<{ group_id: string; user_id: string }>(
      'select group_id, user_id from tracker.group_members order by 1, 2',
    );
    const expected = truth.flatMap((group) =>
      group.members.map((user_id) => ({ group_id: group.name, user_id })),
    );
    expect(members).toHaveLength(expected.length);
    expect(members).toEqual(expect.arrayContaining(expected));
  } finally {
    await rig.close();
  }
});

test.each(tongues)(
  'archived projects land, too, from a tracker that speaks $tongue',
  async ({ options, bare }) => {
    const rig = await openRig({ ...options, issues: 10 });
    try {
      rig.tracker.state.updateProject('PAY', { archived: true });
      expect(await rig.sync({ streams: ['projects'] })).toMatchObject({ status: 'succeeded' });
      expect(await rig.rows("select archived from tracker.projects where key = 'PAY'")).toEqual([
        { archived: true },
      ]);
      expect((await differences(rig, { bare })).filter((line) => line.startsWith('projects '))).toEqual([]);
    } finally {
      await rig.close();
    }
  },
);

test('a gateway that answers for an unknown list of fields as it likes costs no issue and no value of theirs', async () => {
  const rig = await openRig({ ...smallSite, dialect: 'contract' });
  try {
    const rule = rig.tracker.script.at(
      { endpoint: '/rest/api/3/field', times: Number.POSITIVE_INFINITY },
      status(401),
    );
    const report = await rig.sync({ streams: ['fields', 'issues'] });
    expect(rule.fired).toBeGreaterThan(0);
    expect(report.streams.map(({ stream, status }) => [stream, status])).toEqual([
      ['fields', 'partial'],
      ['issues', 'ok'],
    ]);
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  } finally {
    await rig.close();
  }
});
