import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adSets } from '../../../../../src/connectors/spotify-ads/entities.ts';
import { fromMicros, fromUnits } from '../../../../../src/connectors/spotify-ads/numbers.ts';
import { BadData } from '../../../../../src/core/errors.ts';
import { numberOf, parseJson } from '../../../../../src/core/json.ts';

const slice = { partition: { ad_account_id: 'acc' } };
const adSet = (fields: object) => adSets.transform({ id: 's', ...fields }, slice);
/** An ad set whose JSON was written by the source as `literal`. */
const withBudget = (literal: string) =>
  adSet(parseJson(Buffer.from(`{"budget": {"micro_amount": ${literal}, "type": "DAILY"}}`)) as object);

/** What `numeric(18,6)` holds, in millionths. */
const fitting = fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n });
const microsIn = (text: string): bigint => BigInt(text.replace('.', ''));

describe('millionths', () => {
  it.each([
    ['9007199254740993', '9007199254.740993'],
    ['-9007199254740993', '-9007199254.740993'],
    ['1', '0.000001'],
    ['-1', '-0.000001'],
    ['0', '0.000000'],
    ['-0.0', '0.000000'],
    ['250000000.0', '250.000000'],
    ['1.5e6', '1.500000'],
    ['25E+1', '0.000250'],
    ['2500e-2', '0.000025'],
    ['999999999999999999', '999999999999.999999'],
  ])('%s are %s units', (literal, text) => {
    expect(fromMicros(numberOf(literal))).toBe(text);
  });

  it('that the column holds come back exactly, read as millionths or as units', () => {
    fc.assert(
      fc.property(fitting, (micros) => {
        const text = fromMicros(numberOf(String(micros)));
        expect(text).toMatch(/^-?(0|[1-9]\d*)\.\d{6}$/);
        expect(microsIn(text)).toBe(micros);
        expect(fromUnits(numberOf(text))).toEqual({ text, rounded: false });
      }),
    );
  });

  it.each(['1.5', '0.1', '1e-1', '9007199254740993.5', '1000000000000000000', '-1234567890123456789012345'])(
    '%s are refused: a fraction of a millionth, or more than the column holds',
    (literal) => {
      expect(() => fromMicros(numberOf(literal))).toThrow(BadData);
    },
  );
});

describe('units', () => {
  it.each([
    ['12.34', '12.340000', false],
    ['73775.0', '73775.000000', false],
    ['-1e-6', '-0.000001', false],
    ['0.0000005', '0.000001', true],
    ['0.00000049', '0.000000', true],
    ['-0.0000005', '-0.000001', true],
    ['9.9999999', '10.000000', true],
    ['0.30000000000000004', '0.300000', true],
  ])('%s are %s, rounded: %s', (literal, text, rounded) => {
    expect(fromUnits(numberOf(literal))).toEqual({ text, rounded });
  });

  it('are rounded by at most half a millionth, and exactly that goes away from zero', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), (billionths) => {
        const digits = String(billionths < 0n ? -billionths : billionths).padStart(10, '0');
        const literal = `${billionths < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`;
        const off = microsIn(fromUnits(numberOf(literal)).text) * 1000n - billionths;
        const away = billionths < 0n ? -off : off;
        expect(away > -500n && away <= 500n).toBe(true);
      }),
    );
  });
});

describe('an amount of an ad set', () => {
  it.each([
    [{ budget: { amount_micros: 12_345_678, type: 'DAILY', currency: 'EUR' } }],
    [{ budget: { amount: 12_345_678, type: 'DAILY', currency: 'EUR' } }],
    [{ budget: { micro_amount: '12345678', type: 'DAILY', currency: 'EUR' } }],
    [{ budget_micro_amount: 12_345_678, budget_type: 'DAILY', budget_currency: 'EUR' }],
    [{ budget: { micro_amount: 12_345_678 }, budget_type: 'DAILY', budget_currency: 'EUR' }],
    [{ budget: { type: 'DAILY', currency: 'EUR' }, budget_micro_amount: 12_345_678 }],
    [{ budget: 12_345_678, budget_type: 'DAILY', budget_currency: 'EUR' }],
  ])('is a micro-amount, whatever its name: %o', (given) => {
    const { row, notes } = adSet(given);
    const budget = { budget: '12.345678', budget_type: 'DAILY', budget_currency: 'EUR' };
    expect(row).toMatchObject({ ...budget, _extra: null });
    expect(notes).toBeUndefined();
  });

  it('is a bid or a base rate, too', () => {
    const { row } = adSet({ bid_micro_amount: 20_000_000, base_rate_micro_amount: 15_000_001 });
    expect(row).toMatchObject({ bid: '20.000000', base_rate: '15.000001' });
  });

  it('given twice is the one inside; the other is kept and noted', () => {
    const budget = { micro_amount: 5_000_000, type: 'DAILY' };
    const { row, notes } = adSet({ budget, budget_micro_amount: 7, budget_type: 'LIFETIME' });
    expect(row).toMatchObject({ budget: '5.000000', budget_type: 'DAILY' });
    expect(row._extra).toBe('{"budget_micro_amount":7,"budget_type":"LIFETIME"}');
    expect(notes).toHaveLength(2);
  });

  it('that is missing is null, not 0', () => {
    expect(adSet({}).row).toMatchObject({ budget: null, bid: null, base_rate: null });
    expect(withBudget('null').row.budget).toBeNull();
  });

  it('is a whole number of millionths as text, too; `--` and an empty text say nothing', () => {
    for (const literal of ['"12,345,678"', '"12345678"', '"12 345 678"', '"1.2345678e7"'])
      expect(withBudget(literal).row.budget).toBe('12.345678');
    for (const literal of ['""', '"--"']) expect(withBudget(literal).row.budget).toBeNull();
  });

  it.each(['"1,234.50"', '"12.50"', '"1.234"', '"$5"', 'true', '{}', '[5]', '1.5', '"NaN"', '1e18'])(
    'that is %s rejects the ad set, by name',
    (literal) => {
      expect(() => withBudget(literal)).toThrow(/ads\.ad_sets: ad set s has a (bad )?budget\.micro_amount/);
    },
  );
});
