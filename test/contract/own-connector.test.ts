/**
 * A connector written from docs/connectors.md alone, against a server that sends what real ones do: money as
 * text, values missing, elements of lists that cannot be read (guarantee G12).
 */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { scriptedServer } from '../../simulators/testing/index.ts';
import { withSource } from '../../simulators/testing/warehouse.ts';
import type { RunReport } from '../../src/core/run.ts';
import type { RunDeps } from '../../src/engine/context/deps.ts';
import { replayRejects } from '../../src/engine/replay.ts';
import { sync } from '../../src/engine/sync.ts';
import {
  bearer,
  column,
  defineConnector,
  existsAt,
  field,
  from,
  get,
  idBy,
  listNamed,
  readInto,
  records,
  setting,
  single,
  transformOf,
} from '../../src/index.ts';
import { type TestDatabase, testDatabase } from '../support/postgres.ts';

const orders = records('lab.orders', 'Orders, one row each.', {
  id: field.id('id', 'Id.').key(),
  status: field.word('status', 'open or paid.').oneOf('open', 'paid'),
  code: field.keyText('code', 'A code.'),
  customer: field.text('customer.name', 'Who ordered.'),
  total: field.decimal('total', 'Total.'),
  fee: from(column.money('A fee in units of the currency.'), 'fee', (_r, { fee }) => fee as string),
  pieces: field.whole('pieces', 'How many.'),
  rank: field.int4('rank', 'A small number.'),
  gift: field.bool('gift', 'Whether it is a gift.'),
  due: field.day('due', 'When it is due.'),
  placed_at: field.instant('placed_at', 'When it was placed (UTC).'),
  note: field.text('note?', 'A note.'),
});

const ofOrder = { order_id: column.bigint('The order, see lab.orders.id.').key() };
const itemsWith = (quantity: ReturnType<typeof column.text>) =>
  records(
    'lab.order_items',
    'Items of orders, one row each.',
    { ...ofOrder, sku: field.keyText('sku', 'Article.').key(), quantity },
    { relation: true },
  );
const items = itemsWith(field.whole('quantity', 'How many.') as never);
const notes = records('lab.order_notes', 'Notes on orders, one row each.', {
  ...ofOrder,
  id: field.id('id', 'Id.').key(),
  written_at: field.instant('written_at', 'When it was written (UTC).'),
});
const shops = records('lab.shops', 'Shops, one row each.', {
  id: field.id('id', 'Id.').key(),
  name: field.text('name', 'Name.'),
});

/**
 * `inner`: the table of the items, whose reading a new version of a connector may change. `odd`: members of the walk over orders, as
 * somebody without a type checker may write them.
 */
const lab = (inner = items, odd: object = {}) =>
  defineConnector({
    name: 'lab',
    about: 'Orders of a laboratory.',
    schema: 'lab',
    tables: [orders, inner, notes, shops],
    settings: { baseUrl: setting.url('the address'), token: setting.secret('a token') },
    open({ baseUrl, token }, tools) {
      const http = tools.http({ baseUrl, auth: bearer(token) });
      const walk = (path: string, endpoint = path) => ({
        first: get(path, {}, endpoint),
        paging: single(),
        list: listNamed(endpoint, 'values'),
        id: idBy('id'),
      });
      return {
        http,
        check: async (signal) => ({ clock: (await http.send(get('/me'), signal)).date }),
        streams: [
          {
            by: 'list',
            name: 'orders',
            about: 'Orders.',
            endpoint: 'GET /orders',
            pages: () => ({ ...walk('/orders'), ...odd }),
            ...readInto(orders, {
              items: { table: inner, list: 'items' },
              notes: { table: notes, count: 'notes', walk: ({ id }) => walk(`/notes/${id}`, '/notes/{id}') },
            }),
            absent: 'keep',
            exists: existsAt(http, '/orders/{id}'),
          },
          {
            by: 'list',
            name: 'shops',
            about: 'Shops.',
            endpoint: 'GET /shops',
            pages: () => walk('/shops'),
            table: shops,
            transform: transformOf(shops),
            absent: 'keep',
          },
        ],
      };
    },
  });

const good = {
  status: 'open',
  code: 'c',
  customer: { name: 'Ada' },
  total: 1.5,
  fee: '0.1',
  pieces: 3,
  rank: 1,
  gift: false,
  due: '2024-03-01',
  placed_at: '2024-03-01T09:00:00Z',
  notes: 0,
  items: [],
};

/** What the server answers, by path; text is sent as it is. */
let world: Record<string, unknown>;
let database: TestDatabase;
let url: string;
beforeEach(async () => {
  world = { '/me': {}, '/orders': [], '/shops': [{ id: 1, name: 'one' }] };
  database = await testDatabase();
  const server = await scriptedServer(({ path }) => {
    const body = world[path.split('?')[0] ?? ''] ?? { values: [] };
    const sent = typeof body === 'string' ? Buffer.from(body) : Array.isArray(body) ? { values: body } : body;
    return { status: 200, headers: { date: new Date().toUTCString() }, body: sent };
  });
  url = server.url;
  onTestFinished(async () => {
    await server.close();
    await database.drop();
  });
});

const during = async (work: (deps: RunDeps) => Promise<RunReport>, connector = lab()): Promise<RunReport> => {
  const { temporaryWarehouse } = await import('../../simulators/testing/index.ts');
  const temporary = await temporaryWarehouse([connector], database.url);
  const values = { baseUrl: url, token: { reveal: () => 'x' }, exclude: [], concurrency: 4 };
  const { signal } = new AbortController();
  try {
    return await withSource(
      connector.connector,
      { ...values, requestsPerSecond: 0 },
      temporary,
      signal,
      work,
    );
  } finally {
    await temporary.close();
  }
};
const read = (streams: readonly string[] = ['orders']) => during((deps) => sync(deps, { streams }));
const rows = async (query: string): Promise<readonly unknown[][]> =>
  (await database.warehouse.pool.query<unknown[]>({ text: query, rowMode: 'array' })).rows;
const openRejects = () =>
  rows(
    `select part, record_key, convert_from(payload, 'UTF8') from ops.rejects where status = 'open' order by 1, 2, 3`,
  );

test('a number sent as text is that number, exactly', async () => {
  const told = { total: '1.50', pieces: '42', rank: '7', fee: '0.000001' };
  const large = { total: '12345678901234567.89', pieces: '9007199254740993', rank: '-1', fee: '3' };
  world['/orders'] = [
    { ...good, id: 1, ...told },
    { ...good, id: 2, ...large },
  ];
  expect(await read()).toMatchObject({ status: 'succeeded', counts: { inserted: 2, rejected: 0 } });
  expect(await rows('select total::text, pieces::text, rank, fee::text from lab.orders order by id')).toEqual(
    [
      ['1.50', '42', 7, '0.000001'],
      ['12345678901234567.89', '9007199254740993', -1, '3.000000'],
    ],
  );
});

const wrong: Readonly<Record<string, readonly unknown[]>> = {
  status: [null, undefined, 'lost', 5],
  code: [null, undefined, '', {}],
  customer: [null, undefined, 'Ada', { name: null }],
  total: [null, undefined, 'much', ''],
  fee: [null, '1000000000000', '0.0000001', 5],
  pieces: [null, undefined, 1.5, '1.5'],
  rank: [null, undefined, 2 ** 31, '2147483648'],
  gift: [null, undefined, 'yes', 1],
  due: [null, undefined, 20240301, 'tomorrow'],
  placed_at: [null, undefined, 'now', true],
};

test('a value that a required column cannot take rejects its record by name, and no other', async () => {
  const bad = Object.entries(wrong).flatMap(([name, values]) => values.map((value) => ({ [name]: value })));
  const all = Array.from({ length: 4_100 }, (_, at) => ({ ...good, id: at + 1, ...bad[at] }));
  world['/orders'] = all;
  const kept = { received: all.length, inserted: all.length - bad.length, rejected: bad.length };
  expect(await read()).toMatchObject({ status: 'succeeded', counts: kept });
  const messages = await rows('select record_key, message from ops.rejects order by record_key::int');
  for (const [at, one] of bad.entries()) {
    const [key, message] = messages[at] ?? [];
    expect(key).toBe(`${at + 1}`);
    expect(message).toMatch(new RegExp(`\\b${at + 1}\\b`));
    expect(message).toContain(Object.keys(one)[0]);
  }
});

test('a stream whose records were all rejected fails, however few; the others are read', async () => {
  world['/shops'] = [{ id: 1, name: null }];
  world['/orders'] = [{ ...good, id: 1 }];
  const report = await read(['orders', 'shops']);
  expect(report.status).toBe('partly_failed');
  expect(report.streams).toMatchObject([
    { stream: 'orders', status: 'ok' },
    { stream: 'shops', status: 'failed', reason: expect.stringContaining('the only record was rejected') },
  ]);
  expect(report.streams[1]?.reason).toContain('shop 1 has no name');
  expect(await openRejects()).toEqual([['', '1', '{"id":1,"name":null}']]);
  // No checkpoint says that they are read: it fails until one of them is good.
  expect((await read(['shops'])).status).toBe('failed');
  world['/shops'] = [
    { id: 1, name: null },
    { id: 2, name: 'two' },
  ];
  expect(await read(['shops'])).toMatchObject({ status: 'succeeded', counts: { inserted: 1, rejected: 1 } });
});

/** As a server may write it: the bytes of a part are kept as they came. */
const order = (...elements: readonly string[]): string =>
  `{ "values": [${JSON.stringify({ ...good, id: 7, items: '@' }).replace('"@"', `[ ${elements.join(' , ')} ]`)}] }`;
const apple = '{"sku":"apple","quantity":1}';
const pear = '{ "sku" : "pear",  "quantity": 2 }';
const badPear = '{ "sku" : "pear",  "quantity": "many" }';
const itemRows = () => rows('select sku, quantity::int from lab.order_items order by 1');

test('a bad element of a list costs itself: its record lands, its earlier row stays until the list can be read', async () => {
  world['/orders'] = order(apple, badPear);
  const first = { status: 'succeeded', counts: { received: 2, inserted: 1, rejected: 1 } };
  expect(await read()).toMatchObject(first);
  expect(await itemRows()).toEqual([['apple', 1]]);
  expect(await openRejects()).toEqual([['items', '7', badPear]]);
  const [[message]] = (await rows('select message from ops.rejects')) as [[string]];
  expect(message).toMatch(/order 7 has text as items\[1\]\.quantity, expected a whole number/);
  // Again the same: one reject with one more attempt.
  expect(await read()).toMatchObject({ counts: { received: 2, unchanged: 1, rejected: 1 } });
  expect(await rows('select attempts from ops.rejects')).toEqual([[2]]);

  world['/orders'] = order(apple, pear);
  expect(await read()).toMatchObject({ counts: { received: 1, updated: 1, rejected: 0 } });
  expect(await itemRows()).toEqual([
    ['apple', 1],
    ['pear', 2],
  ]);
  expect(await openRejects()).toEqual([]);

  // What the list does not show may be the element that cannot be read: no row of it goes.
  for (const odd of ['null', '"pear"', '{"sku":"pear"}', '5', `{"sku":"${'p'.repeat(3000)}","quantity":1}`]) {
    world['/orders'] = order(odd);
    expect(await read(), odd).toMatchObject({ status: 'succeeded', deleted: 0, counts: { rejected: 1 } });
    expect(await openRejects(), odd).toEqual([['items', '7', odd]]);
  }
  expect(await itemRows()).toEqual([
    ['apple', 1],
    ['pear', 2],
  ]);
  world['/orders'] = order(apple);
  expect(await read()).toMatchObject({ deleted: 1, counts: { rejected: 0 } });
  expect(await itemRows()).toEqual([['apple', 1]]);
  expect(await openRejects()).toEqual([]);
});

test('the same of a list that is fetched apart; its reject stays open while the list is not fetched again', async () => {
  const at = (id: number, written_at: unknown) => ({ id, written_at });
  const noon = '2024-03-01T12:00:00Z';
  world['/orders'] = [{ ...good, id: 7, notes: 3 }];
  world['/notes/7'] = [at(1, noon), at(2, 'noon'), { written_at: noon }];
  expect(await read()).toMatchObject({ status: 'succeeded', counts: { inserted: 1, rejected: 2 } });
  const bad = [
    ['notes', '7', JSON.stringify(at(2, 'noon'))],
    ['notes', '7', JSON.stringify({ written_at: noon })],
  ];
  expect(await openRejects()).toEqual(bad);
  const noteRows = () => rows('select id::int from lab.order_notes where _deleted_at is null order by 1');
  expect(await noteRows()).toEqual([[1]]);
  expect(await read()).toMatchObject({ status: 'succeeded', counts: { unchanged: 1, rejected: 0 } });
  expect(await openRejects()).toEqual(bad);
  world['/orders'] = [{ ...good, id: 7, notes: 2, note: 'changed' }];
  world['/notes/7'] = [at(2, noon), at(3, noon)];
  expect(await read()).toMatchObject({ status: 'succeeded', counts: { updated: 1, rejected: 0 } });
  expect(await openRejects()).toEqual([]);
  expect(await noteRows()).toEqual([[2], [3]]);
});

test('a replay puts a part into its own table once its connector can read it', async () => {
  world['/orders'] = order(apple, badPear);
  await read();
  const replay = (connector = lab()) =>
    during(async (deps) => {
      expect(await replayRejects(deps, {})).toEqual(expected);
      return sync(deps, { streams: ['shops'] });
    }, connector);
  let expected = { replayed: 0, stillRejected: 1 };
  await replay();
  await database.warehouse.pool.query('alter table lab.order_items alter quantity type text');
  expected = { replayed: 1, stillRejected: 0 };
  await replay(lab(itemsWith(field.text('quantity', 'How many, in words.'))));
  expect(await rows('select order_id::int, sku, quantity from lab.order_items order by 2')).toEqual([
    [7, 'apple', '1'],
    [7, 'pear', 'many'],
  ]);
  expect(await rows('select status from ops.rejects')).toEqual([['replayed']]);
});

test('too many bad parts fail the run, as too many bad records do', async () => {
  world['/orders'] = order(apple, ...Array.from({ length: 11 }, (_, at) => `{"sku":"s${at}"}`));
  const report = await read();
  expect(report).toMatchObject({ status: 'failed', error: { code: 'too_many_rejects' } });
  expect(report.error?.message).toContain('11 of 12 parts of records');
  expect(await rows('select from ops.checkpoints')).toEqual([]);
  expect(await openRejects()).toHaveLength(11);
});

test.each<[what: string, odd: object, sentence: string]>([
  [
    'a URL that is none',
    {
      paging: {
        next: () => ({ request: { ...get('/orders'), url: 2 }, overlap: 0 }),
        total: () => undefined,
      },
    },
    "orders: /orders: the connector's paging.next fails: it gives a number as request.url",
  ],
  [
    'a member that the answer lacks',
    { id: (record: unknown) => Object(record).key.id },
    "orders: /orders: the connector's id fails: Cannot read properties of undefined (reading 'id')",
  ],
])('a wrong walk costs its stream alone, and a sentence says where: %s', async (_, odd, sentence) => {
  world['/orders'] = [{ ...good, id: 1 }];
  const report = await during((deps) => sync(deps, { streams: ['orders', 'shops'] }), lab(items, odd));
  expect(report.status).toBe('partly_failed');
  expect(report.streams).toMatchObject([
    { stream: 'orders', status: 'failed', reason: expect.stringContaining(sentence) },
    { stream: 'shops', status: 'ok' },
  ]);
});
