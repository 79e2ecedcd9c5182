/** Tombstones and resurrections of one stream (guarantee G10). */

import { sql } from 'kysely';
import { Missing } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { noCounts } from '../../core/run.ts';
import type { Stream } from '../../core/stream.ts';
import { mostDeletions } from '../../load/replace.ts';
import { type RunContext, type Tally, tallyBatch, tell } from '../context/run-context.ts';
import { countBatch } from '../state/run-state.ts';
import { noteUnseen } from './missing-rows.ts';
import type { SeenIds } from './seen-ids.ts';

/** A canary's answer counts for this long. */
const canaryMs = 60_000;

/** A row that was not seen, and the group in which another row must be alive for it to count as gone. */
interface Candidate {
  readonly key: string;
  readonly kin: string;
}

/** Keys of candidates, by what their own requests say. */
interface Confirmed {
  readonly gone: string[];
  readonly unlisted: string[];
  readonly unsure: string[];
}

export class Deletions {
  readonly #context: RunContext;
  readonly #stream: Stream;
  readonly #seen: SeenIds;
  readonly #tally: Tally;
  /** The group of a row `t`, in SQL. */
  readonly #kin: string;
  readonly #canaries = new Map<string, { readonly at: number; readonly alive: boolean }>();

  constructor(context: RunContext, stream: Stream, seen: SeenIds, tally: Tally) {
    this.#context = context;
    this.#stream = stream;
    this.#seen = seen;
    this.#tally = tally;
    this.#kin = stream.canaryBy === undefined ? `''` : `coalesce(t."${stream.canaryBy}"::text, '')`;
  }

  /**
   * Marks and un-marks. Where a window is read again (`places`), that reading lifts tombstones, in the
   * transaction that brings what has changed. Gives what is in doubt, and whether the deletion limit held
   * everything.
   */
  async mark(places: readonly number[]): Promise<{ readonly doubt?: string; readonly isHeld: boolean }> {
    const { name } = this.#stream;
    const { key } = this.#seen;
    const seen = `select from pg_temp.reconcile_seen s where s.key = ${key}`;
    const risen = await this.#seen.compare<{ key: string }>(
      `select ${key} as key from %t t where t.source_id = $1 and t._deleted_at is not null and exists (${seen})
         and not exists (${seen} and s.place = any ($2::int[]))`,
      [...places],
    );
    const candidates = await this.#seen.compare<Candidate>(
      `select ${key} as key, ${this.#kin} as kin from %t t where t.source_id = $1 and t._deleted_at is null
         and not exists (${seen}) order by random()`,
    );
    const [{ live } = { live: 0 }] = await this.#seen.compare<{ live: number }>(
      'select count(*)::float8 as live from %t t where t.source_id = $1 and t._deleted_at is null',
    );
    const most = mostDeletions(live);
    const confirmed = await this.#confirm(candidates, most);
    if (confirmed === undefined) {
      await noteUnseen(this.#context, this.#stream, keysOf(candidates));
      const doubt = `${name}: more than ${most} of ${live} rows are gone at the source; nothing was deleted: is it the right site, and may the account still see every project?`;
      return { doubt, isHeld: true };
    }
    const { gone, unlisted, unsure } = confirmed;
    await this.#set(keysOf(risen), 'alive');
    await this.#set(gone, 'dead');
    await noteUnseen(this.#context, this.#stream, [...unlisted, ...unsure]);
    if (unlisted.length > 0)
      this.#tell(
        'warn',
        `${plural(unlisted.length, 'row')} can be had one by one but the source lists them no more (they left what the configuration selects?): they stay here as they were`,
      );
    if (unsure.length === 0) return { isHeld: false };
    const doubt = `${name}: ${plural(unsure.length, 'row')} can no longer be seen, but no other row of their kind can either: they were not deleted. Is a project hidden from the account? Of a server that has no address for a single one no reconciliation can tell`;
    return { doubt, isHeld: false };
  }

  /** Asks for each candidate twice; undefined where more are missing than the limit allows. */
  async #confirm(candidates: readonly Candidate[], most: number): Promise<Confirmed | undefined> {
    const confirmed: Confirmed = { gone: [], unlisted: [], unsure: [] };
    const missing: Candidate[] = [];
    for (const candidate of candidates) {
      // The canary first: where none lives nothing can be concluded, and a hidden project is not asked for
      // row by row.
      if (!(await this.#canary(candidate.kin, canaryMs))) confirmed.unsure.push(candidate.key);
      else if (await this.#exists(candidate.key)) confirmed.unlisted.push(candidate.key);
      else missing.push(candidate);
      if (missing.length > most) return undefined;
    }
    const begun = performance.now();
    for (const { key, kin } of missing) {
      if (await this.#exists(key)) confirmed.unlisted.push(key);
      // Again: an outage that began between the canary and the confirmations must not count as deletions.
      else if (await this.#canary(kin, performance.now() - begun)) confirmed.gone.push(key);
      else confirmed.unsure.push(key);
    }
    return confirmed;
  }

  async #exists(key: string): Promise<boolean> {
    return (await this.#stream.exists?.(key, this.#context.signal)) === true;
  }

  /**
   * Whether another row of the group answers, which this reconciliation has seen: else the absence is a
   * permission or an outage, or the source gives no single entity.
   */
  async #canary(kin: string, maxAgeMs: number): Promise<boolean> {
    const former = this.#canaries.get(kin);
    if (former !== undefined && performance.now() - former.at <= maxAgeMs) return former.alive;
    const { key } = this.#seen;
    const [row] = await this.#seen.compare<{ key: string }>(
      `select ${key} as key from %t t join pg_temp.reconcile_seen s on s.key = ${key}
       where t.source_id = $1 and ${this.#kin} = $2 limit 1`,
      kin,
    );
    const isMissing = (error: unknown): boolean => {
      if (error instanceof Missing) return false;
      throw error;
    };
    const alive = row !== undefined && (await this.#exists(row.key).catch(isMissing));
    this.#canaries.set(kin, { at: performance.now(), alive });
    return alive;
  }

  /** Sets or lifts tombstones in one fenced transaction. A row that is alive again counts as updated. */
  async #set(keys: readonly string[], as: 'dead' | 'alive'): Promise<void> {
    if (keys.length === 0) return;
    const { table, name } = this.#stream;
    const { run } = this.#context;
    const many = keys.length;
    const isDead = as === 'dead';
    const counts = isDead ? noCounts : { ...noCounts, received: many, updated: many };
    const loaded = { counts, deleted: isDead ? many : 0, isHeld: false };
    await this.#context.lease.transaction(async (session) => {
      await sql`update ${sql.id(table.schema, table.name)} set _deleted_at = ${isDead ? sql`now()` : sql`null`},
          _synced_at = now(), _run_id = ${run.runId}::bigint
        where source_id = ${run.sourceId} and ${sql.id(table.key[0] ?? 'id')}::text = any (${[...keys]}::text[])`.execute(
        session.trx,
      );
      // What is gone is not read again; should it come back, its tombstone says as much.
      if (isDead)
        await sql`delete from ops.unseen where source_id = ${run.sourceId} and stream = ${name}
          and key = any (${[...keys]}::text[])`.execute(session.trx);
      await countBatch(session, run, name, loaded);
    });
    tallyBatch(this.#tally, loaded);
    this.#tell('info', `${plural(many, 'row')} ${isDead ? 'marked as deleted' : 'alive again'}`);
  }

  #tell(level: 'info' | 'warn', message: string): void {
    tell(this.#context, level, `${this.#stream.name}: ${message}`);
  }
}

const keysOf = (rows: readonly { readonly key: string }[]): readonly string[] => rows.map(({ key }) => key);
