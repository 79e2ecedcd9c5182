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
import type { Json } from '../../../../../src/core/request.ts';
import type { Slice } from '../../../../../src/core/stream.ts';
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

/** The rows of the asked entities for 2025-03-01 to 03, `size` a page, behind tokens that stand alone. */
const reporting =
  (size = 50) =>
  ({ url }: play.Arrived): play.Reply => {
    const { searchParams } = new URL(url, 'http://x');
    const token = searchParams.get('continuation_token');
    if (token !== null && [...searchParams.keys()].length > 1)
      return play.json({ messages: ['alone'] }, {}, 400);
    const { ids, at } =
      token === null
        ? { ids: searchParams.getAll('entity_ids'), at: 0 }
        : (JSON.parse(Buffer.from(token, 'base64url').toString()) as { ids: string[]; at: number });
    const rows = ids.flatMap((one) => ['01', '02', '03'].map((day) => rowOf(one, `2025-03-${day}`)));
    const next = Buffer.from(JSON.stringify({ ids, at: at + size })).toString('base64url');
    return play.json({
      continuation_token: at + size < rows.length ? next : '',
      rows: rows.slice(at, at + size),
      warnings: null,
    });
  };

const open = async (
  script: (arrived: play.Arrived, n: number) => play.Reply,
  more: Partial<Reports> = {},
) => {
  const server = await play.misbehaving(script);
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
  const queries = (): readonly URLSearchParams[] =>
    server.requests.map(({ url }) => new URL(url, 'http://x').searchParams);
  return { server, reports, notes, queries };
};

const entities = (ads: number) => ({
  'ads.ad_accounts': [{ id: account }],
  'ads.ads': Array.from({ length: ads }, (_, n) => ({ id: id(n), ad_account_id: account })),
  'ads.campaigns': [{ id: 'c1', ad_account_id: account }],
  'ads.ad_sets': [{ id: 's1', ad_account_id: account, campaign_id: 'c1' }],
});
const warehouse = (ads: number) => lending(entities(ads));

const rowsOf = async (
  make: (reports: Reports) => ReturnType<typeof reportDaily>,
  reports: Reports,
  of: Slice,
  given = warehouse(3),
): Promise<readonly Readonly<Record<string, Json>>[]> => {
  const reading = await make(reports).read?.(of, given, new AbortController().signal);
  const rows: Readonly<Record<string, Json>>[] = [];
  for (;;) {
    const step = await reading?.pages.next();
    if (step === undefined || step.done === true) return rows;
    for (const record of step.value.records) {
      rows.push(record as Readonly<Record<string, Json>>);
      // The bytes are exactly the record's.
      expect(JSON.parse(String(reading?.bytes(record, step.value)))).toEqual(record);
    }
  }
};

describe('an aggregate report', () => {
  test('asks for fifty entities at once, for every metric, to the last day inclusive, and follows its tokens alone', async () => {
    const { reports, queries, server } = await open(reporting());
    const rows = await rowsOf(reportDaily, reports, slice('AD'), warehouse(120));
    expect(new Set(rows.map((row) => `${row.entity_id} ${row.start_time}`)).size).toBe(360);
    expect(rows).toHaveLength(360);
    const first = queries().filter((query) => !query.has('continuation_token'));
    expect(first.map((query) => query.getAll('entity_ids').length).sort()).toEqual([20, 50, 50]);
    for (const query of first) {
      expect(query.get('report_start')).toBe('2025-03-01T00:00:00Z');
      expect(query.get('report_end')).toBe('2025-03-03T00:00:00Z');
      expect(query.getAll('fields').sort()).toEqual([...fieldsOf('aggregate')].sort());
      expect(query.get('entity_ids_type')).toBe('AD');
    }
    expect(server.requests).toHaveLength(3 + 3 + 2 + 1 - 1 + 0);
  });

  test('reads several pieces at once, not more than it may', async () => {
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

  test('for days that the platform has no more is not asked for: nothing that was loaded is overwritten', async () => {
    const { reports, server } = await open(reporting());
    await expect(
      rowsOf(reportHourly, reports, slice('AD', '2025-02-20', '2025-02-25')),
    ).rejects.toBeInstanceOf(Missing);
    await expect(
      rowsOf(reportLifetime, reports, slice('AD', '2025-03-09', '2025-03-10')),
    ).rejects.toBeInstanceOf(Missing);
    expect(server.requests).toHaveLength(0);
  });

  test('that shows entities or days that were not asked for loses them, and tells', async () => {
    const { reports, notes } = await open(() =>
      play.json({
        rows: [
          rowOf(id(0), '2025-03-02'),
          rowOf('stranger', '2025-03-02'),
          rowOf(id(0), '2025-03-04'),
          rowOf(id(0), '2025-02-28'),
        ],
      }),
    );
    expect(await rowsOf(reportDaily, reports, slice('AD'))).toEqual([rowOf(id(0), '2025-03-02')]);
    expect(notes).toEqual([expect.stringContaining('3 rows were of other entities or days than requested')]);
  });

  test.each([
    ['of other days alone', [rowOf(id(0), '2025-02-27'), rowOf(id(0), '2025-02-28')]],
    ['of other entities alone', [rowOf('stranger', '2025-03-02')]],
  ])('that has rows %s is not the one that was asked for: the slice fails', async (_, rows) => {
    const { reports } = await open(() => play.json({ continuation_token: '', rows }));
    const asked = rowsOf(reportDaily, reports, slice('AD'));
    await expect(asked).rejects.toBeInstanceOf(UnexpectedContent);
    await expect(asked).rejects.toThrow(/2025-03-01.* to 2025-03-04/);
  });

  test.each([
    ['over the lifetime, by the day', reportLifetime, ['2025-03-09', '2025-03-10']],
    ['by the day, in two parts', reportDaily, ['2025-03-10', '2025-03-10']],
  ])(
    'that has more than one row of an entity %s, does not pass for what was asked for',
    async (_, make, days) => {
      const parts = days.map((day, part) => ({
        ...rowOf(id(0), day),
        stats: [{ field_type: 'CLICKS', field_value: part }],
      }));
      const { reports } = await open(() => play.json({ rows: [rowOf(id(1), '2025-03-10'), ...parts] }));
      const asked = rowsOf(make, reports, slice('AD', '2025-03-10', '2025-03-11'));
      await expect(asked).rejects.toThrow(/2 rows of ad-000.* that differ/);
    },
  );

  test('over the lifetime whose numbers go on while its pages are read is believed', async () => {
    const { reports } = await open(({ url }, clicks) => {
      const { searchParams } = new URL(url, 'http://x');
      const ids = ['ad-000', 'ad-001', 'ad-002'].slice(Number(searchParams.get('offset') ?? 0)).slice(0, 2);
      const stats = [{ field_type: 'CLICKS', field_value: clicks }];
      return play.json({ total: 3, rows: ids.map((entity_id) => ({ entity_id, start_time: null, stats })) });
    });
    expect(await rowsOf(reportLifetime, reports, slice('AD', '2025-03-10', '2025-03-11'))).toHaveLength(3);
  });

  test.each([
    ['first', 0],
    ['last', 1],
  ])(
    'of a server that looks at no level, where another level has the same ids (%s), is read',
    async (_, place) => {
      const ofOther = {
        ...rowOf('7', '2025-03-02'),
        entity_type: 'CAMPAIGN',
        stats: [{ field_type: 'CLICKS', field_value: 9 }],
      };
      const rows = [rowOf('7', '2025-03-02'), ofOther];
      const { reports } = await open(() => play.json({ rows: place === 1 ? rows : rows.reverse() }));
      const given = lending({ 'ads.ads': [{ id: '7', ad_account_id: account }] });
      const read = await rowsOf(reportDaily, reports, slice('AD'), given);
      expect(read).toMatchObject([{ entity_type: 'AD', entity_id: '7' }]);
    },
  );

  test('that says the same of an entity twice says it once', async () => {
    const { reports } = await open(() =>
      play.json({ rows: [rowOf(id(0), '2025-03-02'), rowOf(id(0), '2025-03-02')] }),
    );
    expect(await rowsOf(reportDaily, reports, slice('AD'))).toHaveLength(1);
  });

  /** A server that knows the contract's `limit` and `offset` and no tokens. `says`: what it tells beside the rows. */
  const byPlace =
    (says: (offset: number, total: number) => Readonly<Record<string, Json>>, lost = 0, most = 50) =>
    ({ url }: play.Arrived): play.Reply => {
      const { searchParams } = new URL(url, 'http://x');
      const [offset, limit] = [
        Number(searchParams.get('offset') ?? 0),
        Number(searchParams.get('limit') ?? 50),
      ];
      const all = searchParams
        .getAll('entity_ids')
        .flatMap((one) => ['01', '02', '03'].map((day) => rowOf(one, `2025-03-${day}`)));
      const rows = all.slice(0, all.length - lost).slice(offset, offset + Math.min(limit, most));
      return play.json({ rows, ...says(offset, all.length) });
    };

  test.each([
    [
      'its total',
      (offset: number, total: number) => ({ paging: { page_size: 50, total_results: total, offset } }),
    ],
    ['its place alone', (offset: number) => ({ offset, limit: 50 })],
    ['nothing', () => ({})],
  ])('that is cut by limit and offset and states %s is read to its end', async (_, says) => {
    const { reports } = await open(byPlace(says));
    const rows = await rowsOf(reportDaily, reports, slice('AD'), warehouse(120));
    expect(rows).toHaveLength(360);
    expect(new Set(rows.map((row) => `${row.entity_id} ${row.start_time}`)).size).toBe(360);
  });

  test.each([
    ['total', (_: number, total: number) => ({ total })],
    ['total_count', (_: number, total: number) => ({ meta: { total_count: total } })],
    ['pagination', (offset: number, total: number) => ({ pagination: { total, offset, limit: 20 } })],
    [
      'has_more',
      (offset: number, total: number) => ({ has_more: offset + 20 < total, next_offset: offset + 20 }),
    ],
    [
      'total beside other things',
      (_: number, total: number) => ({ meta: { next_update_at: 'soon' }, total }),
    ],
  ])('whose pages are shorter than was asked for is read to the end that its %s states', async (_, says) => {
    const { reports } = await open(byPlace(says, 0, 20));
    const rows = await rowsOf(reportDaily, reports, slice('AD'), warehouse(30));
    expect(new Set(rows.map((row) => `${row.entity_id} ${row.start_time}`)).size).toBe(90);
  });

  test.each([
    ['next_cursor', { next_cursor: 'abc' }],
    ['nextPageToken', { paging: { nextPageToken: 'abc' } }],
    ['next', { next: 'https://ads.example/reports?page=2' }],
  ])('that goes on by a %s, which nobody here follows, does not pass for whole', async (name, says) => {
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
      byPlace((offset, total) => ({ paging: { total_results: total, offset } }), 1),
    );
    await expect(rowsOf(reportDaily, reports, slice('AD'))).rejects.toThrow('states 9 rows, 8 could be read');
  });

  test('by the hour whose rows all name the day alone does not pass for that of its first hours', async () => {
    const hours = Array.from({ length: 24 }, (_, hour) => ({ ...rowOf(id(0), '2025-03-09'), hour }));
    const { reports } = await open(() => play.json({ rows: hours }));
    const asked = rowsOf(reportHourly, reports, slice('AD', '2025-03-09', '2025-03-10'));
    await expect(asked).rejects.toThrow(/by HOUR has 2 rows of ad-000 that differ/);
  });

  test('that is given at once, and happens to fill a page, ends there', async () => {
    const { reports, server } = await open(({ url }) => {
      const [one = ''] = new URL(url, 'http://x').searchParams.getAll('entity_ids');
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
      n === 1 ? play.json({ messages: ['expired'] }, {}, 410) : reporting(4)(arrived),
    );
    const rows = await rowsOf(reportDaily, reports, slice('AD'));
    expect(rows).toHaveLength(9);
    expect(server.fired).toContain('status 410');
  });
});

describe('metrics that a server does not have', () => {
  const refusing =
    (unknown: readonly string[], says: (asked: readonly string[]) => string) =>
    (arrived: play.Arrived): play.Reply => {
      const fields = new URL(arrived.url, 'http://x').searchParams.getAll('fields');
      return fields.some((field) => unknown.includes(field))
        ? play.json({ messages: [says(fields)] }, {}, 400)
        : reporting()(arrived);
    };

  const all = fieldsOf('aggregate');
  test.each<[string, (asked: readonly string[]) => string]>([
    ['by name', () => 'SKIPS and UNMUTES are no fields'],
    [
      'one at a time',
      (asked: readonly string[]) => `${asked.includes('SKIPS') ? 'SKIPS' : 'UNMUTES'} is no field`,
    ],
    [
      'with the list of those that are allowed',
      () => `each must be one of [${all.filter((name) => !['SKIPS', 'UNMUTES'].includes(name)).join(', ')}]`,
    ],
    [
      'with examples of those that are allowed',
      () => 'SKIPS, UNMUTES are not accepted; use e.g. CLICKS, SPEND',
    ],
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
    expect(queries().at(-1)?.getAll('fields')).toEqual(
      all.filter((name) => name !== 'SKIPS' && name !== 'UNMUTES'),
    );
  });

  test('at one level are asked for at the others', async () => {
    const { reports, queries } = await open((arrived) => {
      const { searchParams } = new URL(arrived.url, 'http://x');
      return searchParams.get('entity_type') === 'AD_ACCOUNT' &&
        searchParams.getAll('fields').includes('FREQUENCY')
        ? play.json({ messages: ['FREQUENCY is not accepted for AD_ACCOUNT'] }, {}, 400)
        : reporting()(arrived);
    });
    const stream = reportDaily(reports);
    await rowsOf(() => stream, reports, slice('AD_ACCOUNT'));
    expect(queries().at(-1)?.getAll('fields')).not.toContain('FREQUENCY');
    await rowsOf(() => stream, reports, slice('AD'));
    expect(queries().at(-1)?.getAll('fields')).toContain('FREQUENCY');
  });

  test('are told once, of however many levels and granularities they are not known', async () => {
    const { reports, notes } = await open(refusing(['SKIPS'], () => 'SKIPS is no field'));
    for (const make of [reportDaily, reportHourly, reportLifetime])
      for (const level of ['AD', 'AD_SET', 'CAMPAIGN'])
        await rowsOf(() => make(reports), reports, slice(level)).catch(() => undefined);
    expect(notes.filter((note) => note.includes('does not know'))).toHaveLength(1);
  });

  test.each(['report_start is too early', 'SPEND is not known', 'accepted are CLICKS, COMPLETES, …'])(
    'are not guessed: a refusal that says %j fails the report',
    async (message) => {
      const { reports, server, notes } = await open(() => play.json({ messages: [message] }, {}, 400));
      await expect(rowsOf(reportDaily, reports, slice('AD'))).rejects.toBeInstanceOf(Refused);
      expect(server.requests).toHaveLength(1);
      expect(notes).toEqual([]);
    },
  );
});

describe('an insight report', () => {
  const ofAccount: Slice = { partition: { ad_account_id: account } };
  const statesOf = async (reports: Reports, given = warehouse(0)): Promise<readonly Json[]> => {
    const reading = await insightReports(reports).read?.(ofAccount, given, new AbortController().signal);
    const states: Json[] = [];
    for (let step = await reading?.pages.next(); step?.done === false; step = await reading?.pages.next())
      states.push(...step.value.records);
    return states;
  };

  test('of a dimension that is refused for campaigns is asked for of ad sets; one that is refused is told', async () => {
    const { reports, queries, notes } = await open(({ url }) => {
      const asked = new URL(url, 'http://x').searchParams;
      return asked.get('insight_dimension') === 'ACT_AND_SET' && asked.get('entity_ids_type') === 'CAMPAIGN'
        ? play.json({ messages: ['insight_dimension ACT_AND_SET is not for CAMPAIGN'] }, {}, 400)
        : play.json({ rows: [{ id: 's1', insight_value: 'x', stats: [] }] });
    });
    const states = await statesOf(reports);
    expect(states).toHaveLength(29);
    expect(
      queries().some(
        (one) => one.get('insight_dimension') === 'ACT_AND_SET' && one.get('entity_ids_type') === 'AD_SET',
      ),
    ).toBe(true);
    expect(notes).toEqual([expect.stringMatching(/does not know the dimensions ACT_AND_SET \(CAMPAIGN\)$/)]);
  });

  test('that is there for no entity is no empty one; where it is for some, the others are told', async () => {
    const missing = await open(() => play.json({ messages: ['no such route'] }, {}, 404));
    const none = await insightReports(missing.reports).read?.(
      ofAccount,
      warehouse(0),
      new AbortController().signal,
    );
    await expect(none?.pages.next()).rejects.toBeInstanceOf(Missing);

    const { reports, notes } = await open(({ url }) =>
      url.includes('entity_ids=c1')
        ? play.json({ messages: ['unknown'] }, {}, 404)
        : play.json({ rows: [{ id: 's1', insight_value: 'x', stats: [] }] }),
    );
    const states = await statesOf(reports);
    expect(states).toHaveLength(15);
    expect(notes).toEqual([
      expect.stringMatching(/insight_reports: 15 of 30 are not there and keep their rows: .*unknown/),
    ]);
  });

  test('that shows rows of other entities loses them, and tells; a campaign is not the ad sets that it is told by', async () => {
    const adSet = '0aa00b00-0000-4000-8000-00000000000c';
    const { reports, notes } = await open(() =>
      play.json({
        rows: ['S1', 's1', adSet.toUpperCase()].map((one) => ({
          id: one,
          insight_value: `of ${one}`,
          stats: [],
        })),
      }),
    );
    const given = lending({
      'ads.campaigns': [{ id: 'c1', ad_account_id: account }],
      'ads.ad_sets': ['s1', adSet].map((one) => ({ id: one, ad_account_id: account, campaign_id: 'c1' })),
    });
    const values = new Map<string, Set<Json>>();
    for (const record of await statesOf(reports, given)) {
      const { entity_id, rows } = record as unknown as {
        readonly entity_id: string;
        readonly rows: readonly { readonly insight_value: string }[];
      };
      const found = values.get(entity_id) ?? new Set();
      for (const { insight_value } of rows) found.add(insight_value);
      values.set(entity_id, found);
    }
    expect(values).toEqual(
      new Map([
        ['c1', new Set()],
        ['s1', new Set(['of s1'])],
        [adSet, new Set([`of ${adSet.toUpperCase()}`])],
      ]),
    );
    expect(notes).toEqual([expect.stringMatching(/insight_reports: 105 rows were of other entities/)]);
  });

  test('that has not enough data is a state with its code; another 422 is an error', async () => {
    const { reports, server } = await open(({ url }) =>
      url.includes('entity_ids=c1')
        ? play.json(
            { error_codes: [{ code: 'ILLEGAL.INSIGHT_REPORT.INSUFFICIENT_REACH', definition: 'no' }] },
            {},
            422,
          )
        : play.json({ rows: [{ id: 's1', insight_value: 'x', stats: [] }] }),
    );
    const states = await statesOf(reports);
    expect(states).toHaveLength(30);
    expect(states.filter((one) => JSON.stringify(one).includes('INSUFFICIENT_REACH'))).toHaveLength(15);
    expect(server.fired.filter((name) => name === 'status 422')).toHaveLength(15);

    const other = await open(() => play.json({ messages: ['unprocessable'] }, {}, 422));
    const failing = await insightReports(other.reports).read?.(
      ofAccount,
      warehouse(0),
      new AbortController().signal,
    );
    await expect(failing?.pages.next()).rejects.toBeInstanceOf(Refused);
  });

  test.each([
    ['fails', 500, Transient],
    ['is refused', 422, Refused],
    ['is closed', 403, Forbidden],
  ])(
    'that %s, tonight and every night, does not stand before those that come after it',
    async (_, code, error) => {
      const { reports } = await open(({ url }) =>
        url.includes('insight_dimension=AGE&') && url.includes('entity_ids=c1')
          ? play.json({ messages: ['not this one'] }, {}, code)
          : play.json({ rows: [{ id: 's1', insight_value: 'x', stats: [] }] }),
      );
      const reading = await insightReports(reports).read?.(
        ofAccount,
        warehouse(0),
        new AbortController().signal,
      );
      let told = 0;
      const all = async (): Promise<void> => {
        for (let step = await reading?.pages.next(); step?.done === false; step = await reading?.pages.next())
          told += step.value.records.length;
      };
      const failed = all();
      await expect(failed).rejects.toBeInstanceOf(error);
      await expect(failed).rejects.toThrow(/insight_reports: 1 of 30 failed: CAMPAIGN\/c1\/AGE \(/);
      expect(told).toBe(29);
    },
  );
});
