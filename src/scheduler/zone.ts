/** Wall clocks: what an IANA time zone shows at an instant, and which instants a wall clock means. Instants are epoch milliseconds, UTC. */

import { Misconfigured } from '../core/errors.ts';
import { days, hours } from '../core/time.ts';

/** Milliseconds that the zone is ahead of UTC at an instant. */
export type Offset = (at: number) => number;

/** Clocks are at most so far from UTC, and have jumped at most so far (islands that changed the side of the date line). */
const farthest = hours(26);

/** The offsets of a zone. Throws Misconfigured if there is no such zone. */
export function offsets(timeZone: string): Offset {
  const format = formatOf(timeZone);
  return (at) => {
    // The format shows whole seconds.
    const second = Math.floor(at / 1000) * 1000;
    const shown: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(second)) shown[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second: s = 0 } = shown;
    return Date.UTC(year, month - 1, day, hour, minute, s) - second;
  };
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch (error) {
    throw new Misconfigured(`there is no time zone “${timeZone}”`, { cause: error });
  }
}

/**
 * The instants at which the zone's clocks show `wall` (a wall clock written as if it were UTC): one; two where clocks were set back over it;
 * where they were set forward over it none, and `after` is the first instant behind the gap.
 */
export function instantsOf(
  offset: Offset,
  wall: number,
): { readonly at: readonly number[]; readonly after: number } {
  const before = offset(wall - farthest);
  const behind = offset(wall + farthest);
  const at = [...new Set([wall - before, wall - behind])]
    .filter((each) => each + offset(each) === wall)
    .sort(ascending);
  return { at, after: at[0] ?? gapEnd(offset, wall) };
}

const ascending = (a: number, b: number): number => a - b;

/** The first instant at which the clocks show `wall` or later, to the second. */
function gapEnd(offset: Offset, wall: number): number {
  let low = wall - farthest;
  let high = wall + farthest;
  while (high - low > 1000) {
    const middle = low + Math.floor((high - low) / 2000) * 1000;
    if (middle + offset(middle) >= wall) high = middle;
    else low = middle;
  }
  return high;
}

/** Whether the clocks of the day that begins at the wall clock `midnight`, and of those around it, are set. */
export const isUneven = (offset: Offset, midnight: number): boolean =>
  offset(midnight - farthest) !== offset(midnight + days(1) + farthest);
