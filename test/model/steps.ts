import fc from 'fast-check';
import { faultNames } from './faults.ts';

/** Something that happens at the tracker. Numbers choose: the n-th issue, project, sprint or person of those there are. */
export type Change =
  | { readonly is: 'create'; readonly project: number }
  | { readonly is: 'edit' | 'label' | 'comment' | 'worklog' | 'touch' | 'delete'; readonly issue: number }
  | { readonly is: 'edit comment' | 'drop comment' | 'drop worklog'; readonly issue: number }
  /** Deletes the first so many of the list at once: more than the overlap of two pages makes up for. */
  | { readonly is: 'cull'; readonly many: number }
  | { readonly is: 'move'; readonly issue: number; readonly project: number }
  | { readonly is: 'sprint'; readonly issue: number; readonly sprint: number }
  | { readonly is: 'link'; readonly issue: number; readonly other: number }
  | {
      readonly is: 'new sprint' | 'drop sprint' | 'new person' | 'group' | 'rename status';
      readonly which: number;
    }
  | { readonly is: 'hide' | 'show'; readonly project: number }
  /** Changes an issue without a trace in `updated`; only a full sync can see it. */
  | { readonly is: 'silent edit'; readonly issue: number }
  /** A deleted issue is there again as it was. */
  | { readonly is: 'restore'; readonly which: number }
  | { readonly is: 'lag'; readonly minutes: number }
  /** Forward, or back. */
  | { readonly is: 'clock'; readonly minutes: number };

/** When in a run: at its n-th request, or at its n-th search. */
export type Moment = { readonly at: number } | { readonly atSearch: number };

/** What happens then: a change, a fault of the transport, or an order to stop. */
export type Event = Moment &
  ({ readonly change: Change } | { readonly fault: (typeof faultNames)[number] } | { readonly stop: true });

export type RunKind = 'sync' | 'full' | 'reconcile' | 'backfill';

export type Step =
  | { readonly change: Change }
  | {
      readonly run: RunKind;
      readonly page: number;
      readonly concurrency: number;
      readonly during: readonly Event[];
    };

const index = fc.nat({ max: 60 });
const few = fc.nat({ max: 3 });

const bumping: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ is: fc.constant('create' as const), project: few }) },
  {
    weight: 7,
    arbitrary: fc.record({
      is: fc.constantFrom(
        'edit' as const,
        'label' as const,
        'comment' as const,
        'worklog' as const,
        'touch' as const,
      ),
      issue: index,
    }),
  },
  { weight: 3, arbitrary: fc.record({ is: fc.constant('delete' as const), issue: index }) },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constantFrom('edit comment' as const, 'drop comment' as const, 'drop worklog' as const),
      issue: index,
    }),
  },
  { weight: 5, arbitrary: fc.record({ is: fc.constant('move' as const), issue: index, project: few }) },
  { weight: 2, arbitrary: fc.record({ is: fc.constant('sprint' as const), issue: index, sprint: few }) },
  { weight: 2, arbitrary: fc.record({ is: fc.constant('link' as const), issue: index, other: index }) },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constantFrom('new sprint', 'drop sprint', 'new person', 'group', 'rename status'),
      which: few,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ is: fc.constant('lag' as const), minutes: fc.constantFrom(0, 2, 25) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      is: fc.constant('clock' as const),
      minutes: fc.constantFrom(1, 10, 150, 3_000, -3, -30),
    }),
  },
);

/** Changes after which no filter by `updated` can show everything. */
const blinding: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ is: fc.constant('hide' as const), project: few }),
  fc.record({ is: fc.constant('show' as const), project: few }),
  fc.record({ is: fc.constant('silent edit' as const), issue: index }),
  fc.record({ is: fc.constant('restore' as const), which: index }),
);

/** The first searches of a run find out what the server understands; the pages of a walk come after those. */
const moment: fc.Arbitrary<Moment> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ at: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 3, arbitrary: fc.record({ atSearch: fc.integer({ min: 1, max: 24 }) }) },
);
const happening = <T extends object>(what: fc.Arbitrary<T>): fc.Arbitrary<Moment & T> =>
  fc.tuple(moment, what).map(([when, then]) => ({ ...when, ...then }));

/** What moves all that comes after it in a list, while the list is walked: the hardest thing for offsets. */
const shift: fc.Arbitrary<Event> = fc
  .tuple(
    fc.integer({ min: 6, max: 20 }),
    fc.oneof(
      fc.record({ is: fc.constant('cull' as const), many: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ is: fc.constant('move' as const), issue: fc.nat({ max: 50 }), project: few }),
      fc.record({ is: fc.constant('create' as const), project: few }),
    ),
  )
  .map(([atSearch, change]) => ({ atSearch, change }));

/** A history of a tracker and of our runs. `blind`: also what only a full sync can see. */
export const history = (blind: boolean): fc.Arbitrary<readonly Step[]> => {
  const change = blind
    ? fc.oneof({ weight: 5, arbitrary: bumping }, { weight: 3, arbitrary: blinding })
    : bumping;
  const event: fc.Arbitrary<Event> = fc.oneof(
    { weight: 5, arbitrary: happening(change.map((one) => ({ change: one }))) },
    { weight: 4, arbitrary: shift },
    { weight: 2, arbitrary: happening(fc.constantFrom(...faultNames).map((fault) => ({ fault }))) },
    { weight: 1, arbitrary: happening(fc.constant({ stop: true as const })) },
  );
  const run: fc.Arbitrary<Step> = fc.record({
    run: fc.constantFrom<RunKind>('sync', 'sync', 'sync', 'full', 'reconcile', 'backfill'),
    page: fc.constantFrom(3, 4, 7, 100),
    concurrency: fc.constantFrom(1, 4),
    during: fc.array(event, { maxLength: 10 }),
  });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 3, arbitrary: fc.record({ change }) },
    { weight: 2, arbitrary: run },
  );
  return fc.array(step, { minLength: 3, maxLength: 9 });
};

const plain = (kind: RunKind, during: readonly Event[] = []): Step => ({
  run: kind,
  page: 3,
  concurrency: 4,
  during,
});
const lasting: readonly (typeof faultNames)[number][] = ['503 for a while', '401'];

/** One history with every fault, changes during a run, and every kind of run: none of them depends on the seed. */
export const parade: readonly Step[] = [
  plain('full', [
    ...faultNames
      .filter((fault) => !lasting.includes(fault))
      .map((fault, n): Event => ({ at: 12 + 5 * n, fault })),
    { at: 8, change: { is: 'create', project: 0 } },
    { at: 14, change: { is: 'edit', issue: 3 } },
    { at: 20, change: { is: 'move', issue: 5, project: 1 } },
    { at: 26, change: { is: 'delete', issue: 7 } },
  ]),
  ...lasting.map((fault) => plain('sync', [{ at: 8, fault }])),
  plain('reconcile'),
  plain('backfill', [{ at: 6, stop: true }]),
];
