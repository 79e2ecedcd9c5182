import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimalText, ExactNumber } from '../../../src/core/json.ts';

describe('decimalText', () => {
  const equal =
    '0 0, -0 0, -0.00 0.00, -1.50 -1.50, 1.5e3 1500, 1.5E+1 15, 1.25e1 12.5, 125e-2 1.25, 1e-7 0.0000001, ' +
    '-12.5e-3 -0.0125, 0.5e1 5, 5e0 5, 12345678901234567.89 12345678901234567.89';
  it.each(equal.split(', ').map((pair) => pair.split(' ')))('%s is %s', (literal = '', text) => {
    expect(decimalText(new ExactNumber(literal))).toBe(text);
  });

  it('is the same number for every double', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = decimalText(value);
        expect(text).toMatch(/^-?\d+(\.\d+)?$/);
        expect(Number(text) === value).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it.each(['1e131073', '1e-16384', '1e99999999999'])('%s is beyond what Postgres holds', (literal) => {
    expect(() => decimalText(new ExactNumber(literal))).toThrow('beyond what numeric holds');
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('%s is no decimal', (value) => {
    expect(() => decimalText(value)).toThrow('is not a decimal');
  });
});
