import fc from 'fast-check';

/** Something that happens at the tracker. Numbers choose: the n-th issue, project, sprint or person of those there are. */
export type Change =
  | { readonly is: 'create'; readonly project: number }
  | { readonly is: 'edit' | 'label' | 'comment' | 'worklog' | 'touch' | 'delete'; readonly issue: number }
  | { readonly is: 'edit comment' | 'drop comment' | 'drop worklog'; readonly issue: number }
  | { readonly is: 'move'; readonly issue: number; readonly project: number }
  | { readonly is: 'sprint'; readonly issue: number; readonly sprint: number }
  | { readonly is: 'link'; readonly issue: number; readonly other: number }
  | { readonly is: 'new sprint' | 'new person' | 'group' | 'rename status'; readonly which: number }
  | { readonly is: 'hide' | 'show'; readonly project: number }
  /** Changes an issue without a trace in `updated`; only a full sync can see it. */
  | { readonly is: 'silent edit'; readonly issue: number }
  /** A deleted issue is there again as it was. */
  | { readonly is: 'restore'; readonly which: number }
  | { readonly is: 'lag'; readonly minutes: number }
  /** Forward, or back. */
  | { readonly is: 'clock'; readonly minutes: number };

export const faultNames = [
  '500',
  '503 for a while',
  '429',
  '401',
  'reset before headers',
  'reset in the body',
  'truncated JSON',
  'html page',
  'short page',
  'empty 200',
  'dropped afterwards',
] as const;

/** What happens when the n-th request of a run arrives: a change, a fault of the transport, or an order to stop. */
export type Event =
  | { readonly at: number; readonly change: Change }
  | { readonly at: number; readonly fault: (typeof faultNames)[number] }
  | { readonly at: number; readonly stop: true };

export type RunKind = 'sync' | 'full' | 'census' | 'backfill';

export type Step =
  | { readonly change: Change }
  | { readonly run: RunKind; readonly page: number; readonly concurrency: number; readonly during: readonly Event[] };

const index = fc.nat({ max: 60 });
const few = fc.nat({ max: 3 });

const bumping: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ is: fc.constant('create' as const), project: few }) },
  {
    weight: 7,
    arbitrary: fc.record({
      is: fc.constantFrom('edit' as const, 'label' as const, 'comment' as const, 'worklog' as const, 'touch' as const),
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
      is: fc.constantFrom('new sprint' as const, 'new person' as const, 'group' as const, 'rename status' as const),
      which: few,
    }),
  },
  { weight: 2, arbitrary: fc.record({ is: fc.constant('lag' as const), minutes: fc.constantFrom(0, 2, 25) }) },
  {
    weight: 3,
    arbitrary: fc.record({ is: fc.constant('clock' as const), minutes: fc.constantFrom(1, 10, 150, 3_000, -3, -30) }),
  },
);

/** Changes after which no filter by `updated` can show everything. */
const blinding: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ is: fc.constant('hide' as const), project: few }),
  fc.record({ is: fc.constant('show' as const), project: few }),
  fc.record({ is: fc.constant('silent edit' as const), issue: index }),
  fc.record({ is: fc.constant('restore' as const), which: index }),
);

const at = fc.integer({ min: 1, max: 60 });

/** A history of a tracker and of what we did meanwhile. `blind`: also what only a full sync can see. */
export const history = (blind: boolean): fc.Arbitrary<readonly Step[]> => {
  const change = blind ? fc.oneof({ weight: 5, arbitrary: bumping }, { weight: 3, arbitrary: blinding }) : bumping;
  const event: fc.Arbitrary<Event> = fc.oneof(
    { weight: 7, arbitrary: fc.record({ at, change }) },
    { weight: 3, arbitrary: fc.record({ at, fault: fc.constantFrom(...faultNames) }) },
    { weight: 1, arbitrary: fc.record({ at, stop: fc.constant(true as const) }) },
  );
  const run: fc.Arbitrary<Step> = fc.record({
    run: fc.constantFrom<RunKind>('sync', 'sync', 'sync', 'full', 'census', 'backfill'),
    page: fc.constantFrom(3, 5, 17, 100),
    concurrency: fc.constantFrom(1, 4),
    during: fc.array(event, { maxLength: 8 }),
  });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 3, arbitrary: fc.record({ change }) },
    { weight: 2, arbitrary: run },
  );
  return fc.array(step, { minLength: 3, maxLength: 9 });
};
