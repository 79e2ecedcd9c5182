import { sql } from 'kysely';
import type pg from 'pg';
import { Misconfigured, Missing, passesAfter, saidBy } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { noCounts, type RunReport, type StreamReport } from '../../core/run.ts';
import type { Stream } from '../../core/stream.ts';
import { nameOf } from '../../core/table.ts';
import { mostDeletions } from '../../load/replace.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { RunDeps } from '../context/deps.ts';
import { endsRun } from '../context/problems.ts';
import { type Tally, tallyBatch, tell } from '../context/run-context.ts';
import { chosenStreams } from '../context/select-streams.ts';
import { enterStream } from '../context/stream-in-run.ts';
import { type Execution, withRun } from '../execution.ts';
import { withLease } from '../state/lease-guard.ts';
import { countBatch } from '../state/run-state.ts';
import { abandonWalks } from '../state/walk-state.ts';
import { dueBefore, everything, lackingIn, noteUnseen, readLacking } from './missing-rows.ts';
import { compareWhole, readIds } from './read-ids.ts';

/** A canary's answer counts for this long. */
const canaryMs = 60_000;

/**
 * Reads every id of each stream whose entities can be asked for one by one. Rows that are not shown are
 * candidates; each is confirmed gone by its own request, twice, while a canary of the same project answers.
 * Tombstones that are shown again are lifted, and records that no sync has shown are read. Nothing is deleted
 * when the ids were not complete or the limit is exceeded (`needs_attention`).
 */
export function reconcile(
  deps: RunDeps,
  options: { readonly streams?: readonly string[] },
): Promise<RunReport> {
  const { streams: all } = deps.source;
  const streams = chosenStreams(deps, options.streams).filter(hasReconcile);
  // Where all that have one are excluded, a scheduled reconcile has nothing to do and succeeds.
  const isLeftOut = options.streams === undefined && all.some(hasReconcile);
  if (streams.length === 0 && !isLeftOut)
    throw new Misconfigured(
      `none of the streams ${(options.streams ?? all.map(({ name }) => name)).join(', ')} has a reconciliation`,
    );
  return withRun(deps, 'reconcile', { streams: options.streams ?? null }, async (execution) => {
    const settled: PromiseSettledResult<StreamReport>[] = [];
    for (const stream of streams) {
      const [one] = await Promise.allSettled([reconcileOf(execution, stream)]);
      settled.push(one);
      if (one.status === 'rejected' && endsRun(one.reason)) break;
    }
    return settled;
  });
}

/** Whether the entities of a stream can be asked for one by one. */
const hasReconcile = ({ exists, table, partitions }: Stream): boolean =>
  exists !== undefined && table.tombstones && partitions === undefined;

async function reconcileOf(execution: Execution, stream: Stream): Promise<StreamReport> {
  const { deps, run } = execution.context;
  const { tally, report, end } = await enterStream(execution.context, stream);
  const client = await withRetry(() => deps.warehouse.pool.connect());
  try {
    // What an interrupted reconciliation was reading is met again.
    await withRetry(() => abandonWalks(deps.warehouse.db, run.sourceId, stream.name, 'reconcile %'));
    const { status, reason, passesAfterMs } = await conclude(execution, stream, client, tally);
    return await end(report(status, reason, passesAfterMs));
  } catch (error) {
    const failed = await end(report('failed', saidBy(error), passesAfter(error)));
    if (endsRun(error)) throw error;
    return failed;
  } finally {
    client.release(true);
  }
}

type Conclusion = Pick<StreamReport, 'status'> & {
  readonly reason?: string | undefined;
  readonly passesAfterMs?: number | undefined;
};

async function conclude(
  execution: Execution,
  stream: Stream,
  client: pg.PoolClient,
  tally: Tally,
): Promise<Conclusion> {
  const { context } = execution;
  const due = await dueBefore(context, stream);
  const seen = await readIds(execution, stream, client, tally, everything(context, stream, due));
  if (!seen.complete)
    return {
      status: 'partial',
      reason: `${stream.name}: the list kept changing; nothing was concluded from it`,
      passesAfterMs: 0,
    };
  const lacking = due && (await lackingIn(context, stream, client, seen, due));
  const { doubt, isHeld } = await new Deletions(execution, stream, client, tally).mark(lacking?.places ?? []);
  // Where too much is gone it may be another site: its records are not taken over either.
  if (lacking !== undefined && lacking.records > 0 && !isHeld) {
    const problem = await readLacking(execution, stream, client, lacking, tally);
    if (problem !== undefined)
      return { ...problem, reason: [problem.reason, doubt].filter((one) => one !== undefined).join('; ') };
  }
  return { status: doubt === undefined ? 'ok' : 'attention', reason: doubt };
}

/**
 * A row that the walk did not show, and the group in which another row must be alive for it to count as gone.
 */
interface Candidate {
  readonly key: string;
  readonly kin: string;
}

/** Tombstones and resurrections of one stream. */
class Deletions {
  readonly #context: Execution['context'];
  readonly #stream: Stream;
  readonly #client: pg.PoolClient;
  readonly #tally: Tally;
  /** The key of a row `t` of the table, and its group, in SQL. */
  readonly #key: string;
  readonly #kin: string;
  readonly #canaries = new Map<string, { readonly at: number; readonly alive: boolean }>();

  constructor({ context }: Execution, stream: Stream, client: pg.PoolClient, tally: Tally) {
    this.#context = context;
    this.#stream = stream;
    this.#client = client;
    this.#tally = tally;
    const { canaryBy, table } = stream;
    this.#key = `t.${client.escapeIdentifier(table.key[0] ?? 'id')}::text`;
    this.#kin = canaryBy === undefined ? `''` : `coalesce(t.${client.escapeIdentifier(canaryBy)}::text, '')`;
  }

  /**
   * Marks and un-marks. Where a window is read again (`places`), that reading lifts tombstones, in the
   * transaction that brings what has changed. Gives what is in doubt, and whether the deletion limit held
   * everything.
   */
  async mark(
    places: readonly number[],
  ): Promise<{ readonly doubt?: string | undefined; readonly isHeld: boolean }> {
    const { name } = this.#stream;
    const risen = await this.#rows<{ key: string }>(
      `select ${this.#key} as key from %t t where t.source_id = $1 and t._deleted_at is not null and exists (${this.#seen})
         and not exists (${this.#seen} and s.place = any ($2::int[]))`,
      [[...places]],
    );
    const candidates = await this.#rows<Candidate>(
      `select ${this.#key} as key, ${this.#kin} as kin from %t t where t.source_id = $1 and t._deleted_at is null
         and not exists (${this.#seen}) order by random()`,
    );
    const [{ live } = { live: 0 }] = await this.#rows<{ live: number }>(
      'select count(*)::float8 as live from %t t where t.source_id = $1 and t._deleted_at is null',
    );
    const most = mostDeletions(live);
    const sorted = await this.#sort(candidates, most);
    if (sorted === undefined) {
      await noteUnseen(this.#context, this.#stream, keysOf(candidates));
      const doubt = `${name}: more than ${most} of ${live} rows are gone at the source; nothing was deleted: is it the right site, and may the account still see every project?`;
      return { doubt, isHeld: true };
    }
    const { gone, unlisted, unsure } = sorted;
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
  async #sort(
    candidates: readonly Candidate[],
    most: number,
  ): Promise<Record<'gone' | 'unlisted' | 'unsure', string[]> | undefined> {
    const { signal } = this.#context;
    const sorted = { gone: [] as string[], unlisted: [] as string[], unsure: [] as string[] };
    const missing: Candidate[] = [];
    for (const candidate of candidates) {
      // The canary first: where none lives nothing can be concluded, and a hidden project is not asked for
      // row by row.
      if (!(await this.#canary(candidate.kin, canaryMs))) sorted.unsure.push(candidate.key);
      else if (await this.#stream.exists?.(candidate.key, signal)) sorted.unlisted.push(candidate.key);
      else missing.push(candidate);
      if (missing.length > most) return undefined;
    }
    const confirmed = performance.now();
    for (const { key, kin } of missing) {
      if (await this.#stream.exists?.(key, signal)) sorted.unlisted.push(key);
      // Again: an outage that began between the canary and the confirmations must not count as deletions.
      else if (await this.#canary(kin, performance.now() - confirmed)) sorted.gone.push(key);
      else sorted.unsure.push(key);
    }
    return sorted;
  }

  /**
   * Whether another row of the group answers, which this reconciliation has seen: else the absence is a
   * permission or an outage.
   */
  async #canary(kin: string, maxAgeMs: number): Promise<boolean> {
    const known = this.#canaries.get(kin);
    if (known !== undefined && performance.now() - known.at <= maxAgeMs) return known.alive;
    const [row] = await this.#rows<{ key: string }>(
      `select ${this.#key} as key from %t t join pg_temp.reconcile_seen s on s.key = ${this.#key}
       where t.source_id = $1 and ${this.#kin} = $2 limit 1`,
      [kin],
    );
    const alive = row !== undefined && (await this.#isAlive(row.key));
    this.#canaries.set(kin, { at: performance.now(), alive });
    return alive;
  }

  /** Of a row that was seen. Where the source gives no single entity, nothing is known of any other. */
  async #isAlive(key: string): Promise<boolean> {
    try {
      return (await this.#stream.exists?.(key, this.#context.signal)) === true;
    } catch (error) {
      if (error instanceof Missing) return false;
      throw error;
    }
  }

  /** The ids that were seen, of a row `t`. */
  get #seen(): string {
    return `select from pg_temp.reconcile_seen s where s.key = ${this.#key}`;
  }

  /** `%t`: the stream's table; $1: the source. */
  #rows<R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<readonly R[]> {
    const { sourceId } = this.#context.run;
    return compareWhole<R>(this.#client, text.replace('%t', nameOf(this.#stream.table)), [
      sourceId,
      ...values,
    ]);
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
    await withLease(this.#context, async (session) => {
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
