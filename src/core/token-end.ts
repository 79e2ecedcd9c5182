/** The end of a token that is known beforehand. */

import { plural } from './format.ts';
import { hours } from './time.ts';

/** From so many days before a warning is given. */
const warnedDays = 14;

/** A warning that a token ends soon, or has ended; undefined where its end is far or not known. */
export function endsSoon(ends: Date | undefined, now: Date): string | undefined {
  const days = ends === undefined ? Number.POSITIVE_INFINITY : (ends.getTime() - now.getTime()) / hours(24);
  if (ends === undefined || days > warnedDays) return undefined;
  const day = ends.toISOString().slice(0, 10);
  if (days <= 0) return `the token ended on ${day}, as far as is known: make a new one`;
  return `the token ends on ${day}, in ${plural(Math.ceil(days), 'day')}: make a new one before`;
}
