import { afterEach, describe, expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import { status } from '../../simulators/shared/faults.ts';
import type { TrackerSettings } from '../../src/connectors/jira/source.ts';
import { differences, fingerprint } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite, tongues } from '../support/small-site.ts';

const issues = { streams: ['issues'] };
const hour = 3_600_000;
const day = 24 * hour;

let rig: Rig;
const open = async (options: TrackerOptions = {}, settings: Partial<TrackerSettings> = {}): Promise<Rig> => {
  rig = await openRig({ ...smallSite, ...options }, settings);
  return rig;
};
afterEach(() => rig.close());

const jqls = (from: number): readonly string[] =>
  rig.tracker.log
    .slice(from)
    .flatMap(({ body }) =>
      typeof body === 'object' &&
      body !== null &&
      'jql' in body &&
      'expand' in body &&
      'maxResults' in body &&
      body.maxResults === 100
        ? [String(body.jql)]
        : [],
    );
const watermark = async (): Promise<string | undefined> => {
  const rows = await rig.rows<{ watermark: Date }>(
    "select watermark from ops.checkpoints where stream = 'issues'",
  );
  return rows[0]?.watermark.toISOString();
};
/** One that is not closed: closed ones are read once a week. */
const openSprint = (): number => rig.tracker.oracle().sprints.find((one) => one.state === 'active')?.id ?? 0;
const idsByAge = (): readonly string[] =>
  [...rig.tracker.oracle().issues.values()].sort((a, b) => a.created - b.created).map((issue) => issue.id);

describe.each(tongues)('from a tracker that speaks $tongue', ({ options, bare }) => {
  test('what changed since the last run lands in the next, by id whatever its key', async () => {
    await open(options);
    await rig.sync();
    const { state, clock } = rig.tracker;
    clock.advance(3 * hour);
    const [first = '', second = '', third = '', fourth = ''] = idsByAge();
    state.update(first, {
      summary: 'Renamed',
      statusId: '10004',
      resolutionId: '10300',
      resolved: clock.now().getTime(),
    });
    state.addComment(second, 'A word');
    state.addWorklog(second, 1800);
    const before = state.keyOf(third);
    state.move(third, state.issue(third).projectId === '10001' ? 'PAY' : 'WEB');
    state.link(first, fourth);
    state.update(fourth, { sprintIds: [...state.issue(fourth).sprintIds, openSprint()] });
    state.create('PAY', { summary: 'Brand new', labels: ['fresh'] });
    state.addUser({ displayName: 'New Colleague' });
    state.renameStatus('10001', 'Ready');
    const report = await rig.sync();
    expect(report.status).toBe('succeeded');
    const counts = report.streams.find((one) => one.stream === 'issues')?.counts;
    expect(counts).toMatchObject({ inserted: 1 });
    // Those of the lookback that are in the renamed status call it by its new name.
    expect(counts?.updated).toBeGreaterThanOrEqual(4);
    expect(await differences(rig, { bare })).toEqual([]);
    const keys = await rig.rows<{ key: string }>(
      'select key from tracker.issue_keys where issue_id = $1 order by 1',
      [third],
    );
    expect(keys.map((row) => row.key)).toEqual([before, state.keyOf(third)].sort());
    expect(await rig.rows('select 1 from tracker.issues where id = $1', [third])).toHaveLength(1);
  });
});

test("the watermark is the source's clock at the start of the walk, not ours and not its end", async () => {
  await open({ dialect: 'vendor' });
  const start = rig.tracker.clock.now();
  const [first = ''] = idsByAge();
  const changed = rig.tracker.script.at(
    {
      endpoint: '/rest/api/3/search/jql',
      match: (one) => JSON.stringify(one.body).includes('nextPageToken'),
    },
    ({ state, clock }) => {
      clock.advance(5 * hour);
      state.update(first, { summary: 'Changed behind the walk' });
      clock.advance(5 * hour);
    },
  );
  await rig.sync(issues);
  expect(changed.fired).toBe(1);
  expect(await watermark()).toBe(start.toISOString());
  expect(Math.abs(Date.now() - start.getTime())).toBeGreaterThan(day / 24);
  const from = rig.tracker.log.length;
  await rig.sync(issues);
  // All that is known to have changed before the watermark lies a little before it; from there one day back.
  const bound = Number(/updated >= (\d+)/.exec(jqls(from)[0] ?? '')?.[1]);
  expect(start.getTime() - day - bound).toBeGreaterThanOrEqual(0);
  expect(start.getTime() - day - bound).toBeLessThan(day);
  expect(await watermark()).toBe(new Date(start.getTime() + 10 * hour).toISOString());
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('a source that sends no Date header moves no watermark: it is read again, and the reader is told', async () => {
  await open({ dateHeader: false });
  await rig.sync(issues);
  expect(await watermark()).toBeUndefined();
  rig.tracker.state.update(idsByAge()[0] ?? '', { summary: 'Later' });
  expect((await rig.sync(issues)).status).toBe('succeeded');
  expect(await watermark()).toBeUndefined();
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  expect(rig.events).toContainEqual(
    expect.objectContaining({ type: 'note', level: 'warn', message: expect.stringContaining('Date header') }),
  );
});

describe.each([
  ['the server refuses `updated` in queries', { updatedFilter: false }, {}],
  ['TRACKER_CHANGES is created', {}, { changes: 'created' }],
] as const)('where %s', (_, options, settings) => {
  test('a rolling window by creation is read each time, and everything once a week', async () => {
    await open({ ...options, years: 1 }, settings);
    await rig.sync(issues);
    const { state, clock } = rig.tracker;
    const ids = idsByAge();
    const [old = '', young = ''] = [ids[0], ids.at(-1)];
    expect(clock.now().getTime() - state.issue(old).created).toBeGreaterThan(181 * day);
    clock.advance(day);
    state.update(old, { summary: 'An old one, changed' });
    state.update(young, { summary: 'A young one, changed' });
    const from = rig.tracker.log.length;
    expect((await rig.sync(issues)).status).toBe('succeeded');
    expect(jqls(from)).toHaveLength(1);
    expect(jqls(from)[0]).not.toContain('updated');
    expect((await differences(rig, { issuesOnly: true })).join('\n')).toMatch(
      new RegExp(`^issues ${old}: summary is [^\\n]*\\n`),
    );
    expect((await differences(rig, { issuesOnly: true })).filter((line) => line.includes(young))).toEqual([]);
    // The seventh night begins some minutes earlier than the first one did.
    clock.advance(6 * day - hour / 4);
    await rig.sync(issues);
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  });
});

test('one refusal of `updated` does not hide what is older than the window by creation', async () => {
  await open({ years: 1 });
  await rig.sync(issues);
  const { state, clock, script } = rig.tracker;
  const [old = ''] = idsByAge();
  expect(clock.now().getTime() - state.issue(old).created).toBeGreaterThan(181 * day);
  clock.advance(day);
  state.update(old, { summary: 'An old one, changed' });
  const refusal = script.at(
    { match: ({ body }) => JSON.stringify(body ?? '').includes('updated >=') },
    status(400),
  );
  expect((await rig.sync(issues)).status).toBe('succeeded');
  expect(refusal.fired).toBe(1);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('a search index that lags behind the writes costs no change', async () => {
  await open({ dialect: 'vendor', indexLagMs: 2 * hour });
  await rig.sync(issues);
  const { state, clock } = rig.tracker;
  clock.advance(hour);
  const [first = ''] = idsByAge();
  state.update(first, { summary: 'Not in the index yet' });
  await rig.sync(issues);
  expect((await differences(rig, { issuesOnly: true })).length).toBeGreaterThan(0);
  clock.advance(3 * hour);
  await rig.sync(issues);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('a backfill touches only its window, half-open, and leaves the checkpoint alone', async () => {
  await open({ dialect: 'vendor' });
  const { state, clock } = rig.tracker;
  const at = clock.now().getTime() - 30 * day;
  const ids = idsByAge();
  const [onFrom = '', beforeTo = '', onTo = ''] = ids.slice(0, 3);
  state.update(onFrom, { created: at });
  state.update(beforeTo, { created: at + day - 1 });
  state.update(onTo, { created: at + day });
  await rig.sync(issues);
  const mark = await watermark();
  // Silent changes: no `updated` tells of them, only a second look does.
  for (const id of [onFrom, beforeTo, onTo])
    state.update(id, { summary: `Silently changed ${id}` }, { bump: false });
  clock.advance(hour);
  const before = await fingerprint(rig);
  const window = { from: new Date(at), to: new Date(at + day) };
  const report = await rig.backfill(window);
  expect(report).toMatchObject({ status: 'succeeded', kind: 'backfill' });
  const written = await rig.rows<{ id: string }>(
    'select id from tracker.issues where _run_id = $1 order by id',
    [report.runId],
  );
  expect(written.map((row) => String(row.id))).toEqual(
    [onFrom, beforeTo].sort((a, b) => Number(a) - Number(b)),
  );
  expect(await watermark()).toBe(mark);
  const after = await fingerprint(rig);
  expect(Object.keys(after).filter((table) => after[table] !== before[table])).toEqual(['issues']);
  expect(await differences(rig, { issuesOnly: true })).toEqual([
    expect.stringContaining(`issues ${onTo}: summary is`),
  ]);
  // Again, by the same words: nothing to do.
  const again = await rig.backfill(window);
  expect(again.counts).toMatchObject({ inserted: 0, updated: 0 });
});

test('a backfill before the first sync loads its window and no more, and the first sync loads the rest', async () => {
  await open();
  const from = new Date(rig.tracker.clock.now().getTime() - 40 * day);
  const to = new Date(from.getTime() + 20 * day);
  await rig.backfill({ from, to });
  const truth = [...rig.tracker.oracle().issues.values()].filter(
    (one) => one.created >= from.getTime() && one.created < to.getTime(),
  );
  expect(truth.length).toBeGreaterThan(5);
  const [{ n } = { n: 0 }] = await rig.rows<{ n: number }>('select count(*)::int as n from tracker.issues');
  expect(n).toBe(truth.length);
  expect(await watermark()).toBeUndefined();
  await rig.sync(issues);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('an older version never overwrites a newer one, unless --full says that what is read wins', async () => {
  await open({ dialect: 'vendor' });
  await rig.sync(issues);
  const [first = ''] = idsByAge().slice(-1);
  await rig.rows(
    "update tracker.issues set summary = 'From the future', updated_at = '2999-01-01', _row_hash = 1 where id = $1",
    [first],
  );
  const normal = await rig.sync(issues);
  expect(normal.streams.find((one) => one.stream === 'issues')?.counts.superseded).toBe(1);
  expect((await differences(rig, { issuesOnly: true })).length).toBe(2);
  const full = await rig.sync({ ...issues, full: true });
  expect(full.streams.find((one) => one.stream === 'issues')?.counts).toMatchObject({
    received: 150,
    updated: 1,
    superseded: 0,
  });
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('a record dated in the future does not move the watermark past what is to come', async () => {
  await open({ dialect: 'vendor' });
  const [first = '', second = ''] = idsByAge();
  rig.tracker.state.update(first, { updated: Date.UTC(2999, 0, 1) });
  await rig.sync(issues);
  rig.tracker.clock.advance(2 * day);
  rig.tracker.state.update(second, { summary: 'After the one from the future' });
  await rig.sync(issues);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('changes that nights without `updated` could not show are read when it can be asked for again', async () => {
  await open({ dialect: 'contract', years: 1 });
  await rig.sync(issues);
  const { state, clock } = rig.tracker;
  const [old = ''] = idsByAge();
  expect(clock.now().getTime() - state.issue(old).created).toBeGreaterThan(181 * day);
  clock.advance(day);
  state.update(old, { summary: 'An old one, changed' });
  for (let night = 0; night < 3; night += 1) {
    clock.advance(day);
    state.touch(idsByAge().at(-1) ?? '');
    expect(await rig.sync(issues, { settings: { changes: 'created' } })).toMatchObject({
      status: 'succeeded',
    });
  }
  expect(await differences(rig, { issuesOnly: true })).not.toEqual([]);
  const from = rig.tracker.log.length;
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(jqls(from)).toEqual([expect.stringContaining('updated >=')]);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});
