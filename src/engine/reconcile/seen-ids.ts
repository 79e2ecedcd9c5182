/** The ids that a source has, slice by slice, in a temporary table of one session. */

import { type RawBuilder, sql } from 'kysely';
import pLimit from 'p-limit';
import { Transient } from '../../core/errors.ts';
import type { Slice, Stream } from '../../core/stream.ts';
import type { Db } from '../../queries/db.ts';
import { pages } from '../../reading/pages.ts';
import { type StreamInRun, tallySlice, tellProgress } from '../context/stream-in-run.ts';
import { cutByCount, mostIds } from '../sync/cut.ts';

/** The reconciliation of one stream. */
export interface Reconciling extends StreamInRun {
  /** A session of its own. */
  readonly db: Db;
}

/** The key of a row `t` of the stream's table, as text. */
export const keyOf = ({ table }: Stream): RawBuilder<unknown> =>
  sql`${sql.id('t', table.key[0] ?? 'id')}::text`;

/**
 * Reads every id of the slices into `pg_temp.reconcile_seen`, several slices at once. Gives the slices as they
 * were cut; `place` in the table is the index of an id's slice. On a server with coarse times an id near a cut
 * is listed by the slices on both sides: only one of them gives its record. Throws what the first to fail
 * threw, once the others have ended; `Transient` where a list did not add up.
 */
export async function readIds(reconciling: Reconciling, slices: readonly Slice[]): Promise<readonly Slice[]> {
  const { db } = reconciling;
  const reader = new IdReader(reconciling);
  await sql`create temp table reconcile_seen (key text, place int, primary key (key, place))`.execute(db);
  await reader.readAll(slices);
  // All ids are compared with all rows, by hash. Row by row, which is what the planner takes for better where
  // it knows nothing of a young table, would read that table once an id.
  await sql`set enable_nestloop = off`.execute(db);
  await sql`analyze pg_temp.reconcile_seen`.execute(db);
  return reader.slices;
}

class IdReader {
  /** Those that are read as a whole. */
  readonly slices: Slice[] = [];
  readonly #reconciling: Reconciling;
  readonly #failure = new AbortController();
  readonly #signal: AbortSignal;
  /** One session takes the ids of all slices: one page after the other. */
  readonly #writing = pLimit(1);

  constructor(reconciling: Reconciling) {
    this.#reconciling = reconciling;
    this.#signal = AbortSignal.any([reconciling.context.signal, this.#failure.signal]);
  }

  async readAll(slices: readonly Slice[]): Promise<void> {
    const { slot } = this.#reconciling.context;
    const one = async (slice: Slice): Promise<void> => {
      try {
        await this.readAll(await slot(() => this.#cutOrRead(slice)));
      } catch (error) {
        this.#failure.abort(error);
      }
    };
    await Promise.all(slices.map(one));
    this.#failure.signal.throwIfAborted();
  }

  /** Gives the parts of a slice that is too large, and reads any other. */
  async #cutOrRead(slice: Slice): Promise<readonly Slice[]> {
    const { context, stream } = this.#reconciling;
    this.#signal.throwIfAborted();
    const count = (await stream.windows?.count(slice, this.#signal)) ?? 0;
    const parts = cutByCount(slice, count, mostIds, context.clock ?? new Date());
    if (parts === undefined) await this.#read(slice, this.slices.push(slice) - 1);
    return parts ?? [];
  }

  async #read(slice: Slice, place: number): Promise<void> {
    const { context, stream, tally, db } = this.#reconciling;
    const find = stream.ids ?? stream.pages;
    if (find === undefined) throw new Error(`${stream.name} has no list of ids`);
    const walk = await find(slice, this.#signal);
    const reading = pages(context.deps.source.http, walk, this.#signal);
    let step = await reading.next();
    for (; step.done !== true; step = await reading.next()) {
      const keys = step.value.records.map((record) => walk.id(record));
      const keep = sql`insert into pg_temp.reconcile_seen select unnest(${keys}::text[]), ${place}::int
        on conflict do nothing`;
      await this.#writing(() => keep.execute(db));
      tally.received += keys.length;
      tellProgress(this.#reconciling);
    }
    const { fetched, expected, matched } = step.value;
    tallySlice(tally, { expected, fetched, landed: fetched });
    if (!matched)
      throw new Transient(`${stream.name}: the list kept changing; nothing was concluded from it`);
  }
}
