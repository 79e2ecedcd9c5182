/**
 * Numbers as people and spreadsheets write them: separators of thousands, decimal commas, signs of a currency, percent. Exports follow the
 * locale of who made them, and APIs send amounts as text. What can mean one number is that number; what can mean two is none.
 */
import { decimalText } from '../../core/decimal.ts';
import { isJsonNumber } from '../../core/json.ts';
import type { Metric } from './metrics.ts';

/** Marks of what was not reported. */
const unreported = /^(?:|-{1,3}|[–—]|n\/?a|null)$/i;

/** Signs, currency and percent around the digits. Accountants write `(12.50)` for -12.50; some programs write the minus last. */
const written =
  /^(?<open>\()?(?<minus>[-+−])? ?(?<before>[A-Z]{0,3}\p{Sc}|[A-Z]{3})? ?(?<inner>[-+−])?(?<digits>[\d.,'’ ]*\d\.?) ?(?<after>%|\p{Sc}|[A-Z]{3})?(?<last>[-−])?(?<close>\))?$/u;

/** Whole thousands with one separator; India also groups by two: `12,34,567`. */
const grouped = /^[1-9]\d{0,2}(?:(?<by>[., '])\d{3})(?:\k<by>\d{3})*$|^[1-9]\d?(?:,\d\d)+,\d{3}$/;

/** One separator and what follows it: a fraction, also without a whole part or without digits. */
const fraction = /^(?<whole>\d*)(?<point>[.,])(?<rest>\d*)$/;

/** Digits with separators as plain decimal; undefined where they mean nothing, or more than one number. */
const plain = (digits: string, isWhole: boolean): string | undefined => {
  if (/^\d+$/.test(digits)) return digits;
  const { whole = '', point, rest = '' } = fraction.exec(digits)?.groups ?? {};
  // `1,212` is a thousand or a fraction, unless it counts something. A point is what machines write.
  const isGrouped = grouped.test(digits);
  if (isGrouped && (point === undefined || isWhole))
    return point === '.' ? undefined : digits.replace(/\D/g, '');
  if (point !== undefined)
    return isGrouped && point === ',' ? undefined : `${whole || '0'}${rest && `.${rest}`}`;
  const at = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  const [left, right] = [digits.slice(0, at), digits.slice(at + 1)];
  // The last separator is the decimal one where it differs from those before it.
  const isDecimal = at > 0 && /^\d+$/.test(right) && grouped.test(left) && !left.includes(digits.charAt(at));
  return isDecimal ? `${left.replace(/\D/g, '')}.${right}` : undefined;
};

/** A thousand where a point parts thousands, a fraction where it is the decimal one. */
export const isPointOfThousand = (text: string): boolean => /^\D*[1-9]\d{0,2}\.\d{3}\D*$/.test(text);

/** Whether a number is written with a decimal comma, or with points between thousands. */
export const hasDecimalComma = (text: string): boolean => /,(?!\d{3}(?!\d))|\.\d{3}[.,]/.test(text);

/**
 * `1,212.50`, `1.212,50`, `1 212,50`, `$1,212.50`, `(12.50)`, `12%` as decimal text; null for `--`, `N/A` and an empty text: not reported.
 * Undefined for what is no number of this kind (a count has no currency), and for what can mean two: `1,212` of an amount, `1.212` of a
 * count. A decimal point is what JSON has, so `1.212` of an amount is a fraction.
 */
export const writtenNumber = (text: string, kind: Metric['kind']): string | null | undefined => {
  if (isJsonNumber(text) && !(kind === 'count' && isPointOfThousand(text))) return text;
  // Spaces of every width, ordinary and not to be broken, part thousands.
  const spaced = text.replace(/\s/g, ' ').replaceAll('’', "'").trim();
  if (unreported.test(spaced)) return null;
  const { open, minus, before, inner, digits = '', after, last, close } = written.exec(spaced)?.groups ?? {};
  const signs = [open, minus, inner, last].filter((one) => one !== undefined);
  const isPercent = after === '%';
  const currency = [before, isPercent ? undefined : after].filter((one) => one !== undefined);
  if (signs.length > 1 || (open === undefined) !== (close === undefined) || currency.length > 1)
    return undefined;
  if ((currency.length > 0 && kind === 'count') || (isPercent && kind !== 'rate')) return undefined;
  const number = plain(digits, kind === 'count');
  if (number === undefined) return undefined;
  const [sign] = signs;
  return decimalText(`${sign === undefined || sign === '+' ? '' : '-'}${number}${isPercent ? 'e-2' : ''}`);
};
