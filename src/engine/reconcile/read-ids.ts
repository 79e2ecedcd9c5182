/** The ids that a source has, slice by slice, in a temporary table of one session. */

import type pg from 'pg';
import type { Slice, Stream } from '../../core/stream.ts';
import { pages } from '../../reading/pages.ts';
import { type RunContext, type Tally, tellProgress } from '../context/run-context.ts';
import type { Execution } from '../execution.ts';
import { cutInto, mostIds, partsOf } from '../sync/cut-window.ts';

/**
 * What a walk over ids has met. The ids are in `pg_temp.reconcile_seen`, `place` being the index of their slice here. Where a server knows time but
 * roughly, one near a cut is listed by the slices on both sides and has two places: only one of them gives its record.
 */
export interface Seen {
  /** True where every slice was read to its stated end with nothing missing. */
  readonly complete: boolean;
  readonly slices: readonly Slice[];
}

/** Walks every id of the slices into `reconcile_seen`, several slices at once. Throws what the first to fail threw, once the others have ended. */
export async function walkIds(
  { context, clock }: Execution,
  flow: Stream,
  client: pg.PoolClient,
  tally: Tally,
  from: readonly Slice[],
): Promise<Seen> {
  const { windows } = flow;
  await client.query(
    'create temp table if not exists reconcile_seen (key text, place int, primary key (key, place))',
  );
  await client.query('truncate pg_temp.reconcile_seen');
  let complete = true;
  const slices: Slice[] = [];
  // One connection takes the ids of all slices: one after the other.
  let writing: Promise<unknown> = Promise.resolve();
  const keep = (keys: readonly string[], place: number): Promise<unknown> => {
    writing = writing.then(() =>
      client.query(
        'insert into pg_temp.reconcile_seen select unnest($1::text[]), $2::int on conflict do nothing',
        [keys, place],
      ),
    );
    return writing;
  };
  const failure = new AbortController();
  const signal = AbortSignal.any([context.signal, failure.signal]);
  const walk = async (slice: Slice): Promise<void> => {
    const more = await context.slot(async () => {
      signal.throwIfAborted();
      const count = await windows?.count(slice, signal);
      const cut =
        count === undefined || count <= mostIds
          ? undefined
          : cutInto(partsOf(count, mostIds), slice, clock ?? new Date());
      if (cut !== undefined) return cut;
      const place = slices.push(slice) - 1;
      const matched = await readIds(context, flow, slice, tally, {
        signal,
        keep: (keys) => keep(keys, place),
      });
      complete &&= matched;
      return [];
    });
    await walkAll(more);
  };
  const walkAll = async (all: readonly Slice[]): Promise<void> => {
    await Promise.all(all.map((slice) => walk(slice).catch((error: unknown) => failure.abort(error))));
    failure.signal.throwIfAborted();
  };
  await walkAll(from);
  // Nobody else looks after a temporary table: what is planned with it would be planned in the dark.
  await client.query('analyze pg_temp.reconcile_seen');
  return { complete, slices };
}

/**
 * Runs a statement in which `reconcile_seen` is compared with a table as a whole: by hash, whatever the planner believes of a table that is young or
 * of the keys that are met there. Row by row it would read the table once an id.
 */
export async function compareWhole<R extends pg.QueryResultRow>(
  client: pg.PoolClient,
  text: string,
  values: readonly unknown[],
): Promise<readonly R[]> {
  await client.query('set enable_nestloop = off');
  const { rows } = await client.query<R>(text, [...values]);
  await client.query('reset enable_nestloop');
  return rows;
}

/** Reads the ids of one slice to the end; true where none is missing. */
async function readIds(
  context: RunContext,
  flow: Stream,
  slice: Slice,
  tally: Tally,
  {
    signal,
    keep,
  }: { readonly signal: AbortSignal; readonly keep: (keys: readonly string[]) => Promise<unknown> },
): Promise<boolean> {
  const stream = flow;
  const find = stream.ids ?? stream.pages;
  if (find === undefined) throw new Error(`${stream.name} has no list of ids`);
  const walk = await find(slice, signal);
  const reading = pages(context.deps.source.http, walk, signal);
  for (;;) {
    const step = await reading.next();
    if (step.done === true) {
      tally.slices += 1;
      tally.fetched += step.value.fetched;
      tally.landed += step.value.fetched;
      tally.expected =
        tally.expected === null || step.value.expected === null ? null : tally.expected + step.value.expected;
      return step.value.matched;
    }
    await keep(step.value.records.map((record) => walk.id(record)));
    tally.received += step.value.records.length;
    tellProgress(context, flow, tally);
  }
}
