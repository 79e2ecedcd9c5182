/**
 * Lists of records that the source does not give us: the endpoint is missing, or closed to these credentials.
 * Each has a row in `ops.streams` by the name of its child. When it opens, the records read meanwhile lack
 * it: everything is then read again.
 */

import { type Kysely, sql } from 'kysely';
import type { Stream } from '../../core/stream.ts';
import { nameOf } from '../../core/table.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';

/** A list by its child, and why it is not to be had. */
export interface Closed {
  readonly child: string;
  readonly endpoint: string;
  readonly state: 'unavailable' | 'forbidden';
  readonly reason: string;
}

/**
 * True where `s` stands for a child of the stream. Its table tells it from a stream that has the name of a
 * child (sprints).
 */
const isChild = (sourceId: number, stream: Stream) => {
  const children = Object.entries(stream.children ?? {});
  const names = children.map(([name]) => name);
  const targets = children.map(([, { table }]) => nameOf(table));
  return sql`s.source_id = ${sourceId} and (s.stream, s.target) in (
    select * from unnest(${names}::text[], ${targets}::text[]))`;
};

const isChildless = (stream: Stream): boolean => Object.keys(stream.children ?? {}).length === 0;

/** The children of the stream whose lists were closed when they were last asked for. */
export async function closedChildren(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  stream: Stream,
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ stream: string }>`select stream from ops.streams s
    where ${isChild(sourceId, stream)} and state in ('unavailable', 'forbidden')`.execute(db);
  return new Set(rows.map(({ stream }) => stream));
}

/** Says that a list cannot be had, where people look for the state of streams. */
export async function markClosed(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  stream: Stream,
  closed: Closed,
): Promise<void> {
  const child = stream.children?.[closed.child];
  await sql`insert into ops.streams as s (source_id, stream, target, about, endpoint, state, reason, checked_at)
    values (${sourceId}, ${closed.child}, ${child === undefined ? '' : nameOf(child.table)},
      ${`Part of ${stream.name}: its list is asked for where a record does not bring all of it.`}, ${closed.endpoint},
      ${closed.state}, ${closed.reason}, now())
    on conflict (source_id, stream) do update set state = excluded.state, reason = excluded.reason,
      endpoint = excluded.endpoint, checked_at = excluded.checked_at
    where s.target = excluded.target`.execute(db);
}

/** Says that a list that was closed is given now. */
export async function markOpened(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  stream: Stream,
  child: string,
): Promise<void> {
  const reason = `it was closed to us: what was read meanwhile lacks it until ${stream.name} is read whole`;
  await sql`update ops.streams s set state = 'available', reason = ${reason}, checked_at = now()
    where ${isChild(sourceId, stream)} and stream = ${child}`.execute(db);
}

/** True of a child `s` of the stream that opened after the last whole walk began. */
const sinceLastWhole = (
  sourceId: number,
  stream: Stream,
) => sql`${isChild(sourceId, stream)} and s.state = 'available' and not exists (
    select from ops.walks w where w.source_id = s.source_id and w.stream = ${stream.name} and w.kind = 'full'
      and w.status = 'done' and w.opened_at > s.checked_at)`;

/** Whether rows of the stream may lack what can be had by now: then everything must be read again. */
export async function lacksOpened(
  db: Kysely<AnyDatabase>,
  sourceId: number,
  stream: Stream,
): Promise<boolean> {
  if (isChildless(stream)) return false;
  const { rows } = await sql<{ lacks: boolean }>`select exists (
    select from ops.streams s where ${sinceLastWhole(sourceId, stream)}) as lacks`.execute(db);
  return rows[0]?.lacks === true;
}

/** Forgets the children that are open and of which nothing is lacking any more. */
export async function forgetOpened(db: Kysely<AnyDatabase>, sourceId: number, stream: Stream): Promise<void> {
  if (isChildless(stream)) return;
  await sql`delete from ops.streams s where ${isChild(sourceId, stream)} and s.state = 'available' and not (${sinceLastWhole(sourceId, stream)})`.execute(
    db,
  );
}
