import { expect, test } from 'vitest';
import { issueDifferences } from '../support/oracle.ts';
import { testRig } from '../support/rig.ts';

const minute = 60_000;
const hour = 60 * minute;
const issues = { streams: ['issues'] };
const tiny = { issues: 12, users: 5, epochDates: false } as const;
const exact = { deps: { lookbackMs: 0 } };

/** The instants at which the clocks of a zone change. */
const changes = [
  ['Europe/Berlin', '2026-03-29T01:00:00Z', 'an hour is missing'],
  ['Europe/Berlin', '2025-10-26T01:00:00Z', 'an hour comes twice'],
  ['America/St_Johns', '2025-11-02T04:30:00Z', 'an hour comes twice'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z', 'half an hour comes twice'],
  ['Asia/Kathmandu', '2026-01-10T18:15:00Z', 'nothing happens at midnight'],
] as const;

test.each(
  changes.flatMap((change) => [[...change, 'vendor'] as const, [...change, 'bare contract'] as const]),
)('backfills by the hour are exact in %s at %s, where %s (%s)', async (zone, at, _, dialect) => {
  const change = Date.parse(at);
  const bare = dialect === 'bare contract';
  const rig = await testRig({
    ...(bare ? { dialect: 'contract', bare } : { dialect: 'vendor' }),
    ...{ ...tiny, issues: 5, timeZone: zone, now: new Date(change - 6 * hour) },
  });
  const { state, clock } = rig.tracker;
  for (let when = change - 2 * hour; when <= change + 2.5 * hour; when += 7 * minute + 1) {
    clock.set(new Date(when));
    state.create('PAY');
  }
  clock.set(new Date(change + 6 * hour));
  for (let from = change - 2 * hour; from < change + 3 * hour; from += hour) {
    const report = await rig.backfill({ from: new Date(from), to: new Date(from + hour) });
    expect(report.status).toBe('succeeded');
    const written = 'select id::int from tracker.issues where _run_id = $1 order by id';
    const truth = [...rig.tracker.oracle().issues.values()]
      .filter(({ created }) => created >= from && created < from + hour)
      .map(({ id }) => ({ id: Number(id) }));
    expect(truth.length).toBeGreaterThan(3);
    expect(await rig.rows(written, [report.runId])).toEqual(truth.toSorted((a, b) => a.id - b.id));
  }
  await rig.sync(issues);
  expect(await issueDifferences(rig, { bare })).toEqual([]);
  const searches = rig.tracker.log.filter(
    (one) => one.endpoint === '/rest/api/3/search/jql' && one.status === 200,
  );
  const quoted = /created >= \\"\d{4}-\d\d-\d\d( \d\d:\d\d)?\\"/;
  expect(searches.filter(({ body }) => !quoted.test(JSON.stringify(body)))).toEqual([]);
});

test.each(changes)('without a lookback no change is missed in %s at %s, where %s', async (zone, at) => {
  const change = Date.parse(at);
  const now = new Date(change - 4 * hour);
  const rig = await testRig({ dialect: 'vendor', ...tiny, timeZone: zone, now });
  const { state, clock } = rig.tracker;
  const ids = [...rig.tracker.oracle().issues.keys()];
  await rig.sync(issues);
  for (let step = 0; step < 8; step += 1) {
    clock.set(new Date(change - 2 * hour + step * 31 * minute));
    state.update(ids[step] ?? '', { summary: `Changed at ${clock.now().toISOString()}` });
    clock.advance(9 * minute);
    await rig.sync(issues, exact);
    expect(await issueDifferences(rig)).toEqual([]);
  }
});

test("the account's zone may change between two runs", async () => {
  const rig = await testRig({ dialect: 'vendor', ...tiny, timeZone: 'Pacific/Auckland' });
  const { state, clock } = rig.tracker;
  await rig.sync(issues);
  for (const zone of ['America/Los_Angeles', 'Asia/Tokyo', 'Pacific/Kiritimati', 'UTC']) {
    state.setTimeZone(zone);
    clock.advance(hour);
    state.create('PAY');
    clock.advance(minute);
    await rig.sync(issues, exact);
    expect(await issueDifferences(rig)).toEqual([]);
  }
});
