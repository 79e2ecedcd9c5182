/** A document read as records that are still bytes says what `parseJson` says of it, to the last value and the same refusal. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BadData } from '../../../src/core/errors.ts';
import { parseJson } from '../../../src/core/json.ts';
import { alikeReader } from '../../../src/core/json-alike.ts';
import { parsedOf, RawRecord } from '../../../src/core/raw-record.ts';

type Json = unknown;

/** What a reading gives: values, or the code of its refusal. */
const outcome = (read: () => Json): Json => {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof BadData) return { refused: error.code };
    throw error;
  }
};

/** The document with its records as values. */
const whole = (body: Json): Json =>
  typeof body === 'object' && body !== null && 'rows' in body && Array.isArray(body.rows)
    ? { ...body, rows: body.rows.map(parsedOf) }
    : body;

const both = (text: string | Buffer, read = alikeReader('rows', ['field_type'])): Json => {
  const raw = Buffer.from(text);
  const told = outcome(() => whole(read(raw)));
  expect(told).toEqual(outcome(() => parseJson(raw)));
  return told;
};

const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '"', '\\', 'ü', '💶', ' ', '\n', ',', '}', ']', ':') }),
  fc.string(),
);
const scalar = fc.oneof(
  text.map((one) => JSON.stringify(one)),
  fc.constantFrom(
    'null',
    'true',
    'false',
    '0',
    '-5',
    '7.0',
    '1.50',
    '1e3',
    '-0',
    '9007199254740993',
    '0.1234567890123456789',
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => JSON.stringify(one)),
);
const key = fc.constantFrom(
  'id',
  'name',
  'stats',
  'field_type',
  'field_value',
  '__proto__',
  'rows',
  'ä',
  'a"b',
);
const space = fc.constantFrom('', '', '', ' ', '\n  ');

/** JSON text, with keys that may come twice. */
const document = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 3, depthIdentifier: 'd' }, scalar, tie('object'), tie('list')),
  object: fc
    .tuple(fc.array(fc.tuple(key, tie('value')), { maxLength: 4, depthIdentifier: 'd' }), space)
    .map(
      ([members, gap]) =>
        `{${gap}${members.map(([name, one]) => `${JSON.stringify(name)}:${gap}${one}`).join(`,${gap}`)}}`,
    ),
  list: fc.array(tie('value'), { maxLength: 3, depthIdentifier: 'd' }).map((items) => `[${items.join(',')}]`),
}));

/** Many records of few forms, as reports have them. */
const rows = fc
  .tuple(fc.array(fc.tuple(document.object, fc.integer({ min: 1, max: 4 })), { maxLength: 4 }), space)
  .map(
    ([some, gap]) =>
      `[${some.flatMap(([one, times]) => Array<string>(times).fill(one)).join(`${gap},${gap}`)}${gap}]`,
  );

const envelope = fc
  .tuple(
    fc.array(fc.tuple(key, document.value), { maxLength: 2 }),
    rows,
    fc.array(fc.tuple(key, document.value), { maxLength: 2 }),
  )
  .map(([before, list, behind]) => {
    const members = [...before, ['rows', list] as const, ...behind];
    return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${one}`).join(',')}}`;
  });

test('any document is read as the same values', () => {
  fc.assert(
    fc.property(envelope, (one) => void both(one)),
    { numRuns: 1_500 },
  );
});

test('a document that is damaged anywhere is refused as ever, or read as ever', () => {
  const read = alikeReader('rows', ['field_type']);
  fc.assert(
    fc.property(
      envelope,
      fc.nat(),
      fc.constantFrom('', '"', ',', '}', ']', '{', '0', '\\', '\x00', '\xff'),
      (one, place, put) => {
        const raw = Buffer.from(one);
        const at = place % raw.length;
        const bytes = [raw.subarray(0, at), Buffer.from(put, 'latin1'), raw.subarray(at + 1)];
        both(Buffer.concat(bytes), read);
        both(raw.subarray(0, at), read);
      },
    ),
    { numRuns: 1_500 },
  );
});

describe('records', () => {
  const row = (id: string, value: string, rest = ''): string =>
    `{"id":"${id}","stats":[{"field_type":"CLICKS","field_value":${value}}]${rest}}`;
  const records = (...some: readonly string[]): readonly Json[] => {
    const body = alikeReader('rows', ['field_type'])(Buffer.from(`{"rows":[${some.join(',')}],"next":null}`));
    return typeof body === 'object' && body !== null && 'rows' in body && Array.isArray(body.rows)
      ? body.rows
      : [];
  };
  const raw = (...some: readonly string[]): readonly boolean[] =>
    records(...some).map((one) => one instanceof RawRecord);

  test('that are like one before them stay bytes', () => {
    expect(raw(row('a', '1'), row('b', '-2.50'), row('ü', 'null'), row('d', '"x"'))).toEqual([
      false,
      true,
      true,
      true,
    ]);
    // Two forms in turn.
    const other = row('c', '1', ',"end":true');
    expect(raw(row('a', '1'), other, row('b', '2'), other)).toEqual([false, false, true, true]);
  });

  test('that differ in more than plain values are parsed', () => {
    for (const odd of [
      row('\\u0061', '1'),
      row('b', '1e3'),
      row('b', '{}'),
      row('b', '1').replace('CLICKS', 'STARTS'),
      row('b', ' 1'),
    ])
      expect(raw(row('a', '1'), odd)).toEqual([false, false]);
  });

  test('know their values by path, and their bytes', () => {
    const [, record] = records(row('a', '1'), row('b', '2.0'));
    if (!(record instanceof RawRecord)) throw new Error('it is no raw record');
    const { shape } = record;
    expect(shape.place('stats', 0, 'field_type')).toBeUndefined();
    expect(shape.place('stats', 0, 'field_value')).toBe(1);
    expect(shape.place('id')).toBe(0);
    expect(record.text(0)).toBe('b');
    expect(record.text(1)).toBeUndefined();
    expect(record.bytes.toString('utf8', record.from, record.to)).toBe(row('b', '2.0'));
    expect(record.value).toEqual({ id: 'b', stats: [{ field_type: 'CLICKS', field_value: 2 }] });
  });

  test('of more forms than are worth knowing are all read', () => {
    const some = Array.from({ length: 40 }, (_, n) => `{"k${n % 20}":${n}}`);
    both(`{"rows":[${some.join(',')}]}`);
  });

  test('of any depth are read', () => {
    const deep = `{"a":${'['.repeat(60_000)}${']'.repeat(60_000)}}`;
    // Not compared value by value: that would be the first to run out of stack.
    expect(records(deep, deep)).toHaveLength(2);
  });
});
