/** A stream with a budget of requests or minutes for each run reads its owners in turn, and says so. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { streamStates } from '../../../src/queries/freshness.ts';
import { openAdsRig } from '../../support/ads-rig.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { type Lab, makeFacts, openLab } from './facts.ts';

let database: TestDatabase;
let lab: Lab;

const ids = ['a', 'b', 'c', 'd', 'e'];
const days = ['06-20', '06-29', '06-30', '07-01', '07-02', '07-03'].map((day) => `2026-${day}`);

beforeEach(async () => {
  database = await testDatabase();
  await makeFacts(database.warehouse);
  lab = openLab(database.warehouse, { start: new Date('2026-06-01T00:00:00Z') });
  lab.owners = ids.map((id) => ({ id, status: 'ACTIVE', budget: '10', updatedAt: 1n }));
  lab.facts = ids.flatMap((owner) =>
    days.map((day) => ({ owner, day, name: 'ad', spend: '1.5', clicks: 1 })),
  );
  lab.turn = { most: 2, of: 'requests' };
});
afterEach(() => database.drop());

const rows = async <R extends object>(query: string): Promise<readonly R[]> =>
  (await database.warehouse.pool.query<R>(query)).rows;

/** A night at 02:00 of this day; gives the owners that were read, and the report of the facts. */
async function night(day: string) {
  lab.now = new Date(`2026-${day}T02:00:00Z`);
  lab.asked.length = 0;
  const report = await lab.run();
  expect(report.status).toBe('succeeded');
  const asked = lab.asked.map((line) => line.slice(0, 1));
  const facts = report.streams.find(({ stream }) => stream === 'facts');
  return { read: [...new Set(asked)].toSorted().join(''), facts };
}

/** The day up to which all owners were read: of the watermark, and of freshness. */
async function coveredTo() {
  const [checkpoint] = await rows<{ day: string }>(
    `select watermark::date::text as day from ops.checkpoints where stream = 'facts'`,
  );
  const state = (await streamStates(database.warehouse.db)).find(({ stream }) => stream === 'facts');
  return {
    watermark: checkpoint?.day,
    freshness: state?.freshness,
    reason: state?.reason,
    at: state?.freshAt,
  };
}

/** When the reading of the first of these owners began; the moment of a page is an estimate of the warehouse's clock, off by milliseconds. */
const readOf = async (...owners: readonly string[]): Promise<Date | undefined> => {
  const found = await rows<{ at: Date }>(`
    select min(least(started_at, (select min(m) from ops.batches b, unnest(b.moments) m where b.slice_id = s.slice_id))) as at
    from ops.slices s join ops.walks w using (walk_id)
    where stream = 'facts' and partition->>'owner' = any ('{${owners}}')`);
  return found[0]?.at;
};

const missing = async (to: string): Promise<readonly string[]> => {
  const stored = await rows<{ line: string }>(`select owner || ' ' || day::text as line from lab.facts`);
  const have = new Set(stored.map(({ line }) => line));
  return ids.flatMap((id) =>
    days.filter((day) => day < to && !have.has(`${id} ${day}`)).map((day) => `${id} ${day}`),
  );
};

test('each run reads some owners, in turn, and says how many are left', async () => {
  const first = await night('06-30');
  expect(first.read).toBe('ab');
  expect(first.facts).toMatchObject({
    status: 'ok',
    slices: 2,
    receipt: { read: 4, stored: 4 },
    reason: 'in turn: 3 of 5 parts left to the next runs; all are read within 3 runs like this one',
  });
  expect((await night('07-01')).read).toBe('cd');
  const third = await night('07-02');
  expect(third.read).toContain('e');
  // The next turn begins with the owner that was read longest ago.
  expect((await night('07-03')).read).toBe('ab');
});

test('the watermark stays until every owner was read, and then is as old as the one that was read first', async () => {
  await night('06-30');
  expect(await coveredTo()).toMatchObject({ watermark: undefined, freshness: 'never' });
  expect((await coveredTo()).reason).toContain('3 of 5 parts left');
  const shown = () =>
    rows(`select freshness, is_stale, fresh_at from bi.data_freshness where stream = 'facts'`);
  expect(await shown()).toEqual([{ freshness: 'never', is_stale: true, fresh_at: null }]);
  const begun = await readOf('a', 'b');
  await night('07-01');
  expect((await coveredTo()).watermark).toBeUndefined();
  lab.turn = { most: 100, of: 'requests' };
  await night('07-02');
  expect(await coveredTo()).toMatchObject({ watermark: '2026-06-30', freshness: 'fresh', reason: null });
  expect((await coveredTo()).at).toEqual(begun);
  expect(await shown()).toEqual([{ freshness: 'fresh', is_stale: false, fresh_at: begun }]);
  // Days that only some owners were read for do not count as restated.
  expect(
    await rows(
      `select window_to::date::text as day from ops.walks where stream = 'facts' and status = 'done'`,
    ),
  ).toEqual([{ day: '2026-06-30' }]);
});

test('a stream in turn is as fresh as the owner that was read longest ago, and promised within the nights of a turn', async () => {
  for (const day of ['06-30', '07-01', '07-02', '07-03']) await night(day);
  const hour = 3_600;
  const state = async () => {
    const [shown] = await rows<{ at: Date; promise: string; freshness: string }>(
      `select fresh_at as at, freshness_promise_seconds as promise, freshness from bi.data_freshness where stream = 'facts'`,
    );
    const told = (await streamStates(database.warehouse.db)).find(({ stream }) => stream === 'facts');
    expect({ at: told?.freshAt, promise: String(told?.promiseSeconds), freshness: told?.freshness }).toEqual(
      shown,
    );
    return shown;
  };
  // Owners a and b were read again in the fourth night; c is read next.
  expect(await state()).toEqual({
    at: await readOf('c', 'd'),
    promise: String((26 + 2 * 24) * hour),
    freshness: 'fresh',
  });
  const pass = (hours: number) =>
    rows(`with slices as (update ops.slices set started_at = started_at - interval '${hours} hours'),
        walks as (update ops.walks set opened_at = opened_at - interval '${hours} hours')
      update ops.batches set moments = array(select m - interval '${hours} hours' from unnest(moments) m)`);
  await pass(73);
  expect((await state())?.freshness).toBe('fresh');
  await pass(2);
  expect((await state())?.freshness).toBe('stale');
});

test('an owner that is not listed any more is not waited for, and one that is new had nothing before', async () => {
  for (const day of ['06-30', '07-01', '07-02']) await night(day);
  const [like] = lab.owners;
  if (like === undefined) throw new Error('no owner');
  lab.owners = ['f', 'g', 'h'].map((id) => ({ ...like, id }));
  expect((await night('07-03')).read).toBe('fg');
  const [turn] = await rows<{
    at: Date;
  }>(`select min(started_at) as at from ops.slices s join ops.walks w using (walk_id)
    where stream = 'facts' and w.status = 'done' and s.run_id = (select max(x.run_id) from ops.slices x where x.walk_id = w.walk_id)`);
  expect((await coveredTo()).at).toEqual(turn?.at);
});

test('no day of any owner is lost, and an owner that is left out keeps its rows', async () => {
  for (const day of ['06-30', '07-01', '07-02']) await night(day);
  const before = await rows<{ n: number }>(
    `select count(*)::int as n from lab.facts where owner in ('c', 'd', 'e')`,
  );
  await night('07-03');
  const after = await rows<{ n: number }>(
    `select count(*)::int as n from lab.facts where owner in ('c', 'd', 'e')`,
  );
  expect(after).toEqual(before);
  for (const day of ['07-04', '07-05', '07-06', '07-07']) await night(day);
  expect(await missing('2026-07-04')).toEqual([]);
  expect(await rows(`select id from lab.owners where _deleted_at is not null`)).toEqual([]);
});

test('an owner that comes in the middle of a turn is read in it, all of its history', async () => {
  await night('06-30');
  lab.owners = [...lab.owners, { id: 'f', status: 'ACTIVE', budget: '10', updatedAt: 1n }];
  lab.facts = [...lab.facts, { owner: 'f', day: '2026-06-20', name: 'ad', spend: '2', clicks: 1 }];
  for (const day of ['07-01', '07-02', '07-03']) await night(day);
  expect(await rows(`select day::text from lab.facts where owner = 'f'`)).toEqual([{ day: '2026-06-20' }]);
  expect((await coveredTo()).watermark).toBe('2026-06-30');
});

test('what was restated during a turn comes with the next one', async () => {
  for (const day of ['06-30', '07-01', '07-02', '07-03']) await night(day);
  lab.facts = lab.facts.map((one) => (one.day === '2026-07-01' ? { ...one, spend: '7' } : one));
  for (const day of ['07-04', '07-05', '07-06', '07-07', '07-08', '07-09']) await night(day);
  expect(
    await rows(`select owner, spend::text from lab.facts where day = '2026-07-01' order by owner`),
  ).toEqual(ids.map((owner) => ({ owner, spend: '7' })));
});

test('a run that reads everything again reads all owners, and ends the turn', async () => {
  await night('06-30');
  lab.asked.length = 0;
  const report = await lab.run({ full: true });
  expect(report.status).toBe('succeeded');
  expect(new Set(lab.asked.map((line) => line.slice(0, 1))).size).toBe(5);
  expect((await coveredTo()).watermark).toBe('2026-06-30');
});

/** Slices are read one after the other. Each takes the given number of minutes. */
function eachTakes(minutes: number): void {
  const now = performance.now.bind(performance);
  let passed = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed);
  onTestFinished(() => clock.mockRestore());
  lab.concurrency = 1;
  lab.answer = () => {
    passed += minutes * 60_000;
  };
}

test('a run begins no further owner when it has read for its minutes, and finishes those that it began', async () => {
  eachTakes(20);
  lab.turn = { most: 30, of: 'minutes' };
  const first = await night('06-30');
  // Owner b is begun after 20 minutes, and takes until 40.
  expect(first.read).toBe('ab');
  expect(first.facts).toMatchObject({
    status: 'ok',
    reason: 'in turn: 3 of 5 parts left to the next runs; all are read within 3 runs like this one',
  });
  expect(await coveredTo()).toMatchObject({ watermark: undefined, freshness: 'never' });
  const begun = await readOf('a', 'b');
  expect((await night('07-01')).read).toBe('cd');
  expect((await night('07-02')).read).toContain('e');
  expect(await coveredTo()).toMatchObject({ watermark: '2026-06-30', freshness: 'fresh' });
  expect((await coveredTo()).at).toEqual(begun);
  // The next turn begins with the owner that was read longest ago.
  expect((await night('07-03')).read).toBe('ab');
  const promised = await rows(
    `select freshness_promise_seconds::int as seconds from bi.data_freshness where stream = 'facts'`,
  );
  expect(promised).toEqual([{ seconds: (26 + 2 * 24) * 3_600 }]);
});

test.each(['minutes', 'requests'] as const)(
  'a run reads one owner at least, all of its pieces, however few %s it has',
  async (of) => {
    const { owners, facts } = lab;
    const inPieces = openLab(database.warehouse, { start: new Date('2026-06-01T00:00:00Z'), longest: 10 });
    lab = Object.assign(inPieces, { owners, facts });
    eachTakes(20);
    lab.turn = { most: 1, of };
    const { read, facts: report } = await night('06-30');
    expect({ read, slices: report?.slices, asked: lab.asked.length }).toEqual({
      read: 'a',
      slices: 3,
      asked: 3,
    });
    expect((await night('07-01')).read).toBe('b');
  },
);

test('lists of owners are read in turn by what they need: insights of one account a night', async () => {
  const rig = await openAdsRig({ accounts: 3, campaigns: 2, adSetsPerCampaign: 1, adsPerAdSet: 1, days: 5 });
  onTestFinished(() => rig.close());
  await rig.sync({ streams: ['businesses', 'ad_accounts', 'campaigns', 'ad_sets', 'ads'] });
  const rotate = { insight_reports: { most: 1, of: 'requests' } } as const;
  const run = () => rig.sync({ streams: ['insight_reports'] }, { deps: { rotate } });
  const accounts = async () => {
    const [{ n } = { n: 0 }] = await rig.rows<{ n: number }>(
      `select count(distinct ad_account_id)::int as n from ads.insight_states`,
    );
    return n;
  };
  for (const [nth, reason] of [
    [1, 'in turn: 2 of 3 parts left to the next runs; all are read within 3 runs like this one'],
    [2, 'in turn: 1 of 3 parts left to the next runs; all are read within 3 runs like this one'],
    [3, undefined],
  ] as const) {
    const { status, streams } = await run();
    expect(status).toBe('succeeded');
    expect(streams[0]?.reason).toBe(reason);
    expect(await accounts()).toBe(nth);
    const checkpoints = await rig.rows(`select from ops.checkpoints where stream = 'insight_reports'`);
    expect(checkpoints).toHaveLength(nth === 3 ? 1 : 0);
    rig.platform.clock.advance(86_400_000);
  }
});
