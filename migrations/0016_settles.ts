import { type Kysely, sql } from 'kysely';

/** What a run says of its whole pipeline, in one place; and a replay of rejects is a kind of its own, not a sync. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const kinds =
  'sync (incremental), full, backfill (one window, never moves a watermark), reconcile (id walk for deletions) or replay (rejects that were tried again).';

const statements: readonly string[] = [
  'alter table ops.runs drop constraint runs_kind_check',
  `alter table ops.runs add constraint runs_kind_check check (kind in ('sync', 'full', 'backfill', 'reconcile', 'replay'))`,
  `update ops.runs set kind = 'replay' where kind = 'sync' and params ? 'replay'`,
  // No streams named, in whichever way a run says so: all of them.
  `alter table ops.runs add column settles text generated always as (
    case when coalesce(params -> 'streams', '[]') not in ('[]', 'null') then null
      when kind in ('sync', 'full') then 'freshness' when kind = 'reconcile' then 'deletions' end) stored`,
  `comment on column ops.runs.kind is '${kinds}'`,
  `comment on column ops.runs.settles is 'What the run tells of its whole pipeline when it succeeds: freshness (a sync or full run of every stream) or deletions (a reconciliation of every stream); null: nothing, it was of some streams, of a window or of rejects.'`,
  `comment on column bi.sync_runs.run_kind is 'sync (incremental), full, backfill, reconcile or replay (of rejects).'`,
  `comment on column bi.stream_runs.run_kind is 'sync (incremental), full, backfill, reconcile or replay (of rejects).'`,
];
