/** Lists that move, end early, repeat and misstate their totals while they are read (F2 of the guarantees). */

import { once } from 'node:events';
import net from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import type { TrackerState } from '../../simulators/jira/state.ts';
import * as faults from '../../simulators/shared/faults.ts';
import type { Mutation, Rule, When } from '../../simulators/shared/script.ts';
import { differences } from '../support/oracle.ts';
import { type Rig, testRig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

const search = '/rest/api/3/search/jql';
const issues = { streams: ['issues'] };
const ofIssues = { issuesOnly: true, deletedMayLive: true };

let rig: Rig;
const open = async (options: TrackerOptions = {}): Promise<void> => {
  rig = await testRig({ dialect: 'contract', ...options });
};

const isWalk = (body: unknown): boolean => /"maxResults":100\b.*"summary"/.test(JSON.stringify(body));
const walk: When = { endpoint: search, match: ({ body }) => isWalk(body) };
const followingPage: When = {
  endpoint: search,
  match: ({ body }) => isWalk(body) && /"startAt":[1-9]|nextPageToken/.test(JSON.stringify(body)),
};
const inKeyOrder = (): readonly string[] =>
  [...rig.tracker.oracle().issues.values()]
    .filter((one) => !one.deleted)
    .sort((a, b) =>
      a.projectKey < b.projectKey ? -1 : a.projectKey > b.projectKey ? 1 : a.number - b.number,
    )
    .map((one) => one.id);

/** Runs until the source is quiet: at most two runs after the fault. */
const converge = async (): Promise<void> => {
  rig.tracker.script.clear();
  rig.tracker.clock.advance(60_000);
  for (let run = 0; run < 2; run += 1) {
    const report = await rig.sync(issues);
    if (report.status === 'succeeded' && (await differences(rig, ofIssues)).length === 0) return;
  }
  expect(await differences(rig, ofIssues)).toEqual([]);
};

/** What happens to the list between its first page and the second. */
const moves: readonly (readonly [what: string, mutation: Mutation<TrackerState>])[] = [
  [
    'P1: items before the place are deleted',
    ({ state }) => {
      for (const id of inKeyOrder().slice(5, 25)) state.delete(id);
    },
  ],
  [
    'P2: items appear before the place',
    ({ state }) => {
      for (let i = 0; i < 30; i += 1) state.create('MOB');
    },
  ],
  [
    'P3: items move across the place, both ways',
    ({ state }) => {
      const order = inKeyOrder();
      state.move(order.at(-1) ?? '', 'MOB');
      state.move(order[3] ?? '', 'WEB');
      state.update(order[1] ?? '', { summary: 'Changed after it was read' });
    },
  ],
];

describe.each(['contract', 'vendor'] as const)('in the dialect %s', (dialect) => {
  test('a list that moves while it is read loses nothing and deletes nothing', async () => {
    await open({ dialect });
    for (const [what, mutation] of moves) {
      rig.tracker.clock.advance(1_000);
      const rule = rig.tracker.script.at(followingPage, mutation);
      const report = await rig.sync({ ...issues, full: true });
      expect(rule.fired, what).toBe(1);
      expect(report.streams[0]?.status, what).toMatch(/^(ok|partial)$/);
      expect(await rig.rows('select 1 from tracker.issues where _deleted_at is not null'), what).toEqual([]);
      // Issues that were not changed themselves are stored by this run.
      const now = rig.tracker.clock.now().getTime();
      const touched = [...rig.tracker.oracle().issues.values()].filter(({ updated }) => updated === now);
      const lines = await differences(rig, { ...ofIssues, except: touched.map(({ id }) => id) });
      expect(
        lines.filter((line) => line.startsWith('issues ')),
        what,
      ).toEqual([]);
    }
    expect(rig.tracker.errors).toEqual([]);
    await converge();
  });

  test('P5, P6, P8, P9: an empty page, a short one, a lowered maxResults and a shrunk total lose nothing', async () => {
    await open({ dialect });
    const rules = [
      ...(dialect === 'vendor'
        ? emptyPageWithToken()
        : [
            rig.tracker.script.at(walk, faults.emptyPage),
            rig.tracker.script.at(
              { ...walk, nth: 5 },
              faults.total((n) => n - 60),
            ),
          ]),
      rig.tracker.script.at({ ...walk, nth: 2 }, faults.shortPage(37)),
      rig.tracker.script.at({ ...walk, nth: 3 }, faults.loweredMaxResults(50)),
      rig.tracker.script.at({ ...walk, nth: 4, times: Infinity }, faults.loweredMaxResults(20)),
    ];
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { received: 150 } });
    expect(rules.slice(0, -1).map(({ fired }) => fired)).toEqual(rules.slice(0, -1).map(() => 1));
    expect(rules.at(-1)?.fired).toBeGreaterThanOrEqual(3);
    expect(await differences(rig, ofIssues)).toEqual([]);
  });

  test('P15: more records with the same `updated` than a page holds are all read', async () => {
    await open({ dialect });
    await rig.sync(issues);
    const { state, clock } = rig.tracker;
    clock.advance(3_600_000);
    const ids = [...rig.tracker.oracle().issues.keys()].slice(0, 130);
    for (const id of ids) state.update(id, { summary: `All at once ${id}` });
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { updated: 130 } });
    expect(await differences(rig, ofIssues)).toEqual([]);
  });
});

/** The first page is empty and has a token, which leads to the first page. */
const emptyPageWithToken = (): readonly Rule[] => {
  const nothing: faults.Fault = {
    name: 'nothing yet',
    answer: (answer) => ({
      ...answer,
      body: Buffer.from('{"nextPageToken":"after-nothing","isLast":false,"issues":[]}'),
    }),
  };
  const onward: faults.Fault = {
    name: 'after nothing',
    call: (call) => {
      const { nextPageToken: _, ...body }: Record<string, unknown> = JSON.parse(call.body.toString());
      return { ...call, body: Buffer.from(JSON.stringify(body)) };
    },
  };
  const after: When = {
    endpoint: search,
    match: ({ body }) => JSON.stringify(body).includes('after-nothing'),
  };
  return [rig.tracker.script.at(walk, nothing), rig.tracker.script.at(after, onward)];
};

test.each([
  ['issues', 'vendor', followingPage],
  [
    'fields',
    'contract',
    { endpoint: '/rest/api/3/field/search', match: ({ query }) => query.maxResults !== '1' },
  ],
] as const satisfies readonly (readonly [string, string, When])[])(
  'P11: a loop of pages of %s is found in bounded time, and what was read stays',
  async (stream, dialect, page) => {
    await open({ dialect });
    for (const fault of [faults.repeatedToken(), faults.firstPageAgain]) {
      const rule = rig.tracker.script.at({ ...page, times: Infinity }, fault);
      const report = await rig.sync({ streams: [stream] });
      expect(rule.fired, fault.name).toBeGreaterThan(0);
      expect(rule.fired, fault.name).toBeLessThan(30);
      expect(report, fault.name).toMatchObject({ status: 'failed' });
      expect(
        await rig.rows(`select distinct error_code from ops.slices where status = 'failed'`),
        fault.name,
      ).toEqual([{ error_code: 'paging_loop' }]);
      expect(await rig.rows('select 1 from ops.checkpoints'), fault.name).toEqual([]);
      rule.cancel();
    }
    const kept = await rig.rows('select 1 from tracker.issues');
    expect(kept.length).toBeGreaterThanOrEqual(stream === 'issues' ? 100 : 0);
    expect(await rig.sync({ streams: ['issues', 'fields'] })).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig, ofIssues)).toEqual([]);
  },
);

test('P12: a next page that is not of our origin is refused before any socket opens', async () => {
  await open({ issues: 10 });
  let connections = 0;
  const listener = net.createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  onTestFinished(() => void listener.close());
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const address = listener.address();
  const host = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const page: When = {
    endpoint: '/rest/api/3/field/search',
    times: Infinity,
    match: ({ query }) => query.maxResults === '100',
  };
  const path = '/rest/api/3/field/search?cursor=x';
  for (const url of [`//${host}${path}`, `http://${new URL(rig.tracker.url).host}@${host}${path}`]) {
    const rule = rig.tracker.script.at(page, faults.foreignNextPage(url));
    expect(await rig.sync({ streams: ['fields'] }), url).toMatchObject({ status: 'failed' });
    expect(rule.fired, url).toBeGreaterThan(0);
    expect(await rig.rows(`select distinct error_code from ops.slices where status = 'failed'`), url).toEqual(
      [{ error_code: 'foreign_origin' }],
    );
    rule.cancel();
  }
  expect(rig.tracker.log.filter((one) => one.query.cursor === 'x')).toEqual([]);
  expect(connections).toBe(0);
  expect(await rig.sync({ streams: ['fields'] })).toMatchObject({ status: 'succeeded' });
});

test('P18: records whose `updated` is odd do not spoil the watermark', async () => {
  await open({ dialect: 'vendor' });
  const [another = '', ...ids] = [...rig.tracker.oracle().issues.keys()].slice(0, 6);
  const far = '"2999-01-01T00:00:00.000+0000"';
  const odd = ['null', '"yesterday"', '[]', '"1970-01-01T00:00:00.000+0000"', far];
  const setEach = (texts: readonly (string | undefined)[]): void => {
    for (const [at, text] of texts.entries()) rig.tracker.state.setRaw(ids[at] ?? '', 'updated', text);
  };
  setEach(odd);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { rejected: 3 } });
  const [row] = await rig.rows<{ watermark: Date }>(
    `select watermark from ops.checkpoints where stream = 'issues'`,
  );
  expect(row?.watermark.toISOString()).toBe(smallSite.now.toISOString());
  rig.tracker.clock.advance(3_600_000);
  rig.tracker.state.update(another, { summary: 'After the odd ones' });
  await rig.sync(issues);
  expect(await differences(rig, { ...ofIssues, except: ids })).toEqual([]);
  rig.tracker.clock.advance(3_600_000);
  setEach(odd.map(() => undefined));
  await rig.sync(issues);
  expect(await differences(rig, { ...ofIssues, except: ids.slice(-1) })).toEqual([]);
  // 2999 is newer than anything until the end of time: only a full sync takes it back.
  await rig.sync({ ...issues, full: true });
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('P21: of two versions of one issue on two pages the newer wins, though it came first', async () => {
  await open();
  const [first = ''] = inKeyOrder();
  const stale: faults.Fault = {
    name: 'an older version again',
    answer: (answer) => {
      const body: { issues: { id: string; fields: Record<string, unknown> }[] } = JSON.parse(
        answer.body.toString(),
      );
      const [model] = body.issues;
      if (model === undefined) return answer;
      const old = {
        ...model,
        id: first,
        key: 'MOB-1',
        fields: { ...model.fields, summary: 'The older version', updated: '2020-01-01T00:00:00.000+0000' },
      };
      return { ...answer, body: Buffer.from(JSON.stringify({ ...body, issues: [...body.issues, old] })) };
    },
  };
  const rule = rig.tracker.script.at(followingPage, stale);
  await rig.sync(issues);
  expect(rule.fired).toBe(1);
  expect(await rig.rows('select summary from tracker.issues where id = $1', [first])).toEqual([
    { summary: rig.tracker.state.issue(first).summary },
  ]);
  await converge();
});

test('P25: issues that move between sprints during the read are in the right ones after the next run', async () => {
  await open();
  const sprintPath = '/rest/agile/1.0/sprint/{id}/issue';
  const { state } = rig.tracker;
  const one = state.addSprint(1);
  const two = state.addSprint(1);
  const ids = inKeyOrder().slice(0, 6);
  for (const [place, id] of ids.entries())
    state.update(id, { sprintIds: [place % 2 === 0 ? one.id : two.id] });
  await rig.sync();
  const swap = rig.tracker.script.at(
    { endpoint: sprintPath, match: ({ path }) => path.includes(`/${two.id}/`) },
    () => {
      for (const [place, id] of ids.entries())
        state.update(id, { sprintIds: [place % 2 === 0 ? two.id : one.id] });
      const added = state.addSprint(1, { name: 'Brand new', state: 'future' });
      state.update(ids[0] ?? '', { sprintIds: [added.id] });
    },
  );
  await rig.sync();
  expect(swap.fired).toBe(1);
  rig.tracker.clock.advance(60_000);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
});
