/** Sums of numbers of ads: what is counted, who was reached, what was paid. Money is bigint micros, never a number. */

/** Metrics that add up, by the vendor's names (`ReportFieldType`). */
export const counted = [
  'IMPRESSIONS',
  'CLICKS',
  'STARTS',
  'FIRST_QUARTILES',
  'MIDPOINTS',
  'THIRD_QUARTILES',
  'COMPLETES',
  'SKIPS',
  'OFF_SPOTIFY_IMPRESSIONS',
  'STREAMED_IMPRESSIONS',
  'PAID_LISTENS',
  'STREAMS',
  'NEW_LISTENER_STREAMS',
  'VIDEO_VIEWS',
  'VIDEO_EXPANDS',
  'UNMUTES',
  'PAGE_VIEWS',
  'LEADS',
  'ADD_TO_CART',
  'PURCHASES',
  'START_CHECKOUT',
  'PRODUCTS',
  'SIGN_UPS',
  'CUSTOM_EVENT_1',
  'CUSTOM_EVENT_2',
  'CUSTOM_EVENT_3',
  'CUSTOM_EVENT_4',
  'CUSTOM_EVENT_5',
] as const;
export type Counted = (typeof counted)[number];

/** People: who is reached by two ads, or on two days, is one person. */
export const people = ['REACH', 'LISTENERS', 'NEW_LISTENERS', 'PAID_LISTENS_REACH'] as const;
export type People = (typeof people)[number];

/** Counts of 1 to 4 of these are hidden. */
export const hidden: ReadonlySet<string> = new Set<Counted>([
  'PAGE_VIEWS',
  'LEADS',
  'ADD_TO_CART',
  'PURCHASES',
  'START_CHECKOUT',
  'PRODUCTS',
  'SIGN_UPS',
  'CUSTOM_EVENT_1',
  'CUSTOM_EVENT_2',
  'CUSTOM_EVENT_3',
  'CUSTOM_EVENT_4',
  'CUSTOM_EVENT_5',
]);

export interface Sums {
  /** In the order of `counted`. */
  readonly counts: number[];
  /** In the order of `people`. */
  readonly heads: readonly number[];
  spend: bigint;
  revenue: bigint;
}

/** Several ads or several days together; undefined for none. People are fewer than in all parts, and not fewer than in the largest. */
export function together(parts: readonly Sums[]): Sums | undefined {
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first;
  const counts = first.counts.map((_, at) => parts.reduce((sum, part) => sum + (part.counts[at] ?? 0), 0));
  const heads = first.heads.map((_, at) => peopleOf(parts.map((part) => part.heads[at] ?? 0)));
  const spend = parts.reduce((sum, part) => sum + part.spend, 0n);
  const revenue = parts.reduce((sum, part) => sum + part.revenue, 0n);
  return { counts, heads, spend, revenue };
}

const peopleOf = (parts: readonly number[]): number => {
  const sum = parts.reduce((all, part) => all + part, 0);
  return Math.max(
    parts.reduce((most, part) => Math.max(most, part), 0),
    Math.floor((sum * 7) / 10),
  );
};

const position: ReadonlyMap<string, number> = new Map(counted.map((name, index) => [name, index]));
const placeOfPeople: ReadonlyMap<string, number> = new Map(people.map((name, index) => [name, index]));

/** One of the counts. */
export const count = (sums: Sums, name: Counted): number => sums.counts[position.get(name) ?? -1] ?? 0;

/** How many people. */
export const heads = (sums: Sums, name: People): number => sums.heads[placeOfPeople.get(name) ?? -1] ?? 0;
