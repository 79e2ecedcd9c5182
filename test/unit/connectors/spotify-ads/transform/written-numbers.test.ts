import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasDecimalComma, writtenNumber } from '../../../../../src/connectors/spotify-ads/numbers.ts';

/**
 * Exports follow the locale of who made them: Google Ads writes `--` for what it does not report and parts thousands, Excel writes what
 * its user's country writes (public reports of "1,212.50" loaded as 1).
 */
describe('a number as people write it', () => {
  it.each([
    ['1,212.50', '1212.50'],
    ['1.212,50', '1212.50'],
    ['12,5', '12.5'],
    ['0,125', '0.125'],
    ['1,2125', '1.2125'],
    ['1234,567', '1234.567'],
    ['1,212,000', '1212000'],
    ['1.212.000', '1212000'],
    ['1,212.500', '1212.500'],
    ["1'212.50", '1212.50'],
    ['1’212’000', '1212000'],
    ['12,34,567.80', '1234567.80'],
    // Space, no-break space, thin space, narrow no-break space.
    ['1 212,50', '1212.50'],
    ['1\u00a0212,50', '1212.50'],
    ['1\u2009212\u2009000,5', '1212000.5'],
    ['1\u202f212.50', '1212.50'],
    ['1\u202f212,500', '1212.500'],
    [' 12 ', '12'],
    ['$1,212.50', '1212.50'],
    ['US$1,212.50', '1212.50'],
    ['1.212,50\u00a0€', '1212.50'],
    ['€ 1 212,50', '1212.50'],
    ['USD 12.50', '12.50'],
    ['12.50 EUR', '12.50'],
    ['(1,212.50)', '-1212.50'],
    ['($12.50)', '-12.50'],
    ['-$12.50', '-12.50'],
    ['$-12.50', '-12.50'],
    ['\u2212' + '12,50', '-12.50'],
    ['12.50-', '-12.50'],
    ['+5', '5'],
    ['.5', '0.5'],
    ['5.', '5'],
    ['007', '7'],
    // What JSON writes is read as it is.
    ['1.212', '1.212'],
    ['1e3', '1e3'],
    ['-0.10', '-0.10'],
  ])('%j of an amount is %s', (text, number) => {
    expect(writtenNumber(text, 'money')).toBe(number);
  });

  it.each([
    ['1,212', '1212'],
    ['1 212', '1212'],
    ['1,212,000', '1212000'],
    ['12.0', '12.0'],
  ])('%j of a count is %s', (text, number) => {
    expect(writtenNumber(text, 'count')).toBe(number);
  });

  it.each([
    ['12%', '0.12'],
    ['12,5 %', '0.125'],
    ['1,234.5%', '12.345'],
    ['-0.5%', '-0.005'],
  ])('%j of a rate is %s', (text, number) => {
    expect(writtenNumber(text, 'rate')).toBe(number);
  });

  it.each(['', '--', '-', '—', '–', 'N/A', 'n/a', 'null', ' -- ', '\u00a0'])(
    '%j was not reported',
    (text) => {
      for (const kind of ['count', 'money', 'rate'] as const) expect(writtenNumber(text, kind)).toBeNull();
    },
  );

  it.each([
    ['money', '1,212'],
    ['rate', '1,212'],
    ['money', '-1,212'],
    ['money', '$1,212'],
    ['count', '1.212'],
    ['count', '12.000'],
  ] as const)('a %s of %j can mean two numbers', (kind, text) => {
    expect(writtenNumber(text, kind)).toBeUndefined();
  });

  it.each([
    'much',
    '1,2,3',
    '1,21.50',
    '1.212.50',
    '0,212.50',
    '1,212.50.1',
    '12 5',
    '1_000',
    '0x10',
    '1.2M',
    'NaN',
    'Infinity',
    '#DIV/0!',
    '--5',
    '(-5)',
    '(5',
    '5)',
    '$5 EUR',
    '12,',
    ',',
    '$',
    '٣',
    '1e',
    '12%%',
  ])('%j is no amount', (text) => {
    expect(writtenNumber(text, 'money')).toBeUndefined();
  });

  it('a count has no currency, and neither a count nor an amount has percent', () => {
    for (const text of ['$12', '12 EUR', '12%']) expect(writtenNumber(text, 'count')).toBeUndefined();
    expect(writtenNumber('12%', 'money')).toBeUndefined();
  });

  it('of every locale comes back exactly, or not at all', () => {
    const locales = ['en-US', 'de-DE', 'fr-FR', 'de-CH', 'en-IN', 'sv-SE', 'pl-PL', 'pt-BR', 'es-ES'];
    fc.assert(
      fc.property(
        fc.integer({ min: -999_999_999, max: 999_999_999 }),
        fc.constantFrom(...locales),
        (cents, locale) => {
          const style = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
          const text = new Intl.NumberFormat(locale, style).format(cents / 100);
          expect(Number(writtenNumber(text, 'money')), `${locale} ${text}`).toBe(cents / 100);
        },
      ),
    );
  });

  it('has a decimal comma, or points between thousands, or neither', () => {
    for (const text of ['12,5', '1.212,50', '1.212.000', '1 212,50'])
      expect(hasDecimalComma(text), text).toBe(true);
    for (const text of ['1,212', '1,212.50', '12.50', '1,212,000'])
      expect(hasDecimalComma(text), text).toBe(false);
  });
});
