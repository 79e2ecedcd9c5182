/** Dates as people type them. */
import { parseInstant } from '../config/values.ts';
import { Misconfigured } from '../core/errors.ts';

/**
 * An instant from `2024-01-31` (midnight UTC) or `2024-01-31T08:00:00Z`.
 * Throws Misconfigured, naming the flag, the value and the format.
 */
export function date(text: string, flag: string): Date {
  const found = parseInstant(text.trim());
  if (found === undefined)
    throw new Misconfigured(
      `${flag}: “${text}” is not a date. Write 2024-01-31 (midnight UTC) or 2024-01-31T08:00:00Z.`,
    );
  return found;
}

/** A half-open window `[from, to)`. Throws Misconfigured when it is empty or turned round. */
export function between(from: string, to: string): { readonly from: Date; readonly to: Date } {
  const window = { from: date(from, '--from'), to: date(to, '--to') };
  if (window.from >= window.to)
    throw new Misconfigured(
      `--from ${from} is not before --to ${to}: the window is half open, [from, to), and must not be empty.`,
    );
  return window;
}
