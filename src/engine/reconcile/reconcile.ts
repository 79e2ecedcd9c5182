import { sql } from 'kysely';
import type pg from 'pg';
import { Misconfigured, Missing, passesAfter, saidBy } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { noCounts, type RunReport, type StreamReport } from '../../core/run.ts';
import type { Stream } from '../../core/stream.ts';
import { nameOf } from '../../core/table.ts';
import type { Loaded } from '../../load/load.ts';
import { patiently } from '../../warehouse/with-retry.ts';
import type { RunDeps } from '../context/deps.ts';
import { endsRun } from '../context/problems.ts';
import { type RunContext, type Tally, tallyBatch, tell } from '../context/run-context.ts';
import { chosenStreams } from '../context/select-streams.ts';
import { enterStream } from '../context/stream-in-run.ts';
import { type Execution, withRun } from '../execution.ts';
import { fenced } from '../state/lease-guard.ts';
import { countBatch } from '../state/run-state.ts';
import { abandonWalks } from '../state/walk-state.ts';
import {
  dropUnseen,
  dueBefore,
  everything,
  forgetUnseen,
  lackingIn,
  noteLacking,
  noteUnseen,
  readLacking,
} from './missing-rows.ts';
import { compareWhole, walkIds } from './read-ids.ts';

/** More deletions at once than this share of the live rows, and more than this many rows, are not believed (guarantee G10). */
const brakeRows = 20;
const brakeShare = 0.05;

/** A canary's answer counts for this long. */
const canaryMs = 60_000;

/**
 * A complete id walk of every stream whose entities can be asked for one by one: rows that it does not show are candidates; each is
 * confirmed gone by its own request, twice, while a canary of the same project answers; tombstones that it does show are lifted; what no sync
 * has shown is read. Nothing is deleted when the walk was not complete or the brake holds (`needs_attention`).
 */
export function reconcile(
  deps: RunDeps,
  options: { readonly streams?: readonly string[] },
): Promise<RunReport> {
  const { streams: all } = deps.source;
  const flows = chosenStreams(deps, options.streams).filter(hasReconcile);
  // Where all that have one are excluded there is nothing to do, night after night.
  const isLeftOut = options.streams === undefined && all.some(hasReconcile);
  if (flows.length === 0 && !isLeftOut)
    throw new Misconfigured(
      `none of the streams ${(options.streams ?? all.map(({ name }) => name)).join(', ')} has a reconciliation`,
    );
  return withRun(deps, 'reconcile', { streams: options.streams ?? null }, async (execution) => {
    const settled: PromiseSettledResult<StreamReport>[] = [];
    for (const flow of flows) {
      const [one] = await Promise.allSettled([reconcileOf(execution, flow)]);
      settled.push(one);
      if (one.status === 'rejected' && endsRun(one.reason)) break;
    }
    return settled;
  });
}

/** Whether the entities of a stream can be asked for one by one. */
const hasReconcile = (stream: Stream): boolean =>
  stream.exists !== undefined && stream.table.tombstones && stream.partitions === undefined;

async function reconcileOf(execution: Execution, flow: Stream): Promise<StreamReport> {
  const { context } = execution;
  const { deps, run } = context;
  const stream = flow.name;
  const { tally, report, end } = await enterStream(context, flow);
  const client = await patiently(() => deps.warehouse.pool.connect());
  try {
    // What an earlier one was cut short in reading is met again.
    await patiently(() => abandonWalks(deps.warehouse.db, run.sourceId, stream, 'reconcile %'));
    const due = await dueBefore(context, flow);
    const seen = await walkIds(execution, flow, client, tally, everything(context, flow, due));
    if (!seen.complete)
      return await end(
        report('partial', `${stream}: the list kept changing; nothing was concluded from it`, 0),
      );
    const lacking = due === undefined ? undefined : await lackingIn(context, flow, client, seen, due);
    const { doubt, braked } = await conclude(execution, flow, client, tally, lacking?.places ?? []);
    // Where too much is gone it may be another site: nothing is taken over from it either.
    if (lacking !== undefined && lacking.records > 0 && !braked) {
      await noteLacking(context, flow, client, lacking);
      const problem = await readLacking(execution, flow, lacking, tally);
      if (problem !== undefined)
        return await end(
          report(
            problem.status,
            doubt === undefined ? problem.reason : `${problem.reason}; ${doubt}`,
            problem.passesAfterMs,
          ),
        );
      await forgetUnseen(context, flow, client);
    }
    return await end(report(doubt === undefined ? 'ok' : 'attention', doubt));
  } catch (error) {
    const message = saidBy(error);
    const failed = await end(report('failed', message, passesAfter(error)));
    if (endsRun(error)) throw error;
    return failed;
  } finally {
    client.release(true);
  }
}

/** What a reconciliation could not conclude, and whether the brake held. */
interface Verdict {
  readonly doubt: string | undefined;
  readonly braked: boolean;
}

/**
 * Tombstones and resurrections. Where a window is read again the reading lifts tombstones, in the transaction that brings what has changed
 * under them: `places`. What stays alive without having been shown is noted: it may change meanwhile, and no sync will tell.
 */
async function conclude(
  execution: Execution,
  flow: Stream,
  client: pg.PoolClient,
  tally: Tally,
  places: readonly number[],
): Promise<Verdict> {
  const { context } = execution;
  const stream = flow;
  const { table } = flow;
  const key = `t.${client.escapeIdentifier(table.key[0] ?? 'id')}::text`;
  const name = nameOf(table);
  const source = context.run.sourceId;
  const risen = await compareWhole<{ key: string }>(
    client,
    `select ${key} as key from ${name} t where t.source_id = $1 and t._deleted_at is not null
       and exists (select from pg_temp.reconcile_seen s where s.key = ${key})
       and not exists (select from pg_temp.reconcile_seen s where s.key = ${key} and s.place = any ($2::int[]))`,
    [source, [...places]],
  );
  const { rows: counted } = await client.query<{ live: string }>(
    `select count(*) as live from ${name} t where t.source_id = $1 and t._deleted_at is null`,
    [source],
  );
  const live = Number(counted[0]?.live ?? 0);
  const group =
    stream.canaryBy === undefined
      ? `''`
      : `coalesce(t.${client.escapeIdentifier(stream.canaryBy)}::text, '')`;
  const candidates = await compareWhole<Candidate>(
    client,
    `select ${key} as key, ${group} as kin from ${name} t where t.source_id = $1 and t._deleted_at is null
       and not exists (select from pg_temp.reconcile_seen s where s.key = ${key}) order by random()`,
    [source],
  );
  const most = Math.max(brakeRows, Math.floor(live * brakeShare));
  const canaries = canariesOf(
    context,
    flow,
    client,
    `from ${name} t join pg_temp.reconcile_seen s on s.key = ${key} where t.source_id = ${Number(source)} and ${group} = $1`,
    key,
  );
  const missing: Candidate[] = [];
  const unlisted: string[] = [];
  const unsure: string[] = [];
  for (const candidate of candidates) {
    // The canary first: where none lives nothing can be concluded, and a hidden project is not asked for row by row.
    if (!(await canaries(candidate.kin, canaryMs))) unsure.push(candidate.key);
    else if (await stream.exists?.(candidate.key, context.signal)) unlisted.push(candidate.key);
    else missing.push(candidate);
    if (missing.length > most) {
      await noteUnseen(context, flow, keysOf(candidates));
      const doubt = `${stream.name}: more than ${most} of ${live} rows are gone at the source; nothing was deleted: is it the right site, and may the account still see every project?`;
      return { doubt, braked: true };
    }
  }
  const gone: string[] = [];
  const confirmed = performance.now();
  for (const { key, kin } of missing) {
    // One bad answer is none: what is hidden or left the selection would be marked as deleted for good, no list shows it again.
    if (await stream.exists?.(key, context.signal)) unlisted.push(key);
    // Once more: an outage that began between the canary and the confirmations must not count as deletions.
    else if (await canaries(kin, performance.now() - confirmed)) gone.push(key);
    else unsure.push(key);
  }
  if (risen.length > 0) await mark(context, flow, keysOf(risen), tally, 'alive');
  if (gone.length > 0) await mark(context, flow, gone, tally, 'dead');
  const hidden = [...unlisted, ...unsure];
  if (hidden.length > 0) await noteUnseen(context, flow, hidden);
  if (unlisted.length > 0)
    tell(
      context,
      'warn',
      `${stream.name}: ${plural(unlisted.length, 'row')} can be had one by one but the source lists them no more (they left what the configuration selects?): they stay here as they were`,
    );
  if (unsure.length === 0) return { doubt: undefined, braked: false };
  const doubt = `${stream.name}: ${plural(unsure.length, 'row')} can no longer be seen, but no other row of their kind can either: they were not deleted. Is a project hidden from the account? Of a server that has no address for a single one no reconciliation can tell`;
  return { doubt, braked: false };
}

/** A row that the walk did not show, and the group in which another one must be alive for it to count as gone. */
interface Candidate {
  readonly key: string;
  readonly kin: string;
}

const keysOf = (rows: readonly { readonly key: string }[]): readonly string[] => rows.map(({ key }) => key);

/**
 * Whether another row of the same kind, seen by this reconciliation, answers: else the absence is a matter of permission or an outage. An answer
 * not older than `maxAgeMs` is not asked for again.
 */
function canariesOf(
  context: RunContext,
  flow: Stream,
  client: pg.PoolClient,
  from: string,
  key: string,
): (kin: string, maxAgeMs: number) => Promise<boolean> {
  const answers = new Map<string, { readonly at: number; readonly alive: boolean }>();
  return async (kin, maxAgeMs) => {
    const known = answers.get(kin);
    if (known !== undefined && performance.now() - known.at <= maxAgeMs) return known.alive;
    const { rows } = await client.query<{ key: string }>(`select ${key} as key ${from} limit 1`, [kin]);
    const [row] = rows;
    const alive = row !== undefined && (await isThere(flow, row.key, context.signal));
    answers.set(kin, { at: performance.now(), alive });
    return alive;
  };
}

/** Of a row that this reconciliation has seen. Where the source gives none one by one, however it says so, nothing is known of any other. */
async function isThere(flow: Stream, key: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await flow.exists?.(key, signal)) === true;
  } catch (error) {
    if (error instanceof Missing) return false;
    throw error;
  }
}

/** Sets or lifts tombstones in one fenced transaction. A row that is alive again counts as updated. */
async function mark(
  context: RunContext,
  flow: Stream,
  keys: readonly string[],
  tally: Tally,
  as: 'dead' | 'alive',
): Promise<void> {
  const stream = flow;
  const { table } = flow;
  const { run } = context;
  const many = keys.length;
  const loaded: Loaded =
    as === 'dead'
      ? { counts: noCounts, deleted: many, braked: false }
      : { counts: { ...noCounts, received: many, updated: many }, deleted: 0, braked: false };
  await fenced(context, async (session) => {
    await sql`update ${sql.id(table.schema, table.name)} set _deleted_at = ${as === 'dead' ? sql`now()` : sql`null`},
        _synced_at = now(), _run_id = ${run.runId}::bigint
      where source_id = ${run.sourceId} and ${sql.id(table.key[0] ?? 'id')}::text = any (${[...keys]}::text[])`.execute(
      session.trx,
    );
    if (as === 'dead') await dropUnseen(session, run, flow, keys);
    await countBatch(session, run, stream.name, loaded);
  });
  tallyBatch(tally, loaded);
  tell(
    context,
    'info',
    `${stream.name}: ${plural(many, 'row')} ${as === 'dead' ? 'marked as deleted' : 'alive again'}`,
  );
}
