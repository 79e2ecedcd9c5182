/** The ids that a source has, slice by slice, in a temporary table of one session. */

import type pg from 'pg';
import type { Slice, Stream } from '../../core/stream.ts';
import { pages } from '../../reading/pages.ts';
import { type Tally, tellProgress } from '../context/run-context.ts';
import type { Execution } from '../execution.ts';
import { cutInto, mostIds, partsOf } from '../sync/cut-window.ts';

/**
 * What a walk over ids has met. The ids are in `pg_temp.reconcile_seen`, `place` being the index of their
 * slice here. On a server with coarse times an id near a cut is listed by the slices on both sides: only one
 * of them gives its record.
 */
export interface Seen {
  /** True where every slice was read to its stated end with nothing missing. */
  readonly complete: boolean;
  readonly slices: readonly Slice[];
}

/**
 * Walks every id of the slices into `reconcile_seen`, several slices at once. Throws what the first to fail
 * threw, once the others have ended.
 */
export async function readIds(
  execution: Execution,
  stream: Stream,
  client: pg.PoolClient,
  tally: Tally,
  slices: readonly Slice[],
): Promise<Seen> {
  await client.query(
    `create temp table if not exists reconcile_seen (key text, place int, primary key (key, place));
     truncate pg_temp.reconcile_seen`,
  );
  const reader = new IdReader(execution, stream, client, tally);
  await reader.readAll(slices);
  // The planner knows nothing of a temporary table before `analyze`.
  await client.query('analyze pg_temp.reconcile_seen');
  return reader;
}

class IdReader implements Seen {
  complete = true;
  readonly slices: Slice[] = [];
  readonly #execution: Execution;
  readonly #stream: Stream;
  readonly #client: pg.PoolClient;
  readonly #tally: Tally;
  readonly #failure = new AbortController();
  readonly #signal: AbortSignal;
  /** One connection takes the ids of all slices: one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(execution: Execution, stream: Stream, client: pg.PoolClient, tally: Tally) {
    this.#execution = execution;
    this.#stream = stream;
    this.#client = client;
    this.#tally = tally;
    this.#signal = AbortSignal.any([execution.context.signal, this.#failure.signal]);
  }

  async readAll(slices: readonly Slice[]): Promise<void> {
    const { slot } = this.#execution.context;
    await Promise.all(
      slices.map((slice) =>
        slot(() => this.#cutOrRead(slice))
          .then((parts) => this.readAll(parts))
          .catch((error: unknown) => this.#failure.abort(error)),
      ),
    );
    this.#failure.signal.throwIfAborted();
  }

  /** Gives the parts of a slice that is too large, and reads any other. */
  async #cutOrRead(slice: Slice): Promise<readonly Slice[]> {
    this.#signal.throwIfAborted();
    const count = (await this.#stream.windows?.count(slice, this.#signal)) ?? 0;
    const clock = this.#execution.clock ?? new Date();
    const parts = count > mostIds ? cutInto(partsOf(count, mostIds), slice, clock) : undefined;
    if (parts === undefined) await this.#read(slice, this.slices.push(slice) - 1);
    return parts ?? [];
  }

  async #read(slice: Slice, place: number): Promise<void> {
    const { context } = this.#execution;
    const tally = this.#tally;
    const find = this.#stream.ids ?? this.#stream.pages;
    if (find === undefined) throw new Error(`${this.#stream.name} has no list of ids`);
    const walk = await find(slice, this.#signal);
    const reading = pages(context.deps.source.http, walk, this.#signal);
    let step = await reading.next();
    for (; step.done !== true; step = await reading.next()) {
      const { records } = step.value;
      await this.#keep(
        records.map((record) => walk.id(record)),
        place,
      );
      tally.received += records.length;
      tellProgress(context, this.#stream, tally);
    }
    const { fetched, expected, matched } = step.value;
    tally.slices += 1;
    tally.fetched += fetched;
    tally.landed += fetched;
    tally.expected = tally.expected === null || expected === null ? null : tally.expected + expected;
    this.complete &&= matched;
  }

  #keep(keys: readonly string[], place: number): Promise<unknown> {
    this.#writing = this.#writing.then(() =>
      this.#client.query(
        'insert into pg_temp.reconcile_seen select unnest($1::text[]), $2::int on conflict do nothing',
        [keys, place],
      ),
    );
    return this.#writing;
  }
}

/**
 * Runs a statement that compares `reconcile_seen` with a table as a whole: by hash, whatever the planner
 * believes of a young table. Row by row it would read the table once an id.
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
