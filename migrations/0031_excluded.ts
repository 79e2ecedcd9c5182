import { type Kysely, sql } from 'kysely';

/**
 * Streams can be left out by configuration. What is not read gets old and is nobody's fault: `bi.data_freshness` says `excluded`, not `stale`, and
 * not what the stream was before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const isAbsent = `st.excluded or st.state in ('unavailable', 'forbidden')`;

/** In the order of the view as it is: only what a column is computed from may change. */
const columns: Readonly<Record<string, string>> = {
  source: 's.name',
  stream: 'st.stream',
  target_table: 'st.target',
  freshness: `case when st.excluded then 'excluded' when ${isAbsent} then st.state when w.fresh_at is null then 'never'
    when now() - w.fresh_at <= make_interval(secs => st.freshness_seconds) then 'fresh' else 'stale' end`,
  is_stale: `not (${isAbsent}) and coalesce(now() - w.fresh_at > make_interval(secs => st.freshness_seconds), true)`,
  fresh_at: 'w.fresh_at',
  seconds_since_fresh: '(extract(epoch from now() - w.fresh_at))::bigint',
  freshness_promise_seconds: 'st.freshness_seconds',
  watermark_at: 'ck.watermark',
  full_at: 'ck.full_at',
  last_run_id: 'r.run_id::text',
  last_status: 'r.status',
  last_finished_at: 'r.finished_at',
  last_rows_received: 'r.received',
  last_success_at: 'ok.finished_at',
  open_rejects: 'rj.open',
  reason: `case when st.excluded then 'left out by configuration' else coalesce(st.reason, r.reason) end`,
};

const statements: readonly string[] = [
  'alter table ops.streams add column excluded boolean not null default false',
  `comment on column ops.streams.excluded is 'True where runs leave it out by configuration (TRACKER_EXCLUDE, ADS_EXCLUDE, WORKFLOW_EXCLUDE); as of the newest run.'`,
  `create or replace view bi.data_freshness as select ${Object.entries(columns)
    .map(([column, expression]) => `${expression} as ${column}`)
    .join(', ')}
    from ops.streams st
    join ops.sources s on s.source_id = st.source_id
    left join ops.checkpoints ck on ck.source_id = st.source_id and ck.stream = st.stream
    left join lateral (
      select x.run_id, x.status, x.finished_at, x.received, x.reason from ops.run_streams x
      where x.source_id = st.source_id and x.stream = st.stream order by x.run_id desc limit 1) r on true
    left join lateral (
      select max(x.finished_at) as finished_at from ops.run_streams x
      where x.source_id = st.source_id and x.stream = st.stream and x.status = 'ok') ok on true
    left join lateral (
      select coalesce(
        (select max(x.opened_at) from ops.walks x
          where x.source_id = st.source_id and x.stream = st.stream and x.status = 'done' and x.kind <> 'backfill'),
        (select max(x.started_at) from ops.run_streams x join ops.runs using (run_id)
          where x.source_id = st.source_id and x.stream = st.stream and x.status = 'ok' and kind in ('sync', 'full'))) as fresh_at
    ) w on true
    left join lateral (
      select count(*) as open from ops.rejects x
      where x.source_id = st.source_id and x.stream = st.stream and x.status = 'open') rj on true`,
  `comment on column bi.data_freshness.freshness is 'fresh, stale (older than promised), never (not loaded yet), unavailable (the server has no such endpoint), forbidden, excluded (left out by configuration).'`,
  `comment on column bi.data_freshness.is_stale is 'True when stale or never loaded; unavailable, forbidden and excluded streams are not stale, they are absent.'`,
];
