import { sql } from 'kysely';
import type { Days, Stream } from '../core/stream.ts';
import { givenTo } from './batching/slice-context.ts';
import type { RunDeps } from './context/deps.ts';
import { chosenFlows } from './context/select-streams.ts';
import { slicesOf } from './sync/days.ts';
import { type Asked, type Mode, ownersOf, partitionsFrom, planStream, type StreamPlan } from './sync/plan.ts';

/** What a run would do for one stream. */
export interface PlannedStream {
  readonly stream: string;
  readonly mode: Mode;
  readonly from?: Date;
  readonly to?: Date;
  /** Why everything is read again, where nobody asks for it. */
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

/** What `sync`, `sync --full` or `backfill` would read. Asks the source for counts, writes no rows and takes no lease. */
export async function plan(
  deps: RunDeps,
  options: {
    readonly streams?: readonly string[];
    readonly full?: boolean;
    readonly window?: Asked['window'];
  },
): Promise<readonly PlannedStream[]> {
  const { db } = deps.warehouse;
  const sourceId = await knownSource(db, deps.source.name);
  const { clock } = await deps.source.preflight(deps.signal);
  const asked: Asked = { full: options.full === true, window: options.window };
  const planned: PlannedStream[] = [];
  for (const flow of chosenFlows(deps, options.streams)) {
    const stream = flow;
    const what = await planStream(deps, sourceId, flow, asked, clock, deps.signal);
    if (what === undefined) continue;
    if (stream.days !== undefined) {
      planned.push(await planDays(deps, { sourceId, clock }, flow, stream.days, what));
      continue;
    }
    const owners =
      stream.partitions === undefined
        ? 1
        : (await partitionsFrom(db, sourceId, stream.name, stream.partitions, ownersOf(what))).length;
    const records =
      what.window === undefined
        ? undefined
        : await stream.windows?.count({ window: what.window }, deps.signal);
    planned.push({
      stream: stream.name,
      mode: what.mode,
      ...(what.why === undefined ? {} : { why: what.why }),
      slices: owners,
      ...(what.window?.from === undefined ? {} : { from: what.window.from }),
      ...(what.window?.to === undefined ? {} : { to: what.window.to }),
      ...(records === undefined ? {} : { records, requests: Math.max(1, Math.ceil(records / pageSize)) }),
    });
  }
  return planned;
}

/** The id of the source, not registered by a plan; one that was never read has none, and 0 is nobody's. */
async function knownSource(db: RunDeps['warehouse']['db'], name: string): Promise<number> {
  const { rows } = await sql<{
    source_id: number;
  }>`select source_id from ops.sources where name = ${name}`.execute(db);
  return rows[0]?.source_id ?? 0;
}

/** The slices of a stream of days, with an upper bound of their rows. */
async function planDays(
  deps: RunDeps,
  at: { readonly sourceId: number; readonly clock: Date | undefined },
  flow: Stream,
  days: Days,
  what: StreamPlan,
): Promise<PlannedStream> {
  const stream = flow;
  const now = () => at.clock ?? new Date();
  const given = givenTo(
    { deps, run: { sourceId: at.sourceId, runId: '0' }, clock: at.clock, now },
    flow,
    undefined,
  );
  const owners =
    stream.partitions === undefined
      ? [undefined]
      : await partitionsFrom(deps.warehouse.db, at.sourceId, stream.name, stream.partitions, 'all');
  const slices = slicesOf(stream, what.window, owners);
  const totals = { records: 0, requests: 0 };
  for (const slice of slices) {
    totals.records += await days.rows(slice, given);
    totals.requests += await days.requests(slice, given);
  }
  return {
    stream: stream.name,
    mode: what.mode,
    ...(what.why === undefined ? {} : { why: what.why }),
    ...(what.window?.from === undefined ? {} : { from: what.window.from }),
    ...(what.window?.to === undefined ? {} : { to: what.window.to }),
    slices: slices.length,
    ...totals,
    ...(days.perSecond > 0 && { seconds: totals.requests / days.perSecond }),
  };
}
