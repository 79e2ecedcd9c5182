/** The ids that a source has, slice by slice, in a temporary table of one session. */

import type pg from 'pg';
import type { Slice, Stream } from '../../core/stream.ts';
import { nameOf } from '../../core/table.ts';
import { pages } from '../../reading/pages.ts';
import { type RunContext, type Tally, tallySlice, tellProgress } from '../context/run-context.ts';
import { cutInto, mostIds, partsOf } from '../sync/cut-window.ts';

/**
 * The ids are in `pg_temp.reconcile_seen`, `place` being the index of their slice in `slices`. On a server
 * with coarse times an id near a cut is listed by the slices on both sides: only one of them gives its record.
 */
export class SeenIds {
  /** True where every slice was read to its stated end with nothing missing. */
  complete = true;
  readonly slices: Slice[] = [];
  /** The key of a row `t` of the stream's table, as text, in SQL. */
  readonly key: string;
  readonly #context: RunContext;
  readonly #stream: Stream;
  readonly #client: pg.PoolClient;
  readonly #tally: Tally;
  readonly #failure = new AbortController();
  readonly #signal: AbortSignal;
  /** One connection takes the ids of all slices: one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(context: RunContext, stream: Stream, client: pg.PoolClient, tally: Tally) {
    this.#context = context;
    this.#stream = stream;
    this.#client = client;
    this.#tally = tally;
    this.#signal = AbortSignal.any([context.signal, this.#failure.signal]);
    this.key = `t.${client.escapeIdentifier(stream.table.key[0] ?? 'id')}::text`;
  }

  /**
   * Reads every id of the slices, several slices at once. Throws what the first to fail threw, once the others
   * have ended.
   */
  async read(slices: readonly Slice[]): Promise<void> {
    await this.#client.query(
      `create temp table if not exists reconcile_seen (key text, place int, primary key (key, place));
       truncate pg_temp.reconcile_seen`,
    );
    await this.#readAll(slices);
    // The planner knows nothing of a temporary table before `analyze`.
    await this.#client.query('analyze pg_temp.reconcile_seen');
  }

  /**
   * Runs a statement that compares the ids with a table as a whole: by hash, whatever the planner believes of
   * a young table. Row by row it would read the table once an id. `%t`: the stream's table; $1: the source.
   */
  async compare<R extends pg.QueryResultRow>(
    text: string,
    ...values: readonly unknown[]
  ): Promise<readonly R[]> {
    const { sourceId } = this.#context.run;
    const statement = text.replace('%t', nameOf(this.#stream.table));
    await this.#client.query('set enable_nestloop = off');
    const { rows } = await this.#client.query<R>(statement, [sourceId, ...values]);
    await this.#client.query('reset enable_nestloop');
    return rows;
  }

  async #readAll(slices: readonly Slice[]): Promise<void> {
    const { slot } = this.#context;
    const one = async (slice: Slice): Promise<void> => {
      try {
        await this.#readAll(await slot(() => this.#cutOrRead(slice)));
      } catch (error) {
        this.#failure.abort(error);
      }
    };
    await Promise.all(slices.map(one));
    this.#failure.signal.throwIfAborted();
  }

  /** Gives the parts of a slice that is too large, and reads any other. */
  async #cutOrRead(slice: Slice): Promise<readonly Slice[]> {
    this.#signal.throwIfAborted();
    const count = (await this.#stream.windows?.count(slice, this.#signal)) ?? 0;
    const clock = this.#context.clock ?? new Date();
    const parts = count > mostIds ? cutInto(partsOf(count, mostIds), slice, clock) : undefined;
    if (parts === undefined) await this.#read(slice, this.slices.push(slice) - 1);
    return parts ?? [];
  }

  async #read(slice: Slice, place: number): Promise<void> {
    const context = this.#context;
    const tally = this.#tally;
    const find = this.#stream.ids ?? this.#stream.pages;
    if (find === undefined) throw new Error(`${this.#stream.name} has no list of ids`);
    const walk = await find(slice, this.#signal);
    const reading = pages(context.deps.source.http, walk, this.#signal);
    let step = await reading.next();
    for (; step.done !== true; step = await reading.next()) {
      const keys = step.value.records.map((record) => walk.id(record));
      await this.#keep(keys, place);
      tally.received += keys.length;
      tellProgress(context, this.#stream, tally);
    }
    const { fetched, expected, matched } = step.value;
    tallySlice(tally, { expected, fetched, landed: fetched });
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
