import { afterEach, describe, expect, test } from 'vitest';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';

const minute = 60_000;
const hour = 60 * minute;
const issues = { streams: ['issues'] };

let rig: Rig;
afterEach(() => rig.close());

/** The instant at which the clocks of a zone change. */
const nights = [
  { zone: 'Europe/Berlin', at: '2026-03-29T01:00:00Z', what: 'an hour is missing' },
  { zone: 'Europe/Berlin', at: '2025-10-26T01:00:00Z', what: 'an hour comes twice' },
  { zone: 'America/St_Johns', at: '2025-11-02T04:30:00Z', what: 'an hour comes twice' },
  { zone: 'Australia/Lord_Howe', at: '2026-04-04T15:00:00Z', what: 'half an hour comes twice' },
  { zone: 'Asia/Kathmandu', at: '2026-01-10T18:15:00Z', what: 'nothing happens at midnight' },
] as const;

describe.each([
  { tongue: 'vendor', options: { dialect: 'vendor' } },
  { tongue: 'bare contract', options: { dialect: 'contract', bare: true } },
] as const)('quoted dates in the tongue $tongue', ({ options }) => {
  test.each(nights)('P17: windows are exact in $zone on the night when $what ($at)', async ({ zone, at }) => {
    const change = Date.parse(at);
    rig = await openRig({
      ...options,
      issues: 5,
      projects: 3,
      users: 5,
      years: 0.25,
      epochDates: false,
      timeZone: zone,
      now: new Date(change - 6 * hour),
    });
    const { state, clock } = rig.tracker;
    for (let when = change - 2 * hour; when <= change + 2.5 * hour; when += 7 * minute + 1) {
      clock.set(new Date(when));
      state.create('PAY');
    }
    clock.set(new Date(change + 6 * hour));
    // Hour by hour: each backfill lands exactly what was created in its hour.
    for (let from = change - 2 * hour; from < change + 3 * hour; from += hour) {
      const report = await rig.backfill({ from: new Date(from), to: new Date(from + hour) });
      expect(report.status).toBe('succeeded');
      const landed = await rig.rows<{ id: string }>(
        'select id::text from tracker.issues where _run_id = $1 order by id',
        [report.runId],
      );
      const truth = [...rig.tracker.oracle().issues.values()]
        .filter((one) => one.created >= from && one.created < from + hour)
        .map((one) => one.id);
      expect(truth.length).toBeGreaterThan(3);
      expect(landed.map((row) => row.id)).toEqual(truth.sort((a, b) => Number(a) - Number(b)));
    }
    await rig.sync(issues);
    expect(await differences(rig, { bare: 'bare' in options, issuesOnly: true })).toEqual([]);
    const searches = rig.tracker.log.filter(
      (one) => one.endpoint === '/rest/api/3/search/jql' && one.status === 200,
    );
    expect(
      searches.every(({ body }) =>
        /created >= "\d{4}-\d\d-\d\d( \d\d:\d\d)?"/.test(JSON.stringify(body).replaceAll('\\"', '"')),
      ),
    ).toBe(true);
  });
});

test.each(nights)(
  'P17: changes around the change of clocks in $zone ($at) are all found, without any lookback',
  async ({ zone, at }) => {
    const change = Date.parse(at);
    rig = await openRig({
      dialect: 'vendor',
      issues: 12,
      projects: 3,
      users: 5,
      years: 0.25,
      epochDates: false,
      timeZone: zone,
      now: new Date(change - 4 * hour),
    });
    const { state, clock } = rig.tracker;
    const ids = [...rig.tracker.oracle().issues.keys()];
    await rig.sync(issues);
    for (let step = 0; step < 8; step += 1) {
      clock.set(new Date(change - 2 * hour + step * 31 * minute));
      state.update(ids[step] ?? '', { summary: `Changed at ${clock.now().toISOString()}` });
      clock.advance(9 * minute);
      await rig.sync(issues, { deps: { lookbackMs: 0 } });
      expect(await differences(rig, { issuesOnly: true })).toEqual([]);
    }
  },
);

test("P17: the account's zone may change between two runs", async () => {
  rig = await openRig({
    dialect: 'vendor',
    issues: 12,
    projects: 3,
    users: 5,
    years: 0.25,
    epochDates: false,
    timeZone: 'Pacific/Auckland',
    now: new Date('2026-02-01T12:00:00Z'),
  });
  const { state, clock } = rig.tracker;
  await rig.sync(issues);
  for (const zone of ['America/Los_Angeles', 'Asia/Tokyo', 'Pacific/Kiritimati', 'UTC']) {
    state.setTimeZone(zone);
    clock.advance(hour);
    state.create('PAY');
    clock.advance(minute);
    await rig.sync(issues, { deps: { lookbackMs: 0 } });
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  }
});
