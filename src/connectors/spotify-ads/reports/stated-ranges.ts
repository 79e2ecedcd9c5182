/** What an aggregate report says of itself: one that is by another granularity or of less time must not pass for the one that was asked for. */

import { UnexpectedContent } from '../../../core/errors.ts';
import type { Json } from '../../../core/request.ts';
import { parseInstant } from '../../../core/time.ts';
import { textAt } from '../../../reading/offset-list.ts';

export const granularities = ['DAY', 'HOUR', 'LIFETIME'] as const;
export type Granularity = (typeof granularities)[number];

/** What was asked for. */
export interface Wanted {
  readonly granularity: Granularity;
  /** The first day or hour and the last one, milliseconds since 1970; undefined over the lifetime. */
  readonly span: { readonly first: number; readonly last: number } | undefined;
  readonly clock: Date;
}

/** The numbers of so many milliseconds may not be there yet: a report that ends sooner by that is honest. */
const latest = 3 * 86_400_000;

/**
 * Throws `UnexpectedContent` where the report says that it is by another granularity, begins later or ends sooner than was asked for (vendor's
 * OpenAPI, AggregateReportResponse): what it does not speak for would pass for days without numbers. What it does not say counts for nothing.
 */
export const checkStated = (endpoint: string, body: Json, { granularity, span, clock }: Wanted): void => {
  const told = textAt(body, 'granularity')?.toUpperCase();
  if (told !== granularity && granularities.some((one) => one === told))
    throw new UnexpectedContent(`${endpoint}: the report is by ${told}; it was asked for by ${granularity}`);
  if (span === undefined) return;
  const [start, end] = [momentAt(body, 'report_start'), momentAt(body, 'report_end')];
  const isLate = start !== undefined && start > span.first;
  const isShort = end !== undefined && end < Math.min(span.last, clock.getTime() - latest);
  if (isLate || isShort)
    throw new UnexpectedContent(
      `${endpoint}: the report is of ${shown(start)} to ${shown(end)}; it was asked for ${shown(span.first)} to ${shown(span.last)} (by ${granularity}, inclusive)`,
    );
};

const shown = (at: number | undefined): string => (at === undefined ? '…' : new Date(at).toISOString());

const momentAt = (body: Json, key: string): number | undefined => {
  const text = textAt(body, key);
  if (text === undefined) return undefined;
  try {
    return Number(parseInstant(text) / 1000n);
  } catch {
    return undefined;
  }
};
