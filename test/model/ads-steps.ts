import fc from 'fast-check';
import { faultNames } from './faults.ts';

/** Something that happens at the ads platform. Numbers choose: the n-th of those there are, the n-th day back. */
export type Change =
  /** One level tells another number of a day; or of an hour. */
  | {
      readonly is: 'restate' | 'restate hour';
      readonly level: number;
      readonly which: number;
      readonly ago: number;
    }
  /** A day of an ad is corrected, and every level above it with it. */
  | { readonly is: 'correct'; readonly which: number; readonly ago: number }
  | { readonly is: 'campaign' | 'ad set' | 'ad' | 'audience' | 'asset'; readonly which: number }
  | { readonly is: 'budget' | 'bid' | 'pause' | 'resume' | 'archive' | 'rename'; readonly which: number }
  | { readonly is: 'edit audience' | 'delete audience'; readonly which: number }
  | {
      readonly is: 'draft' | 'draft of live' | 'edit draft' | 'publish' | 'delete draft';
      readonly which: number;
    }
  /** 403 for one of the accounts, and no longer. */
  | { readonly is: 'close' | 'open' }
  /** What becomes of the next CSV reports. */
  | { readonly is: 'report fails' | 'report expires' | 'file is cut' | 'file is short' | 'address expires' }
  /** Tokens that were bought are worth nothing any more. */
  | { readonly is: 'token ends' }
  | { readonly is: 'hours'; readonly hours: number };

export const changeNames = [
  'restate',
  'restate hour',
  'correct',
  'campaign',
  'ad set',
  'ad',
  'audience',
  'asset',
  'budget',
  'bid',
  'pause',
  'resume',
  'archive',
  'rename',
  'edit audience',
  'delete audience',
  'draft',
  'draft of live',
  'edit draft',
  'publish',
  'delete draft',
  'close',
  'open',
  'report fails',
  'report expires',
  'file is cut',
  'file is short',
  'address expires',
  'token ends',
  'hours',
] as const satisfies readonly Change['is'][];

/** The faults of the way; a page that is short and does not say so is the tracker's alone. */
export const adsFaults = faultNames.filter((name) => name !== 'short page');

/** When in a run: at its n-th request, or its n-th for a list or for numbers. */
export type Moment = { readonly at: number } | { readonly atList: number } | { readonly atReport: number };

export type Event = Moment &
  ({ readonly change: Change } | { readonly fault: (typeof faultNames)[number] } | { readonly stop: true });

export type RunKind = 'sync' | 'full' | 'backfill';

export type Step =
  | { readonly change: Change }
  | {
      readonly run: RunKind;
      readonly page: number;
      readonly concurrency: number;
      readonly during: readonly Event[];
    };

const index = fc.nat({ max: 30 });
const ago = fc.integer({ min: 1, max: 5 });
const of = <T extends Change['is']>(...names: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...names);

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ is: of('restate', 'restate hour'), level: fc.nat({ max: 3 }), which: index, ago }),
  },
  { weight: 3, arbitrary: fc.record({ is: of('correct'), which: index, ago }) },
  {
    weight: 4,
    arbitrary: fc.record({ is: of('campaign', 'ad set', 'ad', 'audience', 'asset'), which: index }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ is: of('budget', 'bid', 'pause', 'resume', 'archive', 'rename'), which: index }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ is: of('edit audience', 'delete audience', 'delete audience'), which: index }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      is: of('draft', 'draft of live', 'edit draft', 'publish', 'delete draft'),
      which: index,
    }),
  },
  { weight: 2, arbitrary: fc.record({ is: of('close', 'open', 'token ends') }) },
  {
    weight: 2,
    arbitrary: fc.record({
      is: of('report fails', 'report expires', 'file is cut', 'file is short', 'address expires'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ is: of('hours'), hours: fc.constantFrom(1, 5, 24, 24, 49) }) },
);

const moment: fc.Arbitrary<Moment> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ at: fc.integer({ min: 1, max: 90 }) }) },
  { weight: 3, arbitrary: fc.record({ atList: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 3, arbitrary: fc.record({ atReport: fc.integer({ min: 1, max: 40 }) }) },
);
const happening = <T extends object>(what: fc.Arbitrary<T>): fc.Arbitrary<Moment & T> =>
  fc.tuple(moment, what).map(([when, then]) => ({ ...when, ...then }));

/** What moves all that comes after it in a list, while the list is walked. */
const shift: fc.Arbitrary<Event> = fc.record({
  atList: fc.integer({ min: 8, max: 40 }),
  change: fc.record({
    is: of('delete audience', 'delete audience', 'delete draft', 'publish', 'audience'),
    which: fc.nat({ max: 3 }),
  }),
});

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 3, arbitrary: shift },
  { weight: 5, arbitrary: happening(change.map((one) => ({ change: one }))) },
  { weight: 3, arbitrary: happening(fc.constantFrom(...adsFaults).map((fault) => ({ fault }))) },
  { weight: 1, arbitrary: happening(fc.constant({ stop: true as const })) },
);

const run: fc.Arbitrary<Step> = fc.record({
  run: fc.constantFrom<RunKind>('sync', 'sync', 'sync', 'sync', 'full', 'backfill'),
  page: fc.constantFrom(2, 3, 50),
  concurrency: fc.constantFrom(1, 4),
  // Half of the runs nothing happens to: after those the warehouse can be compared at once.
  during: fc.oneof(fc.constant([]), fc.array(event, { maxLength: 6 })),
});

/** A history of an ads platform and of what we did meanwhile. */
export const history: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof({ weight: 5, arbitrary: fc.record({ change }) }, { weight: 2, arbitrary: run }),
  { minLength: 4, maxLength: 12 },
);

const plain = (kind: RunKind, during: readonly Event[] = []): Step => ({
  run: kind,
  page: 3,
  concurrency: 4,
  during,
});
const changes = (...all: readonly Change[]): readonly Step[] => all.map((one) => ({ change: one }));

/** One history in which everything happens that can: what no dice decide, no test misses. */
export const parade: readonly Step[] = [
  ...changes({ is: 'draft', which: 0 }, { is: 'draft', which: 1 }, { is: 'draft', which: 0 }),
  ...changes(
    { is: 'audience', which: 1 },
    { is: 'report fails' },
    { is: 'report expires' },
    { is: 'file is short' },
  ),
  plain('sync', [
    ...adsFaults.map((fault, n): Event => ({ atReport: 2 + 3 * n, fault })),
    { atList: 6, change: { is: 'audience', which: 0 } },
    { at: 30, change: { is: 'token ends' } },
  ]),
  ...changes(
    { is: 'restate', level: 3, which: 1, ago: 1 },
    { is: 'restate', level: 1, which: 0, ago: 2 },
    { is: 'restate hour', level: 2, which: 0, ago: 1 },
    { is: 'correct', which: 0, ago: 2 },
    { is: 'budget', which: 0 },
    { is: 'bid', which: 1 },
    { is: 'pause', which: 2 },
    { is: 'archive', which: 5 },
    { is: 'edit draft', which: 0 },
    { is: 'publish', which: 0 },
    { is: 'delete draft', which: 0 },
    { is: 'draft of live', which: 3 },
    { is: 'edit audience', which: 1 },
    { is: 'delete audience', which: 0 },
    { is: 'hours', hours: 24 },
    { is: 'address expires' },
  ),
  plain('sync'),
  ...changes(
    { is: 'resume', which: 2 },
    { is: 'rename', which: 4 },
    { is: 'campaign', which: 1 },
    { is: 'ad set', which: 0 },
    { is: 'ad', which: 2 },
    { is: 'asset', which: 0 },
    { is: 'close' },
    { is: 'file is cut' },
    { is: 'hours', hours: 49 },
  ),
  plain('sync'),
  ...changes({ is: 'open' }),
  plain('backfill'),
  plain('full', [{ atReport: 9, stop: true }]),
];
