import { describe, expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import { status } from '../../simulators/shared/faults.ts';
import type { TrackerSettings } from '../../src/connectors/jira/source.ts';
import { differences, fingerprint, issueDifferences } from '../support/oracle.ts';
import { type Rig, testRig } from '../support/rig.ts';
import { dialects } from '../support/small-site.ts';

const issues = { streams: ['issues'] };
const hour = 3_600_000;
const day = 24 * hour;
const succeeded = { status: 'succeeded' };

let rig: Rig;
/** A rig whose issues were synced once. */
const synced = async (options: TrackerOptions = {}, settings: Partial<TrackerSettings> = {}) => {
  rig = await testRig(options, settings);
  expect(await rig.sync(issues)).toMatchObject(succeeded);
  return rig.tracker;
};

/** The queries of whole issues that were sent since a place of the log. */
const queries = (from: number): readonly string[] =>
  rig.tracker.log.slice(from).flatMap(({ body }) => {
    const { jql, expand, maxResults } = Object(body);
    return expand !== undefined && maxResults === 100 ? [String(jql)] : [];
  });
const watermark = async (): Promise<number | undefined> => {
  const query = "select watermark from ops.checkpoints where stream = 'issues'";
  return (await rig.rows<{ watermark: Date }>(query))[0]?.watermark.getTime();
};
const isByUpdate = ({ body }: { readonly body?: unknown }) => /updated >=/.test(JSON.stringify(body ?? ''));
const byAge = (): readonly string[] =>
  [...rig.tracker.oracle().issues.values()].sort((a, b) => a.created - b.created).map(({ id }) => id);
/** Changes the oldest issue, which is older than the window by creation. */
const changeOldest = (): string => {
  const { state, clock } = rig.tracker;
  const [old = ''] = byAge();
  expect(clock.now().getTime() - state.issue(old).created).toBeGreaterThan(181 * day);
  clock.advance(day);
  state.update(old, { summary: 'An old one, changed' });
  return old;
};

test.each(dialects)('changes of every kind land in the next run ($name)', async (dialect) => {
  rig = await testRig(dialect.options);
  await rig.sync();
  const { state, clock } = rig.tracker;
  clock.advance(3 * hour);
  const [first = '', second = '', moved = '', fourth = ''] = byAge();
  // Closed sprints are read once a week.
  const sprint = rig.tracker.oracle().sprints.find((one) => one.state === 'active')?.id ?? 0;
  const resolved = clock.now().getTime();
  state.update(first, { summary: 'Renamed', statusId: '10004', resolutionId: '10300', resolved });
  state.addComment(second, 'A word');
  state.addWorklog(second, 1800);
  const before = state.keyOf(moved);
  state.move(moved, state.issue(moved).projectId === '10001' ? 'PAY' : 'WEB');
  state.link(first, fourth);
  state.update(fourth, { sprintIds: [...state.issue(fourth).sprintIds, sprint] });
  state.create('PAY', { summary: 'Brand new', labels: ['fresh'] });
  state.addUser({ displayName: 'New Colleague' });
  state.renameStatus('10001', 'Ready');
  const report = await rig.sync();
  expect(report).toMatchObject(succeeded);
  const counts = report.streams.find((one) => one.stream === 'issues')?.counts;
  expect(counts).toMatchObject({ inserted: 1 });
  // Issues of the lookback that are in the renamed status get its new name.
  expect(counts?.updated).toBeGreaterThanOrEqual(4);
  expect(await differences(rig, dialect)).toEqual([]);
  const keys = await rig.rows('select key from tracker.issue_keys where issue_id = $1 order by 1', [moved]);
  expect(keys).toEqual([before, state.keyOf(moved)].sort().map((key) => ({ key })));
});

test("the watermark is the source's clock at the start of the read", async () => {
  rig = await testRig({ dialect: 'vendor' });
  const start = rig.tracker.clock.now();
  const [first = ''] = byAge();
  const match = ({ body }: { readonly body?: unknown }) => JSON.stringify(body).includes('nextPageToken');
  const secondPage = { endpoint: '/rest/api/3/search/jql', match };
  const changed = rig.tracker.script.at(secondPage, ({ state, clock }) => {
    clock.advance(5 * hour);
    state.update(first, { summary: 'Changed after it was read' });
    clock.advance(5 * hour);
  });
  await rig.sync(issues);
  expect(changed.fired).toBe(1);
  expect(await watermark()).toBe(start.getTime());
  expect(Math.abs(Date.now() - start.getTime())).toBeGreaterThan(hour);
  const from = rig.tracker.log.length;
  await rig.sync(issues);
  // The newest change before the watermark lies a little before it; from there the lookback of one day.
  const bound = Number(/updated >= (\d+)/.exec(queries(from)[0] ?? '')?.[1]);
  expect(Math.floor((start.getTime() - day - bound) / day)).toBe(0);
  expect(await watermark()).toBe(start.getTime() + 10 * hour);
  expect(await issueDifferences(rig)).toEqual([]);
});

test('a source without a Date header moves no watermark and is noted', async () => {
  const { state } = await synced({ dateHeader: false });
  expect(await watermark()).toBeUndefined();
  state.update(byAge()[0] ?? '', { summary: 'Later' });
  expect(await rig.sync(issues)).toMatchObject(succeeded);
  expect(await watermark()).toBeUndefined();
  expect(await issueDifferences(rig)).toEqual([]);
  const message = expect.stringContaining('Date header');
  expect(rig.events).toContainEqual(expect.objectContaining({ type: 'note', level: 'warn', message }));
});

describe('without `updated` in queries', () => {
  test.each([
    ['the server refuses it', { updatedFilter: false }, {}],
    ['TRACKER_CHANGES is created', {}, { changes: 'created' }],
  ] as const)(
    'a window by creation is read each run, everything once a week: %s',
    async (_, options, how) => {
      const { state, clock, log } = await synced({ ...options, years: 1 }, how);
      const young = byAge().at(-1) ?? '';
      const old = changeOldest();
      state.update(young, { summary: 'A young one, changed' });
      const from = log.length;
      expect(await rig.sync(issues)).toMatchObject(succeeded);
      expect(queries(from)).toEqual([expect.not.stringContaining('updated')]);
      const found = await issueDifferences(rig);
      expect(found[0]).toMatch(`issues ${old}: summary is`);
      expect(found.filter((line) => line.includes(young))).toEqual([]);
      // The seventh run begins some minutes earlier in the day than the first one did.
      clock.advance(6 * day - hour / 4);
      await rig.sync(issues);
      expect(await issueDifferences(rig)).toEqual([]);
    },
  );

  test('one refusal hides nothing that is older than the window', async () => {
    const { script } = await synced({ years: 1 });
    changeOldest();
    const refusal = script.at({ match: isByUpdate }, status(400));
    expect(await rig.sync(issues)).toMatchObject(succeeded);
    expect(refusal.fired).toBe(1);
    expect(await issueDifferences(rig)).toEqual([]);
  });

  test('what runs by creation could not show is read once `updated` can be used', async () => {
    const { state, clock, log } = await synced({ dialect: 'contract', years: 1 });
    changeOldest();
    for (let run = 0; run < 3; run += 1) {
      clock.advance(day);
      state.touch(byAge().at(-1) ?? '');
      expect(await rig.sync(issues, { settings: { changes: 'created' } })).toMatchObject(succeeded);
    }
    expect(await issueDifferences(rig)).not.toEqual([]);
    const from = log.length;
    expect(await rig.sync(issues)).toMatchObject(succeeded);
    expect(queries(from)).toEqual([expect.stringContaining('updated >=')]);
    expect(await issueDifferences(rig)).toEqual([]);
  });
});

test.each([
  ['', undefined],
  [', nor does a record that is dated in the future', '2999-01-01'],
  [', nor does a record that is dated a moment after the last sync', '1 ms'],
])('a search index that lags behind the writes loses no change%s', async (_, newest) => {
  const { state, clock } = await synced({ dialect: 'vendor', indexLagMs: 6 * hour });
  const exact = { deps: { lookbackMs: hour } };
  const [changed = '', dated = ''] = byAge();
  clock.advance(hour);
  state.update(changed, { summary: 'Not in the index yet' });
  // Longer than the lookback.
  clock.advance(4 * hour);
  await rig.sync(issues, exact);
  expect(await issueDifferences(rig)).not.toEqual([]);
  const mark = "(select watermark from ops.checkpoints where stream = 'issues')";
  const at = newest === '1 ms' ? `${mark} + interval '1 ms'` : `'${newest}'::timestamptz`;
  if (newest !== undefined)
    await rig.rows(`update tracker.issues set updated_at = ${at} where id = $1`, [dated]);
  clock.advance(4 * hour);
  await rig.sync(issues, exact);
  expect((await issueDifferences(rig)).filter((line) => !line.includes(dated))).toEqual([]);
});

test('a backfill writes its half-open window alone and moves no checkpoint', async () => {
  rig = await testRig({ dialect: 'vendor' });
  const { state, clock } = rig.tracker;
  const at = clock.now().getTime() - 30 * day;
  const [onFrom = '', beforeTo = '', onTo = ''] = byAge();
  state.update(onFrom, { created: at });
  state.update(beforeTo, { created: at + day - 1 });
  state.update(onTo, { created: at + day });
  await rig.sync(issues);
  const mark = await watermark();
  for (const id of [onFrom, beforeTo, onTo]) state.update(id, { summary: `Changed ${id}` }, { bump: false });
  clock.advance(hour);
  const before = await fingerprint(rig);
  const window = { from: new Date(at), to: new Date(at + day) };
  const report = await rig.backfill(window);
  expect(report).toMatchObject({ status: 'succeeded', kind: 'backfill' });
  const written = 'select id::text from tracker.issues where _run_id = $1 order by created_at';
  expect(await rig.rows(written, [report.runId])).toEqual([{ id: onFrom }, { id: beforeTo }]);
  expect(await watermark()).toBe(mark);
  const after = await fingerprint(rig);
  expect(Object.keys(after).filter((table) => after[table] !== before[table])).toEqual(['issues']);
  expect(await issueDifferences(rig)).toEqual([expect.stringContaining(`issues ${onTo}: summary is`)]);
  expect((await rig.backfill(window)).counts).toMatchObject({ inserted: 0, updated: 0 });
});

test('a backfill before the first sync loads its window alone; the first sync loads the rest', async () => {
  rig = await testRig();
  const from = new Date(rig.tracker.clock.now().getTime() - 40 * day);
  const to = new Date(from.getTime() + 20 * day);
  await rig.backfill({ from, to });
  const truth = [...rig.tracker.oracle().issues.values()].filter(
    ({ created }) => created >= from.getTime() && created < to.getTime(),
  );
  expect(truth.length).toBeGreaterThan(5);
  expect(await rig.rows('select id from tracker.issues')).toHaveLength(truth.length);
  expect(await watermark()).toBeUndefined();
  await rig.sync(issues);
  expect(await issueDifferences(rig)).toEqual([]);
});

test('an older version never overwrites a newer one, but --full takes what is read', async () => {
  await synced({ dialect: 'vendor' });
  const future = "summary = 'From the future', updated_at = '2999-01-01', _row_hash = 1";
  await rig.rows(`update tracker.issues set ${future} where id = $1`, [byAge().at(-1)]);
  const counts = async (full: boolean) => (await rig.sync({ ...issues, full })).streams[0]?.counts;
  expect(await counts(false)).toMatchObject({ superseded: 1 });
  expect(await issueDifferences(rig)).toHaveLength(2);
  expect(await counts(true)).toMatchObject({ received: 150, updated: 1, superseded: 0 });
  expect(await issueDifferences(rig)).toEqual([]);
});
