import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BadData } from '../../../src/core/errors.ts';
import type { Stream } from '../../../src/core/stream.ts';
import type { ColumnType, Row } from '../../../src/core/table.ts';
import { BinaryWriter } from '../../../src/load/binary.ts';
import { plainTable } from '../../support/plain-table.ts';
import { openLab, thingFlow } from './things.ts';

const types: readonly ColumnType[] = [
  ...(['text', 'bigint', 'int', 'smallint', 'bool', 'timestamptz', 'date', 'numeric'] as const),
  ...(['float8', 'jsonb', 'json', 'text[]'] as const),
];
const columns = Object.fromEntries([['id', 'bigint'], ...types.map((type, i) => [`c${i}`, type])]) as Record<
  string,
  ColumnType
>;
const zoo = plainTable<Row>({ schema: 'lab', name: 'zoo', columns, key: ['id'], entity: true });
const flow: Stream = { ...thingFlow, table: zoo, children: {} };

const lab = openLab(
  flow,
  '',
  `create table lab.zoo (source_id smallint, id bigint, ${types.map((type, i) => `c${i} ${type}`).join(', ')},
    _synced_at timestamptz, _run_id bigint, _row_hash bigint, _deleted_at timestamptz, primary key (source_id, id))`,
);

const anyText = fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed() && !text.includes('\0'));
const numericText = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.integer({ min: 0, max: 30 }))
  .map(([negative, digits, scale]) => {
    const text = digits.toString().padStart(scale + 1, '0');
    const plain = scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`;
    return negative && digits !== 0n ? `-${plain}` : plain;
  });
const day = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T00:00:00Z'),
  noInvalidDate: true,
});
const values: readonly fc.Arbitrary<Row[string]>[] = [
  anyText,
  fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.maxSafeInteger()),
  fc.integer(),
  fc.integer({ min: -32768, max: 32767 }),
  fc.boolean(),
  fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n }),
  day.map((date) => date.toISOString().slice(0, 10)),
  numericText,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.jsonValue().map((value) => JSON.stringify(value).replaceAll('\\u0000', '')),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.array(anyText, { maxLength: 5 }),
];

/** How Postgres must say the value again. */
const castOf = (type: ColumnType): string =>
  type === 'timestamptz'
    ? `timestamptz 'epoch' + ($1::bigint / 1000000) * interval '1 s' + ($1::bigint % 1000000) * interval '1 us'`
    : `$1::${type}`;

test('every value of every column type arrives in Postgres exactly', async () => {
  let id = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(...values.map((value) => fc.option(value))), { minLength: 1, maxLength: 20 }),
      async (rows) => {
        const first = id;
        const mapped = rows.map((row) => {
          id += 1;
          return {
            row: { id, ...Object.fromEntries(row.map((value, i) => [`c${i}`, value])) },
            children: {},
          };
        });
        await lab.put(mapped);
        for (const [i, row] of rows.entries())
          for (const [c, type] of types.entries()) {
            const value = row[c] ?? null;
            const cast = type === 'json' || type === 'text[]' ? '::text' : '';
            const { rows: found } = await lab.warehouse.pool.query<{ same: boolean; stored: string }>(
              `select c${c}${cast} is not distinct from (${castOf(type)})${cast} as same, c${c}::text as stored
               from lab.zoo where id = ${first + i + 1}`,
              [typeof value === 'number' || typeof value === 'bigint' ? String(value) : value],
            );
            expect(found[0]?.same, `${type} ${value} is stored as ${found[0]?.stored}`).toBe(true);
          }
      },
    ),
    { numRuns: 25 },
  );
});

test.each([
  ['text', 'a\0b', 'bad_text'],
  ['text', 'a\ud800b', 'bad_text'],
  ['text[]', ['ok', 'a\0b'], 'bad_text'],
  ['bigint', 2n ** 63n, 'out_of_range'],
  ['bigint', 2 ** 53, 'out_of_range'],
  ['bigint', 1.5, 'out_of_range'],
  ['int', 2 ** 31, 'out_of_range'],
  ['smallint', 40_000, 'out_of_range'],
  ['float8', Number.POSITIVE_INFINITY, 'out_of_range'],
  ['numeric', 'NaN', 'bad_number'],
  ['numeric', '1,234.50', 'bad_number'],
  ['numeric', '1e9999', 'out_of_range'],
  ['date', 'today', 'bad_date'],
] as const)('%s refuses %s as %s instead of storing something else', (type, value, code) => {
  const writer = new BinaryWriter(16);
  expect(() => writer.field(type, value)).toThrow(expect.objectContaining({ code }) as BadData);
});
