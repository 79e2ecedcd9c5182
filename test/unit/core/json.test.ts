import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BadData } from '../../../src/core/errors.ts';
import {
  ExactNumber,
  membersToJson,
  numberOf,
  parseJson,
  storableJson,
  toJson,
  valueSlice,
} from '../../../src/core/json.ts';

const parsed = (text: string): unknown => parseJson(Buffer.from(text));
const codeOf = (action: () => unknown): unknown => {
  try {
    action();
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
  return 'nothing thrown';
};

/** An independent judgement: sign, digits and power of ten in exact arithmetic. */
const exactly = (literal: string): { sign: boolean; scaled: bigint; power: number } => {
  const [, minus = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  return { sign: minus === '-', scaled: BigInt(whole + fraction), power: Number(exponent) - fraction.length };
};
const sameValue = (a: string, b: string): boolean => {
  const x = exactly(a);
  const y = exactly(b);
  if (x.scaled === 0n || y.scaled === 0n) return x.scaled === y.scaled;
  const low = Math.min(x.power, y.power);
  if (Math.max(x.power, y.power) - low > 3000) return false;
  return (
    x.sign === y.sign && x.scaled * 10n ** BigInt(x.power - low) === y.scaled * 10n ** BigInt(y.power - low)
  );
};

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });
const literal = fc
  .record({
    minus: fc.boolean(),
    whole: fc.oneof(
      fc.constant('0'),
      digits(0, 24).map((rest) => `1${rest}`),
      digits(0, 3).map((rest) => `9${rest}`),
    ),
    fraction: fc.option(digits(1, 24)),
    exponent: fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits(1, 4))),
  })
  .map(
    ({ minus, whole, fraction, exponent }) =>
      `${minus ? '-' : ''}${whole}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : exponent.join('')}`,
  );

describe('parseJson', () => {
  test('any number literal, wherever it lies, is a double only where the double is exactly that number', () => {
    const noise = fc.oneof(fc.string({ maxLength: 40 }), digits(0, 30), fc.constant('5e999, "1e400'));
    fc.assert(
      fc.property(literal, noise, noise, fc.constantFrom('', ' ', '\n\t'), (text, before, after, space) => {
        const document = `{"a":${JSON.stringify(before)},"n":[${space}${text}${space}],"b":${JSON.stringify(after)}}`;
        const body = parsed(document) as { a: string; n: [number | ExactNumber]; b: string };
        expect([body.a, body.b]).toEqual([before, after]);
        const [number] = body.n;
        if (number instanceof ExactNumber) {
          expect(number.text).toBe(text);
          expect(Number.isFinite(Number(text)) && sameValue(text, String(Number(text)))).toBe(false);
        } else expect(sameValue(text, String(number))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    '9007199254740993',
    '12345678901234567.89',
    '1e400',
    '-1e400',
    '1E0400',
    '1e-400',
    '1.2345e-320',
    '9'.repeat(1000),
  ])('the document %s is exact', (text) => {
    expect(parsed(text)).toEqual(new ExactNumber(text));
    expect(toJson(parsed(text))).toBe(text);
  });

  test.each('9007199254740992 0.1 1.50 1.0000000000000000000000 1e308 0e999 123456789012345'.split(' '))(
    '%s is a plain number',
    (text) => expect(parsed(text)).toBe(Number(text)),
  );

  test('numbers inside strings stay text, also next to a lossy number and behind escapes', () => {
    const text = String.raw`{"a":"\\","b":"x\",9007199254740993,","c":9007199254740993,"d":"1e400"}`;
    expect(parsed(text)).toEqual({
      a: '\\',
      b: 'x",9007199254740993,',
      d: '1e400',
      c: new ExactNumber('9007199254740993'),
    });
  });

  test('a lossy number below 100,000 arrays is refused by name', () => {
    const text = `${'['.repeat(100_000)}9007199254740993${']'.repeat(100_000)}`;
    expect(codeOf(() => parsed(text))).toBe('too_deep');
  });

  test('__proto__ is data and pollutes nothing, with and without lossy numbers', () => {
    for (const number of ['1', '9007199254740993']) {
      const body = parsed(`{"__proto__":{"polluted":${number}},"constructor":${number}}`) as object;
      expect(Object.hasOwn(body, '__proto__')).toBe(true);
      expect('polluted' in {}).toBe(false);
      expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
      expect(toJson(body)).toBe(`{"__proto__":{"polluted":${number}},"constructor":${number}}`);
    }
  });

  test('a byte order mark is dropped and the last of two equal keys wins', () => {
    expect(parsed('\ufeff{"a":1,"a":2}')).toEqual({ a: 2 });
  });

  test.each([
    '{"a":[1,2',
    '{"a":1}{"a":2}',
    '{"a":1} x',
    '',
    ' \n',
    '[09007199254740993]',
    '[NaN]',
    '[9007199254740993.]',
  ])('what is not one document is refused: %j', (text) =>
    expect(codeOf(() => parsed(text))).toBe('bad_json'),
  );

  test('bytes that are not UTF-8 are refused; no error quotes the document', () => {
    expect(codeOf(() => parseJson(Buffer.from([0x22, 0xc3, 0x28, 0x22])))).toBe('bad_utf8');
    expect(() => parsed('{"password":"hunter2" oops}')).toThrow(/^(?!.*(hunter2|oops))/s);
  });
});

test('an object written member by member is written as ever, and refused as ever', () => {
  // Which of two faults is named first may differ.
  const written = (write: () => string): string => {
    try {
      return write();
    } catch (error) {
      if (error instanceof BadData) return 'refused';
      throw error;
    }
  };
  const odd = fc.constantFrom(Number.NaN, -0, 1e21, '\0', '"', '\\', new ExactNumber('9007199254740993'));
  const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), odd);
  // Keys that look like indices would come first in an object.
  const key = fc
    .oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', 'toString', 'a"b'))
    .filter((one) => !/^\d+$/.test(one));
  const some = fc.uniqueArray(fc.tuple(key, value), { selector: ([one]) => one, maxLength: 6 });
  fc.assert(
    fc.property(some, (members) => {
      const keys = members.map(([one]) => one);
      const values = members.map(([, one]) => one);
      const whole = written(() => toJson(Object.fromEntries(members)));
      expect(written(() => membersToJson(keys, values))).toBe(whole);
    }),
  );
});

describe('toJson', () => {
  test('what was parsed is written with the same values', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(toJson(parsed(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    [{ a: 'x\u0000' }, { a: 'x\ufffd' }],
    [{ 'x\u0000': 1 }, { 'x\ufffd': 1 }],
    [['\ud83d'], ['\ufffd']],
    [{ '\ude00x': 1 }, { '\ufffdx': 1 }],
    [['\\\u0000'], ['\\\ufffd']],
    [['\\u0000 \\ud800 😀 \u0001'], ['\\u0000 \\ud800 😀 \u0001']],
  ])('storableJson has U+FFFD for NUL and lone surrogates: %j', (value, storable) =>
    expect(JSON.parse(storableJson(toJson(value)))).toEqual(storable),
  );

  test.each([['\\u0000'], ['\\\\u0000'], ['\\ud800'], ['😀'], ['\u0001'], ['']])(
    'takes the text %j',
    (text) => expect(JSON.parse(toJson([text]))).toEqual([text]),
  );

  test('takes 200 levels and refuses 201, and 100,000, by name', () => {
    const nested = (depth: number): unknown => parsed('['.repeat(depth) + ']'.repeat(depth));
    expect(toJson(nested(200))).toHaveLength(400);
    expect(codeOf(() => toJson(nested(201)))).toBe('too_deep');
    expect(codeOf(() => toJson(nested(100_000)))).toBe('too_deep');
  });

  test('refuses numbers that no numeric holds, and keeps 1,000 digits', () => {
    for (const bad of ['1e131072', '1e-16384', `${'9'.repeat(131_073)}`])
      expect(codeOf(() => toJson([numberOf(bad)]))).toBe('bad_number');
    expect(codeOf(() => toJson([Number.NaN]))).toBe('bad_number');
    expect(toJson([numberOf(`0.${'123456789'.repeat(111)}`)])).toBe(`[0.${'123456789'.repeat(111)}]`);
  });
});

describe('valueSlice', () => {
  const slice = (text: string, path: readonly string[], index: number) =>
    valueSlice(Buffer.from(text), [...path, index])?.toString();

  test('gives the exact bytes of every element of any document', () => {
    const lists = fc.array(fc.jsonValue({ maxDepth: 4 }));
    fc.assert(
      fc.property(lists, fc.string(), fc.constantFrom('', ' ', '\n '), (list, key, s) => {
        const items = list.map((item) => JSON.stringify(item, undefined, s));
        const other = JSON.stringify({ [`${key}!`]: ['no', { [key]: ['"', '\\'] }] }).slice(1, -1);
        const named = `${JSON.stringify(key)}${s}:[${s}${items.join(`${s},`)}${s}]`;
        const text = `${s}{${other},${s}"page":${s}{${named}},"after":[1]}`;
        parsed(text);
        for (const [i, item] of items.entries()) expect(slice(text, ['page', key], i)).toBe(item);
        expect(slice(text, ['page', key], items.length)).toBeUndefined();
      }),
    );
  });

  test('of a key given twice the last counts; escaped keys are read; depth does not matter', () => {
    expect(slice('{"a":[1],"a":[2]}', ['a'], 0)).toBe('2');
    expect(slice('{"\\u0061":[7]}', ['a'], 0)).toBe('7');
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(slice(`\ufeff[0, ${deep}, 2]`, [], 1)).toBe(deep);
  });

  test('what the document lacks is undefined', () => {
    const text = '{"a":{"list":[{"x":"y\\""},2]},"b":3}';
    expect(slice(text, ['a', 'none'], 0)).toBeUndefined();
    expect(slice(text, ['b'], 0)).toBeUndefined();
    expect(slice(text, ['a', 'list'], -1)).toBeUndefined();
  });
});
