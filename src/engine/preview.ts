import { sql } from 'kysely';
import type { Days, Partition, Stream } from '../core/stream.ts';
import { sliceContext } from './batching/slice-context.ts';
import type { RunDeps } from './context/deps.ts';
import { chosenStreams } from './context/select-streams.ts';
import { slicesOf } from './sync/days.ts';
import { ownersOf, whichFor } from './sync/partitions.ts';
import { type Mode, planStream, type Request, type StreamPlan } from './sync/plan.ts';

/** What a run would do for one stream. */
export interface PlannedStream {
  readonly stream: string;
  readonly mode: Mode;
  readonly from?: Date;
  readonly to?: Date;
  /** Why everything is read again that was not asked for. */
  readonly why?: string;
  /** Partitions known now; windows are halved further while reading. */
  readonly slices: number;
  /** Records, where the source can say so cheaply. */
  readonly records?: number;
  /** Requests, where the records are known. */
  readonly requests?: number;
  /** How long these requests take at the rate that the source allows. */
  readonly seconds?: number;
}

/** Records a page of a windowed stream holds. */
const pageSize = 100;

/**
 * What `sync`, `sync --full` or `backfill` would read. Asks the source for counts, writes no rows and takes
 * no lease.
 */
export async function plan(
  deps: RunDeps,
  options: {
    readonly streams?: readonly string[];
    readonly full?: boolean;
    readonly window?: Request['window'];
  },
): Promise<readonly PlannedStream[]> {
  const { db } = deps.warehouse;
  // A source that was never read has no id, and 0 is the id of none.
  const { rows } = await sql<{ source_id: number }>`select source_id from ops.sources
    where name = ${deps.source.name}`.execute(db);
  const sourceId = rows[0]?.source_id ?? 0;
  const { clock } = await deps.source.preflight(deps.signal);
  const request: Request = { full: options.full === true, window: options.window };
  const planned: PlannedStream[] = [];
  for (const stream of chosenStreams(deps, options.streams)) {
    const what = await planStream(deps, sourceId, stream, request, clock, deps.signal);
    if (what === undefined) continue;
    const { partitions } = stream;
    const at = { sourceId, stream: stream.name };
    const owners =
      partitions === undefined
        ? [undefined]
        : await ownersOf(db, at, partitions, stream.by === 'days' ? 'all' : whichFor(what));
    const { mode, why, window: { from, to } = {} } = what;
    planned.push({
      stream: stream.name,
      mode,
      ...(why !== undefined && { why }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(stream.by === 'days'
        ? await sizeOfDays(deps, { sourceId, clock }, stream, stream.days, what, owners)
        : { slices: owners.length, ...(await sizeOf(deps, stream, what)) }),
    });
  }
  return planned;
}

type Size = Pick<PlannedStream, 'slices' | 'records' | 'requests' | 'seconds'>;

async function sizeOf(
  deps: RunDeps,
  { windows }: Stream,
  { window }: StreamPlan,
): Promise<Omit<Size, 'slices'>> {
  const records = window && (await windows?.count({ window }, deps.signal));
  return records === undefined ? {} : { records, requests: Math.max(1, Math.ceil(records / pageSize)) };
}

/** The slices of a stream of days, with an upper bound of their rows. */
async function sizeOfDays(
  deps: RunDeps,
  { sourceId, clock }: { readonly sourceId: number; readonly clock: Date | undefined },
  stream: Stream,
  days: Days,
  what: StreamPlan,
  owners: readonly (Partition | undefined)[],
): Promise<Size> {
  const owner = { deps, run: { sourceId, runId: '0' }, clock, now: () => clock ?? new Date() };
  const context = sliceContext(owner, stream, undefined);
  const slices = slicesOf({ days }, what.window, owners);
  const totals = { records: 0, requests: 0 };
  for (const slice of slices) {
    totals.records += await days.rows(slice, context);
    totals.requests += await days.requests(slice, context);
  }
  const seconds = days.perSecond > 0 && { seconds: totals.requests / days.perSecond };
  return { slices: slices.length, ...totals, ...seconds };
}
