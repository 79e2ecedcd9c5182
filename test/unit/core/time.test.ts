import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadData } from '../../../src/core/errors.ts';
import {
  dateToInstant,
  days,
  formatInstant,
  hours,
  instantToDate,
  minutes,
  parseAnyInstant,
  parseDay,
  parseInstant,
  seconds,
} from '../../../src/core/time.ts';

const code = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof BadData) return error.code;
    throw error;
  }
  return 'no error';
};

describe('parseInstant', () => {
  it.each([
    ['2020-06-12T08:13:13.360+0800', '2020-06-12T00:13:13.360Z'],
    ['2020-06-12T08:13:13.360+08:00', '2020-06-12T00:13:13.360Z'],
    ['2020-06-12T00:13:13Z', '2020-06-12T00:13:13.000Z'],
    ['2020-06-11T18:43:13.360-0530', '2020-06-12T00:13:13.360Z'],
    ['2020-06-12T00:13:13.1Z', '2020-06-12T00:13:13.100Z'],
    ['2020-06-12T00:13:13.123456Z', '2020-06-12T00:13:13.123456Z'],
    ['2020-06-12T00:13:13.123456000Z', '2020-06-12T00:13:13.123456Z'],
    ['2020-02-29T23:59:59.999-1200', '2020-03-01T11:59:59.999Z'],
    ['1969-12-31T23:59:59.999999Z', '1969-12-31T23:59:59.999999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['2020-06-12T00:13:13-00:00', '2020-06-12T00:13:13.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(formatInstant(parseInstant(text))).toBe(expected);
  });

  it.each([
    '2024-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2024-04-31T00:00:00Z',
    '2024-00-01T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-01-00T00:00:00Z',
    '2024-01-01T24:00:00Z',
    '2024-01-01T23:60:00Z',
    '2024-06-30T23:59:60Z',
    '2024-01-01T00:00:00',
    '2024-01-01T00:00:00.000',
    '2024-01-01T00:00:00+08',
    '2024-01-01T00:00:00+8:00',
    '2024-01-01T00:00:00+08:60',
    '2024-01-01T00:00:00+08:00:00',
    '2024-01-01T00:00:00+18:01',
    '2024-01-01T00:00:00-1801',
    '2024-01-01T00:00:00+99:99',
    '2024-01-01T00:00:00ZZ',
    '2024-01-01T00:00:00Z ',
    ' 2024-01-01T00:00:00Z',
    '2024-01-01 00:00:00Z',
    '2024-01-01t00:00:00z',
    '2024-01-01T00:00:00.Z',
    '2024-01-01T00:00:00,5Z',
    '2024-01-01T00:00:00.1234567Z',
    '2024-01-01T00:00Z',
    '2024-01-01T0:00:00Z',
    '2024-1-01T00:00:00Z',
    '24-01-01T00:00:00Z',
    '0000-12-31T23:59:59Z',
    '10000-01-01T00:00:00Z',
    '-2024-01-01T00:00:00Z',
    '+2024-01-01T00:00:00Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '2024-01-01',
    '20240101T000000Z',
    '２０２４-01-01T00:00:00Z',
    '1591920793360',
    'now',
    'today',
    'infinity',
    '-infinity',
    'null',
    '',
  ])('%j is refused, never guessed', (text) => {
    expect(code(() => parseInstant(text))).toBe('bad_instant');
  });

  it('reads numbers as epoch milliseconds, or as seconds where they may be', () => {
    expect(formatInstant(parseInstant(1_591_920_793_360))).toBe('2020-06-12T00:13:13.360Z');
    expect(formatInstant(parseInstant(-1))).toBe('1969-12-31T23:59:59.999Z');
    expect(formatInstant(parseInstant(1_492_070_429))).toBe('2017-04-13T08:00:29.000Z');
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1e300, 253_402_300_800_000, -62_135_596_800_001])(
    'the number %s is refused',
    (value) => expect(code(() => parseInstant(value))).toBe('bad_instant'),
  );

  it('agrees with an independent formatter on every instant, offset and precision', () => {
    const two = (n: number): string => String(n).padStart(2, '0');
    fc.assert(
      fc.property(
        fc.bigInt({ min: -62_135_500_000_000_000n, max: 253_402_200_000_000_000n }),
        fc.integer({ min: -18 * 60, max: 18 * 60 }),
        fc.constantFrom('', ':'),
        (instant, offset, colon) => {
          // The wall clock of the offset, written by `Date`; the microseconds by themselves.
          const ms = instant >= 0n || instant % 1000n === 0n ? instant / 1000n : instant / 1000n - 1n;
          const wall = new Date(Number(ms) + offset * 60_000).toISOString().slice(0, 23);
          const micros = String(instant - ms * 1000n).padStart(3, '0');
          const sign = offset < 0 ? '-' : '+';
          const zone = `${sign}${two(Math.trunc(Math.abs(offset) / 60))}${colon}${two(Math.abs(offset) % 60)}`;
          expect(parseInstant(`${wall}${micros}${zone}`)).toBe(instant);
          expect(parseInstant(`${wall}${zone}`)).toBe(ms * 1000n);
          expect(parseInstant(formatInstant(instant))).toBe(instant);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('takes any text either exactly as Date does, or not at all', () => {
    const seed = fc.constantFrom('2024-02-29T12:34:56.789+0530', '2020-06-12T00:13:13Z');
    const near = fc
      .tuple(seed, fc.nat(30), fc.string({ maxLength: 2 }))
      .map(([text, at, put]) => text.slice(0, at) + put + text.slice(at + put.length));
    const any = fc.oneof(near, fc.string({ maxLength: 40 }), fc.string({ unit: 'binary', maxLength: 30 }));
    fc.assert(
      fc.property(any, (text) => {
        const refused = code(() => parseInstant(text));
        if (refused !== 'no error') {
          expect(refused).toBe('bad_instant');
          return;
        }
        const known = text.replace(/([+-]\d\d)(\d\d)$/, '$1:$2').replace(/(\.\d{3})\d+/, '$1');
        expect(instantToDate(parseInstant(text)).getTime()).toBe(Date.parse(known));
      }),
      { numRuns: 3000 },
    );
  });

  it('shows the value in the error, short and escaped', () => {
    expect(() => parseInstant('never\u0000\u001b[31m')).toThrow(
      '"never\\u0000\\u001b[31m" is not an instant',
    );
    expect(() => parseInstant('x'.repeat(10_000))).toThrow(/^.{10,200}$/);
  });
});

describe('parseDay', () => {
  it.each(['2024-02-29', '0001-01-01', '9999-12-31', '2000-02-29'])('%s is a day', (text) => {
    expect(parseDay(text)).toBe(text);
  });

  it.each([
    '2024-02-30',
    '2023-02-29',
    '2024-1-1',
    '2024-01-01T00:00:00Z',
    '2024-01-01 ',
    '0000-01-01',
    '24-01-01',
    '',
    'today',
    '2024/01/01',
    '2024-00-10',
    '2024-12-00',
  ])('%j is refused', (text) => expect(code(() => parseDay(text))).toBe('bad_date'));
});

describe('conversions', () => {
  it('goes to Date and back, rounding down to the millisecond', () => {
    expect(instantToDate(1_999n).getTime()).toBe(1);
    expect(instantToDate(-1n).getTime()).toBe(-1);
    expect(dateToInstant(new Date('2020-06-12T00:13:13.360Z'))).toBe(1_591_920_793_360_000n);
    expect(code(() => dateToInstant(new Date('nonsense')))).toBe('bad_instant');
  });

  it('names durations by their unit, in milliseconds', () => {
    expect([seconds(2), minutes(2), hours(2), days(2)]).toEqual([2000, 120_000, 7_200_000, 172_800_000]);
  });
});

describe('parseAnyInstant', () => {
  it.each([
    ['2026-11-16T14:30:36.123456789Z', '2026-11-16T14:30:36.123456Z'],
    ['2026-11-16T14:30:36+05:30', '2026-11-16T09:00:36.000Z'],
    ['1492070429', '2017-04-13T08:00:29.000Z'],
    [1_492_070_429.5, '2017-04-13T08:00:29.500Z'],
    [1_492_070_429_000, '2017-04-13T08:00:29.000Z'],
  ])('%s is %s', (value, utc) => expect(formatInstant(parseAnyInstant(value))).toBe(utc));

  it.each(['2026-11-16 14:30:36', '2026-11-16T14:30:36', '2026-02-30T14:30:36Z', 12])(
    '%s is refused',
    (value) => expect(code(() => parseAnyInstant(value))).toBe('bad_instant'),
  );
});
