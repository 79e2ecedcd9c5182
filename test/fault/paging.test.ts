/** Lists that move, end early, repeat and misstate their totals while they are read (F2 of the guarantees). */

import { once } from 'node:events';
import net from 'node:net';
import { describe, expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import type { TrackerState } from '../../simulators/jira/state.ts';
import * as faults from '../../simulators/shared/faults.ts';
import type { Mutation, When } from '../../simulators/shared/script.ts';
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
const isWalkFrom = (startAt: number): When => ({
  endpoint: search,
  match: ({ body }) => isWalk(body) && JSON.stringify(body).includes(`"startAt":${startAt}`),
});
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

const moving: readonly (readonly [string, string, Mutation<TrackerState>])[] = [
  ['P1', 'an item before the walk is deleted', ({ state }) => state.delete(inKeyOrder()[10] ?? '')],
  [
    'P1',
    'twenty items before the walk are deleted',
    ({ state }) => {
      for (const id of inKeyOrder().slice(5, 25)) state.delete(id);
    },
  ],
  ['P2', 'an item appears before the walk', ({ state }) => void state.create('MOB')],
  [
    'P2',
    'thirty items appear before the walk',
    ({ state }) => {
      for (let i = 0; i < 30; i += 1) state.create('MOB');
    },
  ],
  [
    'P3',
    'an item moves from the unread to the read part',
    ({ state }) => void state.move(inKeyOrder().at(-1) ?? '', 'MOB'),
  ],
  [
    'P3',
    'an item moves from the read to the unread part',
    ({ state }) => void state.move(inKeyOrder()[0] ?? '', 'WEB'),
  ],
  [
    'P3',
    'items move both ways at once',
    ({ state }) => {
      const order = inKeyOrder();
      state.move(order.at(-1) ?? '', 'MOB');
      state.move(order[3] ?? '', 'WEB');
      state.update(order[1] ?? '', { summary: 'Changed after it was read' });
    },
  ],
];

describe.each(['contract', 'vendor'] as const)('a list that moves while it is read (%s)', (dialect) => {
  test.each(moving)('%s: %s', async (_, __, mutation) => {
    await open({ dialect });
    const rule = rig.tracker.script.at(followingPage, mutation);
    const report = await rig.sync(issues);
    expect(rule.fired).toBe(1);
    expect(rig.tracker.errors).toEqual([]);
    expect(report.streams[0]?.status).toMatch(/^(ok|partial)$/);
    expect(await rig.rows('select 1 from tracker.issues where _deleted_at is not null')).toEqual([]);
    // Issues that were not changed themselves are there after this run.
    const touched = [...rig.tracker.oracle().issues.values()].filter(
      (one) => one.updated === rig.tracker.clock.now().getTime(),
    );
    const missing = (await differences(rig, { ...ofIssues, except: touched.map((one) => one.id) })).filter(
      (line) => line.startsWith('issues '),
    );
    expect(missing).toEqual([]);
    await converge();
  });
});

test('P3: issues that move at each boundary of the pages are there in the end', async () => {
  await open({ issues: 320, history: 1 });
  let fired = 0;
  for (const startAt of [99, 198, 297]) {
    const rule = rig.tracker.script.at(isWalkFrom(startAt), ({ state, clock }) => {
      clock.advance(1_000);
      const order = inKeyOrder();
      state.move(order.at(-1) ?? '', 'MOB');
      state.move(order[startAt] ?? '', 'MOB');
      state.move(order[startAt - 1] ?? '', 'WEB');
      state.delete(order[0] ?? '');
    });
    await rig.sync({ ...issues, full: true });
    fired += rule.fired;
    rule.cancel();
  }
  expect(fired).toBe(3);
  await converge();
});

const totals: readonly (readonly [string, faults.Fault])[] = [
  ['grows', faults.total((n) => n + 30)],
  ['shrinks', faults.total((n) => n - 60)],
  ['is 0', faults.total(0)],
  ['is -1', faults.total(-1)],
  ['is missing', faults.total(undefined)],
];
test.each(totals)(
  'P5: a total that %s in the middle ends no list early and causes no loop',
  async (_, fault) => {
    await open();
    const rule = rig.tracker.script.at({ ...followingPage }, fault);
    const from = rig.tracker.log.length;
    await rig.sync(issues);
    expect(rule.fired).toBe(1);
    expect(rig.tracker.log.length - from).toBeLessThan(40);
    await converge();
    expect(await rig.rows('select count(*)::int as n from tracker.issues')).toEqual([{ n: 150 }]);
  },
);

test.each(['contract', 'vendor'] as const)(
  'P6, P9: lowered maxResults and a short page lose nothing (%s)',
  async (dialect) => {
    await open({ dialect });
    const walk: When = { endpoint: search, match: ({ body }) => isWalk(body) };
    const rules = [
      rig.tracker.script.at(walk, faults.shortPage(37)),
      rig.tracker.script.at({ ...walk, nth: 2 }, faults.loweredMaxResults(50)),
      rig.tracker.script.at({ ...walk, nth: 3, times: Infinity }, faults.loweredMaxResults(20)),
    ];
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { received: 150 } });
    expect(rules.map(({ fired }) => fired)).toEqual([1, 1, expect.any(Number)]);
    expect(rules[2]?.fired).toBeGreaterThanOrEqual(3);
    expect(await differences(rig, ofIssues)).toEqual([]);
  },
);

test('P8: an empty page with a token goes on with the token', async () => {
  await open({ dialect: 'vendor' });
  const { script } = rig.tracker;
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
  const empty = script.at({ endpoint: search, match: ({ body }) => isWalk(body) }, nothing);
  const goes = script.at(
    { endpoint: search, match: ({ body }) => JSON.stringify(body).includes('after-nothing') },
    onward,
  );
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { received: 150 } });
  expect([empty.fired, goes.fired]).toEqual([1, 1]);
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('P8: an empty page where the total says there is more is not the end', async () => {
  await open();
  const rule = rig.tracker.script.at(
    { endpoint: search, match: ({ body }) => isWalk(body) },
    faults.emptyPage,
  );
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { received: 150 } });
  expect(rule.fired).toBe(1);
  expect(await differences(rig, ofIssues)).toEqual([]);
});

describe('P11: a loop of pages is found in bounded time, and what was read stays', () => {
  test.each([
    ['the same token again', 'vendor', search, faults.repeatedToken()],
    ['always another token, always the first page', 'vendor', search, faults.firstPageAgain],
  ] as const)('%s', async (_, dialect, endpoint, fault) => {
    await open({ dialect });
    const rule = rig.tracker.script.at(
      { endpoint, times: Infinity, match: followingPage.match ?? (() => true) },
      fault,
    );
    const report = await rig.sync(issues);
    expect(rule.fired).toBeGreaterThan(0);
    expect(rule.fired).toBeLessThan(20);
    expect(report).toMatchObject({ status: 'failed' });
    expect(await rig.rows('select distinct error_code from ops.slices where error_code is not null')).toEqual(
      [{ error_code: 'paging_loop' }],
    );
    expect(await rig.rows('select count(*)::int >= 100 as kept from tracker.issues')).toEqual([
      { kept: true },
    ]);
    expect(await rig.rows('select 1 from ops.checkpoints')).toEqual([]);
    await converge();
  });

  test.each([
    ['nextPage leads to its own page', faults.repeatedToken()],
    ['nextPage always leads to the first page', faults.firstPageAgain],
  ] as const)('%s', async (_, fault) => {
    await open({ issues: 10 });
    const rule = rig.tracker.script.at(
      {
        endpoint: '/rest/api/3/field/search',
        times: Infinity,
        match: ({ query }) => query.maxResults !== '1',
      },
      fault,
    );
    const report = await rig.sync({ streams: ['fields'] });
    expect(rule.fired).toBeGreaterThan(0);
    expect(rule.fired).toBeLessThan(30);
    expect(report).toMatchObject({ status: 'failed' });
    expect(report.error?.message).toMatch(/circle|again|same|no new/i);
    rig.tracker.script.clear();
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig)).toEqual([]);
  });
});

test('P12: a next page that is not of our origin is refused before any socket opens', async () => {
  await open({ issues: 10 });
  let connections = 0;
  const listener = net.createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const host = `127.0.0.1:${address.port}`;
  const own = new URL(rig.tracker.url);
  const path = '/rest/api/3/field/search?cursor=x';
  const urls = [
    `http://${host}${path}`,
    `//${host}${path}`,
    `/\\${host}${path}`,
    `\\\\${host}${path}`,
    `http://${own.host}@${host}${path}`,
    `https://${own.host}${path}`,
    `http://localhost.:${own.port}${path}`,
    `http://localhost:${own.port}${path}`,
    `\thttp://${host}${path}`,
    `http:\\\\${host}${path}`,
    'file:///etc/passwd',
    `ftp://${own.host}${path}`,
  ];
  for (const url of urls) {
    const rule = rig.tracker.script.at(
      {
        endpoint: '/rest/api/3/field/search',
        times: Infinity,
        match: ({ query }) => query.maxResults === '100',
      },
      faults.foreignNextPage(url),
    );
    const from = rig.tracker.log.length;
    const report = await rig.sync({ streams: ['fields'] });
    expect({ url, fired: rule.fired > 0, status: report.status }).toEqual({
      url,
      fired: true,
      status: 'failed',
    });
    expect(rig.tracker.log.slice(from).filter((one) => one.query.cursor === 'x')).toEqual([]);
    rule.cancel();
  }
  listener.close();
  expect(connections).toBe(0);
  expect(await rig.rows(`select distinct error_code from ops.slices where error_code is not null`)).toEqual([
    { error_code: 'foreign_origin' },
  ]);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
});

test.each(['contract', 'vendor'] as const)(
  'P15: more records with the same `updated` than a page holds are all read (%s)',
  async (dialect) => {
    await open({ dialect });
    await rig.sync(issues);
    const { state, clock } = rig.tracker;
    clock.advance(3_600_000);
    const ids = [...rig.tracker.oracle().issues.keys()].slice(0, 130);
    for (const id of ids) state.update(id, { summary: `All at once ${id}` });
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { updated: 130 } });
    expect(await differences(rig, ofIssues)).toEqual([]);
  },
);

test.each([
  ['2999', '"2999-01-01T00:00:00.000+0000"', true],
  ['1970', '"1970-01-01T00:00:00.000+0000"', true],
  ['null', 'null', false],
  ['a word', '"yesterday"', false],
  ['a list', '[]', false],
])('P18: a record whose `updated` is %s does not spoil the watermark', async (_, json, loads) => {
  await open({ dialect: 'vendor' });
  const [id = '', another = ''] = [...rig.tracker.oracle().issues.keys()];
  rig.tracker.state.setRaw(id, 'updated', json);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { rejected: loads ? 0 : 1 } });
  const [row] = await rig.rows<{ watermark: Date }>(
    `select watermark from ops.checkpoints where stream = 'issues'`,
  );
  expect(row?.watermark.toISOString()).toBe(smallSite.now.toISOString());
  rig.tracker.clock.advance(3_600_000);
  rig.tracker.state.update(another, { summary: 'After the odd one' });
  await rig.sync(issues);
  expect(await differences(rig, { ...ofIssues, except: [id] })).toEqual([]);
  rig.tracker.clock.advance(3_600_000);
  rig.tracker.state.setRaw(id, 'updated', undefined);
  // 2999 is newer than anything until the end of time: only a forced walk takes it back.
  await rig.sync({ ...issues, full: json.includes('2999') });
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
  const [one, two] = [state.addSprint(1), state.addSprint(1)];
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
