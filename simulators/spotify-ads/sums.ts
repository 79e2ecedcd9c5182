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
  /** In the order of `people`: the sum of the parts, and the largest of them. */
  readonly heads: number[];
  readonly largest: number[];
  /** Of how many ads and days it is made. */
  parts: number;
  spend: bigint;
  revenue: bigint;
}

/** Adds `more` to `to`. */
export function addTo(to: Sums, more: Sums): void {
  for (let i = 0; i < to.counts.length; i += 1) to.counts[i] = (to.counts[i] ?? 0) + (more.counts[i] ?? 0);
  for (let i = 0; i < to.heads.length; i += 1) {
    to.heads[i] = (to.heads[i] ?? 0) + (more.heads[i] ?? 0);
    to.largest[i] = Math.max(to.largest[i] ?? 0, more.largest[i] ?? 0);
  }
  to.parts += more.parts;
  to.spend += more.spend;
  to.revenue += more.revenue;
}

/** Sums of their own, to be added to. */
export const copyOf = (sums: Sums): Sums => ({
  ...sums,
  counts: [...sums.counts],
  heads: [...sums.heads],
  largest: [...sums.largest],
});

const position: ReadonlyMap<string, number> = new Map(counted.map((name, index) => [name, index]));
const placeOfPeople: ReadonlyMap<string, number> = new Map(people.map((name, index) => [name, index]));

/** One of the counts. */
export const count = (sums: Sums, name: Counted): number => sums.counts[position.get(name) ?? -1] ?? 0;

/** How many people: fewer than the parts together, not fewer than the largest of them. */
export function heads(sums: Sums, name: People): number {
  const at = placeOfPeople.get(name) ?? -1;
  const sum = sums.heads[at] ?? 0;
  return sums.parts <= 1 ? sum : Math.max(sums.largest[at] ?? 0, Math.floor((sum * 7) / 10));
}
