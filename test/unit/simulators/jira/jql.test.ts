import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { startTracker } from '../../../../simulators/jira/server.ts';
import { instantIn, stampIn } from '../../../../simulators/jira/zones.ts';
import { ask } from '../ask.ts';

const now = new Date('2026-01-15T12:00:00Z');
const tracker = await startTracker({ issues: 300, now, timeZone: 'America/New_York' });
const { search, walk } = ask(tracker);
afterAll(() => tracker.close());
const truth = [...tracker.oracle().issues.values()];
const idsOf = (issues: readonly { readonly id: string }[]): readonly string[] =>
  issues.map(({ id }) => id).sort();
const ids = async (jql: string): Promise<readonly string[]> => idsOf(await walk(jql, { fields: ['id'] }));
const those = (isOne: (one: (typeof truth)[number]) => boolean) => idsOf(truth.filter(isOne));

describe('dates', () => {
  const at = Date.UTC(2025, 5, 10, 14, 30);

  test('a number is the instant in epoch milliseconds', async () => {
    expect(await ids(`updated >= ${at}`)).toEqual(those((one) => one.updated >= at));
    expect(await ids(`created < ${at}`)).toEqual(those((one) => one.created < at));
  });

  test.each(['2025-06-10 10:30', '2025/06/10 10:30', '2025/6/10 10:30'])(
    '"%s" is civil time in the zone of the account',
    async (literal) => {
      expect(await ids(`created >= "${literal}"`)).toEqual(those((one) => one.created >= at));
      expect(await ids(`updated < '${literal}'`)).toEqual(those((one) => one.updated < at));
    },
  );

  test('a date alone is midnight there, quoted or not', async () => {
    const midnight = Date.UTC(2025, 5, 10, 4);
    expect(await ids('created >= 2025-06-10')).toEqual(those((one) => one.created >= midnight));
    expect(await ids('created >= "2025/06/10"')).toEqual(those((one) => one.created >= midnight));
  });

  test('the bounds of a window are half open as they are written', async () => {
    const one = truth[100];
    if (one === undefined) throw new Error('no issue');
    expect(await ids(`created >= ${one.created} AND created <= ${one.created}`)).toEqual([one.id]);
    expect(await ids(`created > ${one.created - 1} AND created < ${one.created + 1}`)).toEqual([one.id]);
    expect(await ids(`created > ${one.created} AND created < ${one.created + 1}`)).toEqual([]);
  });

  test.each([
    '"2025-02-30"',
    '"2025-06-10T10:30:00Z"',
    '"2025-06-10 10:30:15"',
    '"1749565800000"',
    'yesterday',
    '"2025-06/10"',
    '"2025-06-10 24:00"',
  ])('%s is no date', async (literal) => {
    const { status, body } = await search({ jql: `created >= ${literal}` });
    expect(status).toBe(400);
    expect(body.errorMessages?.[0]).toContain('is invalid. Valid formats include');
  });

  test('the zone of a query is that of the account at the time of the query', async () => {
    const before = await ids('created >= "2025-06-10 10:30"');
    tracker.state.setTimeZone('Asia/Tokyo');
    const after = await ids('created >= "2025-06-10 10:30"');
    tracker.state.setTimeZone('America/New_York');
    const tokyo = Date.UTC(2025, 5, 10, 1, 30);
    expect(after).toEqual(those((one) => one.created >= tokyo));
    expect(before).toEqual(those((one) => one.created >= at));
  });

  test('a server without epoch dates refuses numbers, one without an updated filter that field', async () => {
    const poor = await startTracker({ issues: 5, now, epochDates: false, updatedFilter: false });
    onTestFinished(() => poor.close());
    expect((await ask(poor).search({ jql: `created >= ${at}` })).status).toBe(400);
    expect((await ask(poor).search({ jql: 'created >= "2000-01-01"' })).status).toBe(200);
    const refused = await ask(poor).search({ jql: 'updated >= "2000-01-01"' });
    expect(refused.status).toBe(400);
    expect(refused.body.errorMessages?.[0]).toContain("Field 'updated' does not exist");
  });
});

describe('civil time', () => {
  const utc = (text: string): number => Date.parse(`${text}Z`);

  test.each([
    ['occurs twice is its first occurrence', 'Europe/Berlin', '2025-10-26T02:30', '2025-10-26T00:30'],
    ['occurs twice is its first occurrence', 'America/New_York', '2025-11-02T01:30', '2025-11-02T05:30'],
    ['is skipped moves on by the gap', 'Europe/Berlin', '2025-03-30T02:30', '2025-03-30T01:30'],
    ['is skipped moves on by the gap', 'Australia/Lord_Howe', '2025-10-05T02:15', '2025-10-04T15:45'],
  ])('a time that %s: %s %s', (_, zone, wall, instant) => {
    expect(instantIn(zone, utc(wall))).toBe(utc(instant));
  });

  test.each([
    ['Europe/Berlin', '2025-10-26T00:59:59.999', '2025-10-26T02:59:59.999+0200'],
    ['Europe/Berlin', '2025-10-26T01:00:00.000', '2025-10-26T02:00:00.000+0100'],
    ['America/St_Johns', '2025-01-01T00:00:00.001', '2024-12-31T20:30:00.001-0330'],
    ['UTC', '1970-01-01T00:00:00.000', '1970-01-01T00:00:00.000+0000'],
  ])('stamps of %s carry the offset of their own instant, without a colon (%s)', (zone, instant, stamp) => {
    expect(stampIn(zone, utc(instant))).toBe(stamp);
  });

  test('reading back what was written gives the instant, in every hour around the changes of clocks', () => {
    const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata'];
    for (const zone of [...zones, 'Africa/Casablanca'])
      for (let n = 0; n < 90 * 24; n += 1) {
        // 45 days in spring and 45 in autumn.
        const at = utc(n % 2 === 0 ? '2024-03-01T00:17' : '2024-10-01T00:17') + Math.floor(n / 2) * 3_600_000;
        const stamp = stampIn(zone, at);
        expect(Date.parse(stamp)).toBe(at);
        const wall = Date.parse(`${stamp.slice(0, 23)}Z`);
        // Only the second pass of an hour that comes twice reads back as the first.
        if (instantIn(zone, wall) !== at)
          expect(stampIn(zone, instantIn(zone, wall)).slice(0, 23)).toBe(stamp.slice(0, 23));
      }
  });
});

describe('conditions', () => {
  test('projects by key, id and name', async () => {
    const pay = those((one) => one.projectKey === 'PAY');
    for (const jql of ['project = PAY', 'project = "pay"', 'project in (10000)', 'project = "Payments"'])
      expect(await ids(jql)).toEqual(pay);
    const isOfBoth = (one: { projectKey: string }) => ['PAY', 'WEB'].includes(one.projectKey);
    expect(await ids('project in (PAY, WEB)')).toEqual(those(isOfBoth));
    expect(await ids('project not in (PAY, WEB)')).toEqual(those((one) => !isOfBoth(one)));
    expect((await search({ jql: 'project = NOPE' })).status).toBe(400);
  });

  test('issues by key, id and old key', async () => {
    const moved = truth.find((one) => one.oldKeys.length > 0);
    const [first, second] = truth;
    expect(await ids(`key in (${first?.key}, ${second?.key})`)).toEqual([first?.id, second?.id].sort());
    expect(await ids(`id in (${first?.id}, 99999999)`)).toEqual([first?.id]);
    expect(await ids(`issuekey = ${moved?.oldKeys[0]}`)).toEqual([moved?.id]);
  });

  test.each([
    'created >',
    'created >= "2024-01-01" AND',
    'project = (PAY)',
    'x',
    'created >= 1 ORDER BY',
    'key ~ PAY',
    'project in PAY',
    '"unclosed',
    'created in (1)',
    'nofield = 1',
    'created >= 1 ORDER BY nofield',
  ])('%s is refused with a reason', async (jql) => {
    const { status, body } = await search({ jql });
    expect(status).toBe(400);
    expect(body.errorMessages?.[0]?.length).toBeGreaterThan(10);
  });

  test('order is by number within a project, by time otherwise, up or down', async () => {
    const ordered = async (order: string) =>
      (await walk(`created >= 0 ORDER BY ${order}`, { fields: ['id'] })).map((one) => one.id);
    expect(await ordered('key DESC')).toEqual((await ordered('key ASC')).toReversed());
    const oldestFirst = truth.toSorted((a, b) => a.created - b.created).map((one) => one.id);
    expect(await ordered('created')).toEqual(oldestFirst);
    const byUpdated = await ordered('updated DESC, key');
    const times = new Map(truth.map((one) => [one.id, one.updated]));
    expect(new Set(byUpdated)).toEqual(new Set(times.keys()));
    expect(byUpdated.map((id) => times.get(id))).toEqual([...times.values()].sort((a, b) => b - a));
  });
});
