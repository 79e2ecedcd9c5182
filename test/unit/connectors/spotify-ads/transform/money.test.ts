import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adSets } from '../../../../../src/connectors/spotify-ads/ad-sets.ts';
import {
  amounts,
  fitting,
  fromMicros,
  fromUnits,
} from '../../../../../src/connectors/spotify-ads/amounts.ts';
import { BadData } from '../../../../../src/core/errors.ts';
import { numberOf, parseJson } from '../../../../../src/core/json.ts';

const adSet = adSets.transform;
const account = { partition: { ad_account_id: 'acc' } };
/** An ad set whose JSON was written by the source as `literal`. */
const withBudget = (literal: string) =>
  adSet(
    parseJson(
      Buffer.from(`{"id": "s", "budget": {"micro_amount": ${literal}, "type": "DAILY", "currency": "EUR"}}`),
    ),
    account,
  );

describe('micros become units exactly', () => {
  it.each([
    ['9007199254740993', '9007199254.740993'],
    ['-9007199254740993', '-9007199254.740993'],
    ['1', '0.000001'],
    ['-1', '-0.000001'],
    ['0', '0.000000'],
    ['-0', '0.000000'],
    ['-0.0', '0.000000'],
    ['250000000', '250.000000'],
    ['250000000.0', '250.000000'],
    ['1.5e6', '1.500000'],
    ['25E+1', '0.000250'],
    ['2500e-2', '0.000025'],
    ['1234567890123456789012345678901234567890', '1234567890123456789012345678901234.567890'],
  ])('%s → %s', (literal, text) => {
    expect(fromMicros(numberOf(literal))).toBe(text);
  });

  it('any whole number of any size, there and back', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n }), (micros) => {
        const text = fromMicros(numberOf(String(micros)));
        expect(text).toMatch(/^-?(0|[1-9]\d*)\.\d{6}$/);
        expect(BigInt(text.replace('.', ''))).toBe(micros);
      }),
    );
  });

  it('the sum of amounts is the sum of their micros', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })), (all) => {
        const added = all.reduce(
          (sum, one) => sum + BigInt(fromMicros(numberOf(String(one))).replace('.', '')),
          0n,
        );
        expect(added).toBe(all.reduce((sum, one) => sum + one, 0n));
      }),
    );
  });

  it.each(['1.5', '0.1', '1e-1', '9007199254740993.5'])(
    'a fraction of a millionth (%s) is refused',
    (literal) => {
      expect(() => fromMicros(numberOf(literal))).toThrow(BadData);
    },
  );
});

describe('units', () => {
  it.each([
    ['12.34', '12.340000', false],
    ['73775.0', '73775.000000', false],
    ['0.1', '0.100000', false],
    ['12345678901.234567', '12345678901.234567', false],
    ['-1e-6', '-0.000001', false],
    ['0.0000005', '0.000001', true],
    ['0.00000049', '0.000000', true],
    ['-0.0000005', '-0.000001', true],
    ['9.9999999', '10.000000', true],
    ['0.30000000000000004', '0.300000', true],
  ])('%s → %s, rounded: %s', (literal, text, rounded) => {
    expect(fromUnits(numberOf(literal))).toEqual({ text, rounded });
  });

  it('with at most six digits behind the point keep every digit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }), (millionths) => {
        const { text, rounded } = fromUnits(numberOf(fromMicros(numberOf(String(millionths)))));
        expect(rounded).toBe(false);
        expect(BigInt(text.replace('.', ''))).toBe(millionths);
      }),
    );
  });

  it('rounded, they are never off by more than half a millionth, and exactly that goes away from zero', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), (billionths) => {
        const digits = String(billionths < 0n ? -billionths : billionths).padStart(10, '0');
        const literal = `${billionths < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`;
        const off = BigInt(fromUnits(numberOf(literal)).text.replace('.', '')) * 1000n - billionths;
        const away = billionths < 0n ? -off : off;
        expect(away > -500n && away <= 500n).toBe(true);
      }),
    );
  });
});

describe('an amount of an ad set', () => {
  it('arrives in the warehouse to the last digit', () => {
    expect(withBudget('9007199254740993').row).toMatchObject({
      budget: '9007199254.740993',
      budget_type: 'DAILY',
      budget_currency: 'EUR',
    });
  });

  it('may be the digits of a 64-bit number as text, or stand alone', () => {
    expect(withBudget('"9007199254740993"').row.budget).toBe('9007199254.740993');
    expect(adSet({ id: 's', budget: 5_000_000 }, account).row).toMatchObject({
      budget: '5.000000',
      budget_type: null,
    });
  });

  it.each([
    { budget: { amount_micros: 12_345_678, type: 'DAILY', currency: 'EUR' } },
    { budget: { amount: 12_345_678, type: 'DAILY', currency: 'EUR' } },
    { budget_micro_amount: 12_345_678, budget_type: 'DAILY', budget_currency: 'EUR' },
    { budget: { micro_amount: 12_345_678 }, budget_type: 'DAILY', budget_currency: 'EUR' },
    { budget: { type: 'DAILY', currency: 'EUR' }, budget_micro_amount: 12_345_678 },
  ])('is a micro-amount under whatever name: %o', (given) => {
    const { row, notes } = adSet({ id: 's', ...given }, account);
    expect(row).toMatchObject({
      budget: '12.345678',
      budget_type: 'DAILY',
      budget_currency: 'EUR',
      _extra: null,
    });
    expect(notes).toBeUndefined();
  });

  it('given twice is the one inside; the other is kept and noted', () => {
    const budget = { micro_amount: 5_000_000, type: 'DAILY' };
    const { row, notes } = adSet(
      { id: 's', budget, budget_micro_amount: 7, budget_type: 'LIFETIME' },
      account,
    );
    expect(row).toMatchObject({ budget: '5.000000', budget_type: 'DAILY' });
    expect(row._extra).toBe('{"budget_micro_amount":7,"budget_type":"LIFETIME"}');
    expect(notes).toHaveLength(2);
  });

  it('that is missing is null, not 0', () => {
    expect(adSet({ id: 's' }, account).row).toMatchObject({ budget: null, bid: null, base_rate: null });
    expect(withBudget('null').row.budget).toBeNull();
  });

  it.each(['"1,234.50"', '"12.50"', '"007"', '"$5"', '""', '"1e6"', 'true', '{}', '[5]', '1.5', '"NaN"'])(
    'that is %s rejects the ad set, by name',
    (literal) => {
      expect(() => withBudget(literal)).toThrow(/ads\.ad_sets: ad set s has a (bad )?budget\.micro_amount/);
    },
  );

  it('that numeric(18,6) cannot hold rejects the ad set', () => {
    expect(withBudget('999999999999999999').row.budget).toBe('999999999999.999999');
    expect(() => withBudget('1000000000000000000')).toThrow(BadData);
    expect(() => withBudget('-1234567890123456789012345678901234567890')).toThrow(BadData);
    expect(() => fitting('-1000000000000.000000')).toThrow(BadData);
    expect(fitting('-999999999999.999999')).toBe('-999999999999.999999');
  });

  it('is micros, of a report units: declared field by field', () => {
    expect(amounts).toEqual({
      'ad_set.budget': 'micros',
      'ad_set.bid': 'micros',
      'ad_set.base_rate': 'micros',
      'report.spend': 'units',
      'report.revenue': 'units',
    });
    const row = adSet(
      { id: 's', bid_micro_amount: 20_000_000, base_rate_micro_amount: 15_000_001 },
      account,
    ).row;
    expect(row).toMatchObject({ bid: '20.000000', base_rate: '15.000001' });
  });
});
