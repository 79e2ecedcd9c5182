/**
 * Records that the source has had for long and the warehouse lacks, or has as they were: they were hidden
 * when they last changed (a permission, an archive, an import with old dates), so no walk over changes shows
 * them. A reconciliation meets their ids.
 */

import { sql } from 'kysely';
import { plural } from '../../core/format.ts';
import { addCounts } from '../../core/run.ts';
import type { Slice, Stream } from '../../core/stream.ts';
import { minutes } from '../../core/time.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { newWalkContext } from '../batching/walk-context.ts';
import type { Problem } from '../context/problems.ts';
import { newTally, type RunContext, type Tally, tell } from '../context/run-context.ts';
import { coverageOf } from '../state/coverage.ts';
import { hasOpenRejects } from '../state/run-state.ts';
import { checkpointOf, openWalk } from '../state/walk-state.ts';
import { readWalk } from '../sync/read-walk.ts';
import type { SeenIds } from './seen-ids.ts';

const minute = minutes(1);

/**
 * Before this moment nothing is new: a sync has shown what was created until then. Undefined where none was
 * ever complete.
 */
export async function dueBefore(
  { deps, run, signal }: RunContext,
  stream: Stream,
): Promise<Date | undefined> {
  if (stream.by !== 'changes') return undefined;
  const checkpoint = await withRetry(() => checkpointOf(deps.warehouse.db, run.sourceId, stream.name));
  // Where the selection or the mapping has changed, the next sync reads everything.
  if (checkpoint?.scope !== (await coverageOf(stream, signal, checkpoint?.fields)).words) return undefined;
  const due = Math.floor((checkpoint.watermark.getTime() - deps.lookbackMs) / minute) * minute;
  return due > deps.historyStart.getTime() ? new Date(due) : undefined;
}

/** All of the stream in slices, cut at `due`. */
export function everything({ deps }: RunContext, { by }: Stream, due: Date | undefined): readonly Slice[] {
  if (by !== 'changes') return [{}];
  const window = { field: 'created', from: deps.historyStart } as const;
  if (due === undefined) return [{ window }];
  return [{ window: { ...window, to: due } }, { window: { ...window, from: due } }];
}

/** What is lacking: the places of the slices in which it was met, and how many records. */
interface Lacking {
  readonly places: readonly number[];
  readonly records: number;
}

/**
 * What was met at the places $3 and is not in the table, or only as a tombstone, or was noted as unseen of the
 * stream $2. Joins, not subqueries in a disjunction: those would be looked through once an id.
 */
const lackingRows = ({ key }: SeenIds): string =>
  `from pg_temp.reconcile_seen s
   left join %t t on t.source_id = $1 and ${key} = s.key and t._deleted_at is null
   left join ops.unseen u on u.source_id = $1 and u.stream = $2 and u.key = s.key
   where s.place = any ($3::int[]) and (t.source_id is null or u.source_id is not null)`;

/** What is lacking of the slices before `due`. */
export async function lackingIn(seen: SeenIds, { name }: Stream, due: Date): Promise<Lacking> {
  const isDue = ({ window }: Slice): boolean =>
    window?.to !== undefined && window.to.getTime() <= due.getTime();
  const rows = await seen.compare<{ place: number; records: number }>(
    `select s.place, count(*)::int as records ${lackingRows(seen)} group by s.place order by s.place`,
    name,
    seen.slices.flatMap((slice, place) => (isDue(slice) ? [place] : [])),
  );
  return {
    places: rows.map(({ place }) => place),
    records: rows.reduce((sum, row) => sum + row.records, 0),
  };
}

/**
 * Notes rows that cannot be seen for now: they are read again when they can. A stream that is listed whole
 * needs no note.
 */
export async function noteUnseen(
  context: RunContext,
  stream: Stream,
  keys: readonly string[],
): Promise<void> {
  if (stream.by !== 'changes' || keys.length === 0) return;
  await context.lease.transaction(async ({ trx }) => {
    await sql`insert into ops.unseen (source_id, stream, key)
      select ${context.run.sourceId}, ${stream.name}, unnest(${[...keys]}::text[]) on conflict do nothing`.execute(
      trx,
    );
  });
}

/** Notes what is lacking until it was read: part of it may be stored by then, and would pass for all. */
export async function noteLacking(seen: SeenIds, { name }: Stream, { places }: Lacking): Promise<void> {
  await seen.compare(
    `insert into ops.unseen (source_id, stream, key) select distinct $1::smallint, $2, s.key ${lackingRows(seen)}
     on conflict do nothing`,
    name,
    [...places],
  );
}

/**
 * Reads slices as a sync would; the watermark stays. What is cut short is found again by the next
 * reconciliation.
 */
export async function readLacking(
  context: RunContext,
  stream: Stream,
  seen: SeenIds,
  lacking: Lacking,
  tally: Tally,
): Promise<Problem | undefined> {
  await noteLacking(seen, stream, lacking);
  const slices = lacking.places.flatMap((place) => seen.slices[place] ?? []);
  tell(
    context,
    'warn',
    `${stream.name}: ${plural(lacking.records, 'record')} of long ago came into sight; ${plural(slices.length, 'window')} of them are read again`,
  );
  const reading = newTally();
  try {
    const problem = await readSlices(context, stream, slices, reading);
    if (problem !== undefined) return problem;
  } finally {
    tally.counts = addCounts(tally.counts, reading.counts);
    tally.deleted += reading.deleted;
  }
  const forget =
    'delete from ops.unseen u using pg_temp.reconcile_seen s where u.source_id = $1 and u.stream = $2 and u.key = s.key';
  await seen.compare(forget, stream.name);
  return undefined;
}

async function readSlices(
  context: RunContext,
  stream: Stream,
  slices: readonly Slice[],
  tally: Tally,
): Promise<Problem | undefined> {
  const { deps, run, signal } = context;
  const { db } = deps.warehouse;
  const window = { field: 'created', from: deps.historyStart } as const;
  const plan = { kind: 'backfill', words: `reconcile ${run.runId}`, window } as const;
  const at = { sourceId: run.sourceId, stream: stream.name, runId: run.runId };
  const walk = await openWalk(db, at, plan, undefined, slices);
  const resolves = await withRetry(() => hasOpenRejects(db, run.sourceId, stream.name));
  const coverage = await coverageOf(stream, signal);
  const fixed = { isFirst: false, force: false };
  return readWalk(newWalkContext(context, { ...fixed, stream, walk, tally, coverage, resolves }));
}
