import { expect, test } from 'vitest';
import { issueDifferences } from '../support/oracle.ts';
import { testRig } from '../support/rig.ts';

const minute = 60_000;
const hour = 60 * minute;
const issues = { streams: ['issues'] };
const tiny = { dialect: 'contract', bare: true, issues: 12, users: 5, epochDates: false } as const;
const exact = { deps: { lookbackMs: 0 } };

test.each([
  ['Europe/Berlin', '2026-03-29T01:00:00Z', 'an hour is missing'],
  ['Europe/Berlin', '2025-10-26T01:00:00Z', 'an hour comes twice'],
  ['America/St_Johns', '2025-11-02T04:30:00Z', 'an hour comes twice'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z', 'half an hour comes twice'],
  ['Asia/Kathmandu', '2026-01-10T18:15:00Z', 'nothing happens at midnight'],
])(
  'syncs without a lookback miss nothing, and backfills by the hour are exact, at a tracker that does not say its zone, %s, at %s, where %s',
  async (zone, at) => {
    const change = Date.parse(at);
    const rig = await testRig({
      ...tiny,
      timeZone: zone,
      now: new Date(change - 6 * hour),
    });
    const { state, clock, oracle } = rig.tracker;
    /** Issues and when they changed, of the warehouse and of the site. */
    const stored = (where = 'true') =>
      rig.rows(
        `select id::int, (extract(epoch from updated_at) * 1000)::bigint::text as at from tracker.issues where ${where} order by id`,
      );
    const truth = (isWanted: (created: number) => boolean) =>
      [...oracle().issues.values()]
        .flatMap(({ id, created, updated: at }) =>
          isWanted(created) ? [{ id: Number(id), at: String(at) }] : [],
        )
        .toSorted((a, b) => a.id - b.id);
    const updated = [...oracle().issues.keys()];
    await rig.sync(issues);
    for (let n = 0; n < 36; n += 1) {
      clock.set(new Date(change - 2 * hour + n * (7 * minute + 1)));
      state.create('PAY');
      if (n % 6 !== 5) continue;
      state.update(updated.pop() ?? '', { summary: `Changed at ${clock.now().toISOString()}` });
      clock.advance(2 * minute);
      await rig.sync(issues, exact);
      expect(await stored()).toEqual(truth(() => true));
    }
    clock.set(new Date(change + 6 * hour));
    // Every row that is read is written.
    await rig.rows('update tracker.issues set _row_hash = 1');
    for (let from = change - 2 * hour; from < change + 2 * hour; from += hour) {
      const window = { from: new Date(from), to: new Date(from + hour) };
      const report = await rig.backfill({ ...window, ...issues });
      expect(report.status).toBe('succeeded');
      const wanted = truth((created) => created >= from && created < from + hour);
      expect(wanted.length).toBeGreaterThan(3);
      expect(await stored(`_run_id = ${report.runId}`)).toEqual(wanted);
    }
    expect(await issueDifferences(rig, { bare: true })).toEqual([]);
    const searches = rig.tracker.log.filter(
      (one) => one.endpoint === '/rest/api/3/search/jql' && one.status === 200,
    );
    const quoted = /created >= \\"\d{4}-\d\d-\d\d \d\d:\d\d\\"/;
    expect(searches.filter(({ body }) => !quoted.test(JSON.stringify(body)))).toEqual([]);
  },
);

test("the account's zone may change between two runs", async () => {
  const rig = await testRig({ ...tiny, timeZone: 'Pacific/Auckland' });
  const { state, clock } = rig.tracker;
  await rig.sync(issues);
  for (const zone of ['America/Los_Angeles', 'Asia/Tokyo', 'Pacific/Kiritimati', 'UTC']) {
    state.setTimeZone(zone);
    clock.advance(hour);
    state.create('PAY');
    clock.advance(minute);
    await rig.sync(issues, exact);
    expect(await issueDifferences(rig, { bare: true })).toEqual([]);
  }
});
