import { afterEach, describe, expect, test } from 'vitest';
import { fieldsOf } from '../../../../../src/connectors/spotify-ads/metrics.ts';
import {
  reportDaily,
  reportHourly,
  reportLifetime,
} from '../../../../../src/connectors/spotify-ads/reports/aggregate.ts';
import { insightReports } from '../../../../../src/connectors/spotify-ads/reports/insight.ts';
import { type Reports, reportsOf } from '../../../../../src/connectors/spotify-ads/reports/request.ts';
import {
  Forbidden,
  Missing,
  PagingLoop,
  Refused,
  Transient,
  UnexpectedContent,
} from '../../../../../src/core/errors.ts';
import type { Json, ReadSide, Slice } from '../../../../../src/core/stream.ts';
import * as play from '../../../../support/misbehaving-server.ts';
import { lending, reader } from '../platform.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const account = 'a1';
const slice = (entity_type: string, from = '2025-03-01', to = '2025-03-04'): Slice => ({
  partition: { ad_account_id: account, entity_type },
  window: { field: 'day', from: new Date(`${from}T00:00:00Z`), to: new Date(`${to}T00:00:00Z`) },
});
const id = (n: number): string => `ad-${String(n).padStart(3, '0')}`;
const rowOf = (entity_id: string, day: string): Readonly<Record<string, Json>> => ({
  entity_type: 'AD',
  entity_id,
  start_time: `${day}T00:00:00Z`,
  end_time: `${day}T23:59:59Z`,
  stats: [
    { field_type: 'SPEND', field_value: 1.5 },
    { field_type: 'IMPRESSIONS', field_value: 100 },
    { field_type: 'CLICKS', field_value: 1 },
  ],
});

const queryOf = ({ url }: Pick<play.Arrived, 'url'>): URLSearchParams =>
  new URL(url, 'http://x').searchParams;
const refusal = (message: string, code = 400): play.Reply => play.json({ messages: [message] }, {}, code);
const clicks = (field_value: number) => [{ field_type: 'CLICKS', field_value }];
/** Rows of entities for 2025-03-01 to 03. */
const rowsFor = (ids: readonly string[]) =>
  ids.flatMap((one) => ['01', '02', '03'].map((day) => rowOf(one, `2025-03-${day}`)));

/** The rows of the requested entities, `size` a page, by tokens that must be sent alone. */
const reporting =
  (size = 50) =>
  (arrived: play.Arrived): play.Reply => {
    const query = queryOf(arrived);
    const token = query.get('continuation_token');
    if (token !== null && [...query.keys()].length > 1) return refusal('alone');
    const { ids, at } =
      token === null
        ? { ids: query.getAll('entity_ids'), at: 0 }
        : (JSON.parse(Buffer.from(token, 'base64url').toString()) as { ids: string[]; at: number });
    const rows = rowsFor(ids);
    const next = Buffer.from(JSON.stringify({ ids, at: at + size })).toString('base64url');
    return play.json({
      continuation_token: at + size < rows.length ? next : '',
      rows: rows.slice(at, at + size),
      warnings: null,
    });
  };

/** Asks for the entities that lists do not show. */
const isUnlisted = (arrived: Pick<play.Arrived, 'url'>): boolean => {
  const query = queryOf(arrived);
  return query.has('report_start') && query.get('granularity') === 'LIFETIME';
};

/** `unlisted`: the answer to a request for what lists do not show; it counts among no requests. */
const open = async (
  script: (arrived: play.Arrived, n: number) => play.Reply,
  more: Partial<Reports> = {},
  unlisted: play.Reply = { ...play.json({ rows: [] }), name: 'unlisted' },
) => {
  let others = 0;
  const platform = await play.misbehaving((arrived, n) => {
    if (isUnlisted(arrived)) others += 1;
    return isUnlisted(arrived) ? unlisted : script(arrived, n - others);
  });
  const server = {
    ...platform,
    get requests() {
      return platform.requests.filter((arrived) => !isUnlisted(arrived));
    },
  };
  const { ads, notes } = reader(server.url);
  closing.push(
    () => server.close(),
    () => ads.http.close(),
  );
  const reports: Reports = {
    ...reportsOf(ads, {
      start: new Date('2025-01-01T00:00:00Z'),
      restateDays: [3, 14, 90],
      reportRequestsPerSecond: 5,
      reportHosts: [],
    }),
    ...more,
  };
  const queries = (): readonly URLSearchParams[] => server.requests.map(queryOf);
  return { server, platform, reports, notes, queries };
};

type Keys = Readonly<Record<string, string>>;
const entity = (entity_type: string, entity_id: string): Keys => ({
  entity_type,
  entity_id,
  ad_account_id: account,
});
const dimensions = ['ACT_AND_SET', 'AGE', 'TONE'];
/** What insights are asked for, by dimension. */
const questions = (...of: readonly Keys[]): readonly Keys[] =>
  of.flatMap((one) => dimensions.map((dimension) => ({ ...one, dimension })));
const warehouse = (ads: number) =>
  lending({
    'ads.ad_accounts': [{ id: account }],
    'ads.report_entities': [
      entity('AD_ACCOUNT', account),
      entity('CAMPAIGN', 'c1'),
      entity('AD_SET', 's1'),
      ...Array.from({ length: ads }, (_, n) => entity('AD', id(n))),
    ],
    'ads.insight_questions': questions(entity('CAMPAIGN', 'c1'), entity('AD_SET', 's1')),
  });

type Rows = readonly Readonly<Record<string, Json>>[];
const rowsOf = async (
  make: (reports: Reports) => ReadSide,
  reports: Reports,
  of: Slice,
  given = warehouse(3),
  rows: Readonly<Record<string, Json>>[] = [],
): Promise<Rows> => {
  const reading = await make(reports).read?.(of, given, new AbortController().signal);
  for (let step = await reading?.pages.next(); step?.done === false; step = await reading?.pages.next())
    for (const record of step.value.records) {
      rows.push(record as Readonly<Record<string, Json>>);
      // The bytes are exactly the record's.
      if (make !== insightReports)
        expect(JSON.parse(String(reading?.bytes(record, step.value)))).toEqual(record);
    }
  return rows;
};
const subjects = (rows: Rows) => new Set(rows.map((row) => `${row.entity_id} ${row.start_time}`)).size;

describe('an aggregate report', () => {
  test('asks for fifty entities at once, for every metric, to the last day inclusive, and sends its tokens alone', async () => {
    const { reports, queries } = await open(reporting());
    const rows = await rowsOf(reportDaily, reports, slice('AD'), warehouse(120));
    expect([rows.length, subjects(rows)]).toEqual([360, 360]);
    const first = queries().filter((query) => !query.has('continuation_token'));
    expect(first.map((query) => query.getAll('entity_ids').length).sort()).toEqual([20, 50, 50]);
    for (const query of first) {
      expect(query.get('report_start')).toBe('2025-03-01T00:00:00Z');
      expect(query.get('report_end')).toBe('2025-03-03T00:00:00Z');
      expect(query.getAll('fields').sort()).toEqual([...fieldsOf('aggregate')].sort());
      expect(query.get('entity_ids_type')).toBe('AD');
    }
    expect(queries()).toHaveLength(8);
  });

  test('reads several groups at once, not more than it may', async () => {
    let under = 0;
    let most = 0;
    const { reports } = await open((arrived, n) => ({
      name: 'slow',
      run: async (response) => {
        most = Math.max(most, ++under);
        await new Promise((resolve) => setTimeout(resolve, 20));
        under--;
        await reporting()(arrived).run(response, arrived, n);
      },
    }));
    await rowsOf(reportDaily, reports, slice('AD'), warehouse(500));
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(4);
  });

  test('names no ids for an account and no parents for the upper levels (vendor’s specification)', async () => {
    const { reports, queries } = await open(() => play.json({ continuation_token: null, rows: [] }));
    for (const level of ['AD_ACCOUNT', 'CAMPAIGN', 'AD_SET', 'AD'])
      await rowsOf(reportDaily, reports, slice(level));
    expect(
      queries().map((query) => [
        query.get('entity_type'),
        query.has('entity_ids'),
        query.has('include_parent_entity'),
      ]),
    ).toEqual([
      ['AD_ACCOUNT', false, false],
      ['CAMPAIGN', true, false],
      ['AD_SET', true, true],
      ['AD', true, true],
    ]);
  });

  test('by the hour is asked for without REVENUE, over the lifetime without dates', async () => {
    const { reports, queries } = await open(() => play.json({ rows: [] }));
    await rowsOf(reportHourly, reports, slice('AD', '2025-03-09', '2025-03-10'));
    await rowsOf(reportLifetime, reports, slice('AD', '2025-03-10', '2025-03-11'));
    const [hourly, lifetime] = queries();
    expect(hourly?.getAll('fields')).not.toContain('REVENUE');
    expect(hourly?.get('report_end')).toBe('2025-03-09T23:00:00Z');
    expect([
      lifetime?.get('granularity'),
      lifetime?.has('report_start'),
      lifetime?.has('report_end'),
    ]).toEqual(['LIFETIME', false, false]);
  });

  test('of days that the platform no longer has is not requested: nothing that was loaded is overwritten', async () => {
    const { reports, server } = await open(reporting());
    for (const asked of [
      rowsOf(reportHourly, reports, slice('AD', '2025-02-20', '2025-02-25')),
      rowsOf(reportLifetime, reports, slice('AD', '2025-03-09', '2025-03-10')),
    ])
      await expect(asked).rejects.toBeInstanceOf(Missing);
    expect(server.requests).toHaveLength(0);
  });

  test('that has entities or days that were not requested loses them, with a note', async () => {
    const good = rowOf(id(0), '2025-03-02');
    const others = [rowOf('stranger', '2025-03-02'), rowOf(id(0), '2025-03-04'), rowOf(id(0), '2025-02-28')];
    const { reports, notes } = await open(() => play.json({ rows: [good, ...others] }));
    expect(await rowsOf(reportDaily, reports, slice('AD'))).toEqual([good]);
    expect(notes).toEqual([expect.stringContaining('3 rows were of other entities or days than requested')]);
  });

  test.each([
    ['of other days alone', [rowOf(id(0), '2025-02-27'), rowOf(id(0), '2025-02-28')]],
    ['of other entities alone', [rowOf('stranger', '2025-03-02')]],
  ])('that has rows %s fails', async (_, rows) => {
    const { reports } = await open(() => play.json({ continuation_token: '', rows }));
    const asked = rowsOf(reportDaily, reports, slice('AD'));
    await expect(asked).rejects.toBeInstanceOf(UnexpectedContent);
    await expect(asked).rejects.toThrow(/2025-03-01.* to 2025-03-04/);
  });

  test.each([
    ['by the day, over the lifetime', reportLifetime, ['2025-03-09', '2025-03-10']],
    ['twice, by day', reportDaily, ['2025-03-10', '2025-03-10']],
    ['with their day alone, by hour', reportHourly, ['2025-03-10', '2025-03-10']],
  ])(
    'that has differing rows of an entity %s fails: it is cut finer than requested',
    async (_, make, days) => {
      const parts = days.map((day, part) => ({ ...rowOf(id(0), day), stats: clicks(part) }));
      const { reports } = await open(() => play.json({ rows: [rowOf(id(1), '2025-03-10'), ...parts] }));
      const asked = rowsOf(make, reports, slice('AD', '2025-03-10', '2025-03-11'));
      await expect(asked).rejects.toThrow(/2 rows of ad-000.* that differ/);
    },
  );

  test('over the lifetime is believed where its numbers grow while its pages are read', async () => {
    const { reports } = await open((arrived, n) => {
      const from = Number(queryOf(arrived).get('offset') ?? 0);
      const ids = [id(0), id(1), id(2)].slice(from, from + 2);
      const rows = ids.map((entity_id) => ({ entity_id, start_time: null, stats: clicks(n) }));
      return play.json({ total: 3, rows });
    });
    expect(await rowsOf(reportLifetime, reports, slice('AD', '2025-03-10', '2025-03-11'))).toHaveLength(3);
  });

  test('of a server that ignores the level is read without rows of another level with the same ids', async () => {
    const rows = [
      rowOf('7', '2025-03-02'),
      { ...rowOf('7', '2025-03-02'), entity_type: 'CAMPAIGN', stats: clicks(9) },
    ];
    const given = lending({ 'ads.report_entities': [entity('AD', '7')] });
    for (const order of [rows, rows.toReversed()]) {
      const { reports } = await open(() => play.json({ rows: order }));
      const read = await rowsOf(reportDaily, reports, slice('AD'), given);
      expect(read).toMatchObject([{ entity_type: 'AD', entity_id: '7' }]);
    }
  });

  test('that repeats a row has it once', async () => {
    const row = rowOf(id(0), '2025-03-02');
    const { reports } = await open(() => play.json({ rows: [row, row] }));
    expect(await rowsOf(reportDaily, reports, slice('AD'))).toHaveLength(1);
  });

  /** A server that knows the contract's `limit` and `offset` and no tokens. `says`: what it states beside the rows. */
  const byPlace =
    (says: (offset: number, total: number) => object, { lost = 0, most = 50 } = {}) =>
    (arrived: play.Arrived): play.Reply => {
      const query = queryOf(arrived);
      const offset = Number(query.get('offset') ?? 0);
      const all = rowsFor(query.getAll('entity_ids'));
      const end = Math.min(all.length - lost, offset + Math.min(Number(query.get('limit') ?? 50), most));
      return play.json({ rows: all.slice(offset, end), ...says(offset, all.length) });
    };

  test.each<[string, number, (offset: number, total: number) => object]>([
    ['its total', 50, (offset, total) => ({ paging: { page_size: 50, total_results: total, offset } })],
    ['its place alone', 50, (offset) => ({ offset, limit: 50 })],
    ['nothing', 50, () => ({})],
    ['total', 20, (_, total) => ({ total })],
    ['total_count', 20, (_, total) => ({ total_count: total })],
    ['pagination', 20, (offset, total) => ({ pagination: { total, offset, limit: 20 } })],
    ['total beside other things', 20, (_, total) => ({ meta: { next_update_at: 'soon' }, total })],
  ])('by offset that states %s, in pages of %i, is read to its end', async (_, most, says) => {
    const { reports } = await open(byPlace(says, { most }));
    const rows = await rowsOf(reportDaily, reports, slice('AD'), warehouse(60));
    expect([rows.length, subjects(rows)]).toEqual([180, 180]);
  });

  test.each([
    ['next_cursor', { next_cursor: 'abc' }],
    ['nextPageToken', { paging: { nextPageToken: 'abc' } }],
    ['next', { next: 'https://ads.example/reports?page=2' }],
    ['has_more', { has_more: true, next_offset: 50 }],
  ])('that goes on by a %s, which is not followed, fails', async (name, says) => {
    // Deaf to an offset: each answer is its first page again.
    const { reports } = await open((arrived) =>
      byPlace(() => says)({ ...arrived, url: arrived.url.replace(/offset=\d+/, 'offset=0') }),
    );
    await expect(rowsOf(reportDaily, reports, slice('AD'), warehouse(30))).rejects.toThrow(
      `the report goes on (it says ${name}), in a way that is not known`,
    );
  });

  test('that has fewer rows than it states is not whole', async () => {
    const { reports } = await open(
      byPlace((offset, total) => ({ paging: { total_results: total, offset } }), { lost: 1 }),
    );
    await expect(rowsOf(reportDaily, reports, slice('AD'))).rejects.toThrow('states 9 rows, 8 were read');
  });

  test('that is given at once, and happens to fill a page, ends there', async () => {
    const { reports, server } = await open(({ url }) => {
      const [one = ''] = queryOf({ url }).getAll('entity_ids');
      const days = Array.from({ length: 50 }, (_, n) =>
        new Date(Date.UTC(2025, 0, 1 + n)).toISOString().slice(0, 10),
      );
      return play.json({ rows: days.map((day) => rowOf(one, day)) });
    });
    expect(
      await rowsOf(reportDaily, reports, slice('AD', '2025-01-01', '2025-03-01'), warehouse(1)),
    ).toHaveLength(50);
    expect(server.requests).toHaveLength(2);
  });

  test('that repeats a token is left as a circle', async () => {
    const { reports } = await open(() =>
      play.json({ continuation_token: 'again', rows: [rowOf(id(0), '2025-03-02')] }),
    );
    await expect(rowsOf(reportDaily, reports, slice('AD'))).rejects.toBeInstanceOf(PagingLoop);
  });

  test('whose token expires begins again once, and no row comes twice', async () => {
    const { reports, server } = await open((arrived, n) =>
      n === 1 ? refusal('expired', 410) : reporting(4)(arrived),
    );
    const rows = await rowsOf(reportDaily, reports, slice('AD'));
    expect(rows).toHaveLength(9);
    expect(server.fired).toContain('status 410');
  });
});

describe('what lists do not show', () => {
  const named = (...ids: readonly string[]) =>
    play.json({
      rows: ids.map((entity_id) => ({ entity_type: 'AD', entity_id, start_time: null, stats: [] })),
    });

  test('is asked for over the lifetime of the days, without ids or statuses, and then by id', async () => {
    const { reports, platform, queries } = await open(reporting(), {}, named(id(1), 'archived'));
    const rows = await rowsOf(reportDaily, reports, slice('AD'));
    expect(new Set(rows.map(({ entity_id }) => entity_id))).toEqual(
      new Set([...[0, 1, 2].map(id), 'archived']),
    );
    const [whole] = platform.requests.filter(isUnlisted).map(queryOf);
    expect(Object.fromEntries(whole ?? [])).toMatchObject({
      entity_type: 'AD',
      granularity: 'LIFETIME',
      limit: '50',
      report_start: '2025-03-01T00:00:00Z',
      report_end: '2025-03-03T00:00:00Z',
    });
    for (const filter of ['entity_ids', 'entity_ids_type', 'statuses', 'entity_status_type'])
      expect(whole?.has(filter), filter).toBe(false);
    expect(queries()[0]?.getAll('entity_ids')).toContain('archived');
  });

  test('is not asked for of accounts, nor again of a level that a server refuses it for', async () => {
    const refused = refusal('entity_ids is required');
    const { reports, platform, notes } = await open(reporting(), {}, refused);
    const daily = reportDaily(reports);
    const two = [slice('AD'), slice('AD', '2025-02-01', '2025-02-04'), slice('AD_ACCOUNT')];
    for (const of of two) await rowsOf(() => daily, reports, of).catch(() => undefined);
    expect(platform.requests.filter(isUnlisted)).toHaveLength(1);
    expect(notes).toContainEqual(
      expect.stringMatching(/only what lists show can be requested.*entity_ids is req/),
    );
  });

  test('that a broken answer does not tell fails the days: they are read again', async () => {
    const { reports } = await open(reporting(), {}, refusal('down', 500));
    await expect(rowsOf(reportDaily, reports, slice('AD'))).rejects.toBeInstanceOf(Transient);
  });
});

describe('metrics that a server does not have', () => {
  const refusing =
    (unknown: readonly string[], says: (asked: readonly string[]) => string) =>
    (arrived: play.Arrived): play.Reply => {
      const fields = queryOf(arrived).getAll('fields');
      return fields.some((field) => unknown.includes(field)) ? refusal(says(fields)) : reporting()(arrived);
    };

  const without = fieldsOf('aggregate').filter((name) => !['SKIPS', 'UNMUTES'].includes(name));
  test.each<[string, (asked: readonly string[]) => string]>([
    ['by name', () => 'SKIPS and UNMUTES are no fields'],
    ['one at a time', (asked) => `${asked.includes('SKIPS') ? 'SKIPS' : 'UNMUTES'} is no field`],
    ['with the list of those that are allowed', () => `each must be one of [${without.join(', ')}]`],
    ['with examples of allowed ones', () => 'SKIPS, UNMUTES are not accepted; use e.g. CLICKS, SPEND'],
  ])('are left out where the server refuses them %s, and noted once', async (_, says) => {
    const { reports, server, queries, notes } = await open(refusing(['SKIPS', 'UNMUTES'], says));
    const stream = reportDaily(reports);
    expect(await rowsOf(() => stream, reports, slice('AD'), warehouse(300))).toHaveLength(900);
    expect(server.fired).toContain('status 400');
    expect(notes.join()).toMatch(/does not know SKIPS.*UNMUTES/);
    expect(notes.length).toBeLessThanOrEqual(2);
    expect(queries().at(-1)?.getAll('fields') ?? []).toHaveLength(0);
    const before = server.requests.length;
    await rowsOf(() => stream, reports, slice('AD'));
    expect(server.requests.length - before).toBe(1);
    expect(queries().at(-1)?.getAll('fields')).toEqual(without);
  });

  test('are requested at the levels that have them', async () => {
    const { reports, queries } = await open((arrived) => {
      const query = queryOf(arrived);
      const isRefused =
        query.get('entity_type') === 'AD_ACCOUNT' && query.getAll('fields').includes('FREQUENCY');
      return isRefused ? refusal('FREQUENCY is not accepted for AD_ACCOUNT') : reporting()(arrived);
    });
    const stream = reportDaily(reports);
    for (const level of ['AD_ACCOUNT', 'AD']) {
      await rowsOf(() => stream, reports, slice(level));
      expect(queries().at(-1)?.getAll('fields').includes('FREQUENCY')).toBe(level === 'AD');
    }
  });

  test('are noted once for all levels and granularities', async () => {
    const { reports, notes } = await open(refusing(['SKIPS'], () => 'SKIPS is no field'));
    for (const make of [reportDaily, reportHourly, reportLifetime])
      for (const level of ['AD', 'AD_SET', 'CAMPAIGN'])
        await rowsOf(() => make(reports), reports, slice(level)).catch(() => undefined);
    expect(notes.filter((note) => note.includes('does not know'))).toHaveLength(1);
  });

  test.each(['report_start is too early', 'SPEND is not known', 'accepted are CLICKS, COMPLETES, …'])(
    'are not guessed: a refusal that says %j fails the report',
    async (message) => {
      const { reports, server, notes } = await open(() => refusal(message));
      await expect(rowsOf(reportDaily, reports, slice('AD'))).rejects.toBeInstanceOf(Refused);
      expect(server.requests).toHaveLength(1);
      expect(notes).toEqual([]);
    },
  );
});

describe('an insight report', () => {
  const ofAccount: Slice = { partition: { ad_account_id: account } };
  const statesOf = (reports: Reports, given = warehouse(0), rows: Readonly<Record<string, Json>>[] = []) =>
    rowsOf(insightReports, reports, ofAccount, given, rows);
  const ofAdSet = play.json({ rows: [{ id: 's1', insight_value: 'x', stats: [] }] });
  const isOfCampaign = ({ url }: play.Arrived): boolean => url.includes('entity_ids=c1');

  test('of a dimension that is refused for campaigns is requested for ad sets; the refusal is noted', async () => {
    const { reports, queries, notes } = await open((arrived) =>
      queryOf(arrived).get('insight_dimension') === 'ACT_AND_SET' && isOfCampaign(arrived)
        ? refusal('insight_dimension ACT_AND_SET is not for CAMPAIGN')
        : ofAdSet,
    );
    expect(await statesOf(reports)).toHaveLength(5);
    const asked = queries().filter((query) => query.get('insight_dimension') === 'ACT_AND_SET');
    expect(asked.map((query) => query.get('entity_ids_type')).sort()).toEqual(['AD_SET', 'CAMPAIGN']);
    expect(notes).toEqual([expect.stringMatching(/does not know the dimensions ACT_AND_SET \(CAMPAIGN\)$/)]);
  });

  test('that no entity has is missing; where some have it, the others are noted', async () => {
    const missing = await open(() => refusal('no such route', 404));
    await expect(statesOf(missing.reports)).rejects.toBeInstanceOf(Missing);
    const { reports, notes } = await open((arrived) =>
      isOfCampaign(arrived) ? refusal('unknown', 404) : ofAdSet,
    );
    expect(await statesOf(reports)).toHaveLength(3);
    expect(notes).toEqual([
      expect.stringMatching(/insight_reports: 3 of 6 are not there and keep their rows: .*unknown/),
    ]);
  });

  test('with rows of other entities loses them, with a note; the ad sets of a campaign are not the campaign', async () => {
    const adSet = '0aa00b00-0000-4000-8000-00000000000c';
    const ids = ['S1', 's1', adSet.toUpperCase()];
    const { reports, notes } = await open(() =>
      play.json({ rows: ids.map((one) => ({ id: one, insight_value: `of ${one}`, stats: [] })) }),
    );
    const given = lending({
      'ads.insight_questions': questions(
        entity('CAMPAIGN', 'c1'),
        entity('AD_SET', 's1'),
        entity('AD_SET', adSet),
      ),
    });
    const values = (await statesOf(reports, given)).map(({ entity_id, rows }) =>
      [entity_id, ...(rows as Rows).map((row) => row.insight_value)].join(' '),
    );
    expect(new Set(values)).toEqual(new Set(['c1', 's1 of s1', `${adSet} of ${adSet.toUpperCase()}`]));
    expect(notes).toEqual([expect.stringMatching(/insight_reports: 21 rows were of other entities/)]);
  });

  test('without enough data is a state with its code; another 422 is an error', async () => {
    const code = 'ILLEGAL.INSIGHT_REPORT.INSUFFICIENT_REACH';
    const { reports, server } = await open((arrived) =>
      isOfCampaign(arrived) ? play.json({ error_codes: [{ code, definition: 'no' }] }, {}, 422) : ofAdSet,
    );
    const states = await statesOf(reports);
    expect(states).toHaveLength(6);
    expect(states.filter((one) => one.code === code && one.state === 'not_enough_data')).toHaveLength(3);
    expect(server.fired.filter((name) => name === 'status 422')).toHaveLength(3);
    const other = await open(() => refusal('unprocessable', 422));
    await expect(statesOf(other.reports)).rejects.toBeInstanceOf(Refused);
  });

  test.each([
    ['fails', 500, Transient],
    ['is refused', 422, Refused],
    ['is closed', 403, Forbidden],
  ])('that %s keeps none of the others from being read', async (_, code, error) => {
    const { reports } = await open((arrived) =>
      queryOf(arrived).get('insight_dimension') === 'AGE' && isOfCampaign(arrived)
        ? refusal('not this one', code)
        : ofAdSet,
    );
    const rows: Readonly<Record<string, Json>>[] = [];
    const failed = statesOf(reports, undefined, rows);
    await expect(failed).rejects.toBeInstanceOf(error);
    await expect(failed).rejects.toThrow(/insight_reports: 1 of 6 failed: CAMPAIGN\/c1\/AGE \(/);
    expect(rows).toHaveLength(5);
  });
});
