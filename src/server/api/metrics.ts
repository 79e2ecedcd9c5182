/**
 * Metrics in the text format of Prometheus. Those of runs and streams are read from the warehouse at every
 * scrape: a restart, or a `sync` of the command line, loses nothing. Only those of this process come from
 * its memory.
 */

import { type RawBuilder, sql } from 'kysely';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { ServerDeps } from './deps.ts';

/**
 * A row is a sample: `value` is its value, `part` (if any) ends its name, every other column that is not null
 * is a label.
 */
type Sample = Readonly<Record<string, string | number | null>>;
type Type = 'gauge' | 'counter' | 'histogram';
type MetricFamily = readonly [name: string, type: Type, help: string, samples: RawBuilder<Sample>];

/** One value of each source. */
const bySource = (value: RawBuilder<unknown>, where = sql`true`) =>
  sql<Sample>`select pipeline as source, ${value} as value from ops.runs where ${where} group by 1`;

const ofStreams = (value: RawBuilder<unknown>, where: RawBuilder<unknown>) => sql<Sample>`
  select s.name as source, t.stream, ${value} as value
  from ops.streams t join ops.sources s using (source_id) join ops.stream_freshness f using (source_id, stream)
  where not t.excluded and ${where}`;

const rejects = (where: RawBuilder<unknown>) => sql<Sample>`
  select s.name as source, r.code as reason, count(*)::float8 as value
  from ops.rejects r join ops.sources s using (source_id) where ${where} group by 1, 2`;

const requests = (where: RawBuilder<unknown>) =>
  sql<Sample>`select count(*)::float8 as value from ops.dag_runs where ${where}`;

/** Upper bounds of the buckets of durations, seconds. */
const bounds = [10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, 57_600];

// biome-ignore format: one table, an entry for each metric
export const metrics: readonly MetricFamily[] = [
  ['run_last_success_timestamp_seconds', 'gauge', 'End of the newest complete run of every stream, Unix time.',
    bySource(sql`extract(epoch from max(finished_at))::float8`, sql`status = 'succeeded' and settles = 'freshness'`)],
  ['runs_total', 'counter', 'Runs that are over.', sql`
    select pipeline as source, trigger, kind, status, count(*)::float8 as value
    from ops.runs where status <> 'running' group by 1, 2, 3, 4`],
  ['runs_active', 'gauge', 'Runs that the warehouse has as running.', sql`
    select s.name as source, count(r.run_id)::float8 as value
    from ops.sources s left join ops.runs r on r.source_id = s.source_id and r.status = 'running' group by 1`],
  ['queue_length', 'gauge', 'Requests that wait for a worker.',
    requests(sql`status in ('queued', 'interrupted', 'lost')`)],
  ['stuck_runs', 'gauge', 'Requests that run without progress.',
    requests(sql`status = 'running' and stuck_since is not null`)],
  ['stream_last_success_timestamp_seconds', 'gauge', 'The warehouse holds everything up to here, Unix time.',
    ofStreams(sql`extract(epoch from f.at)::float8`, sql`f.at is not null`)],
  ['stream_lag_seconds', 'gauge', 'How old the stream is at most.',
    ofStreams(sql`extract(epoch from clock_timestamp() - f.at)::float8`, sql`f.at is not null`)],
  ['stream_fresh', 'gauge', '1 if the stream is not older than promised.', ofStreams(
    sql`coalesce(clock_timestamp() - f.at <= f.promise_seconds * interval '1 second', false)::int`,
    sql`t.state not in ('unavailable', 'forbidden')`)],
  ['stream_rows_total', 'counter', 'Records by outcome.', sql`
    select s.name as source, x.stream, o.op, sum(o.n)::float8 as value
    from ops.run_streams x join ops.sources s using (source_id) cross join lateral (values
      ('inserted', x.inserted), ('updated', x.updated), ('unchanged', x.unchanged), ('deleted', x.deleted),
      ('deduplicated', x.deduplicated), ('superseded', x.superseded), ('rejected', x.rejected)) o (op, n)
    group by 1, 2, 3`],
  ['stream_duration_seconds', 'gauge', 'How long the stream took in its newest run.', sql`
    select distinct on (1, 2) s.name as source, x.stream, extract(epoch from finished_at - started_at)::float8 as value
    from ops.run_streams x join ops.sources s using (source_id) where finished_at is not null
    order by 1, 2, x.run_id desc`],
  ['rejects_open', 'gauge', 'Records that could not become rows and wait.', rejects(sql`r.status = 'open'`)],
  ['rejects_total', 'counter', 'Records that ever could not become rows.', rejects(sql`true`)],
  ['http_requests_total', 'counter', 'Requests of runs that are over, retries included.',
    bySource(sql`sum(requests)::float8`)],
  ['http_retries_total', 'counter', 'Retries among these requests.', bySource(sql`sum(retries)::float8`)],
  ['http_throttled_seconds_total', 'counter', "Waited for the source's rate limit, summed over concurrent requests.",
    bySource(sql`(sum(throttled_ms) / 1000)::float8`)],
  ['run_duration_seconds', 'histogram', 'How long runs took.', sql`
    with r as (select pipeline as source, status, extract(epoch from finished_at - started_at)::float8 as took
      from ops.runs where finished_at is not null)
    select source, status, '_bucket' as part, b::text as le, (count(*) filter (where took <= b))::float8 as value
      from r cross join unnest(${bounds}::float8[]) b group by source, status, b
    union all select source, status, '_bucket', '+Inf', count(*)::float8 from r group by 1, 2
    union all select source, status, '_sum', null, sum(took)::float8 from r group by 1, 2
    union all select source, status, '_count', null, count(*)::float8 from r group by 1, 2
    order by source, status, part, value`],
];

/** Gives a function that makes the page of metrics. */
export function openMetrics({ db, version }: ServerDeps) {
  const own = new Registry();
  collectDefaultMetrics({ register: own, prefix: 'tidemark_' });
  return async (): Promise<{ readonly contentType: string; readonly text: string }> => {
    const parts = [family('build_info', 'gauge', 'The running version.', [{ version, value: 1 }])];
    for (const [name, type, help, samples] of metrics)
      parts.push(family(name, type, help, (await samples.execute(db)).rows));
    // prom-client writes "Nan"; the text format has NaN (Prometheus documentation, "Exposition formats").
    const process = (await own.metrics()).replace(/ Nan$/gm, ' NaN');
    return { contentType: own.contentType, text: `${parts.join('')}${process}` };
  };
}

const family = (name: string, type: Type, help: string, samples: readonly Sample[]): string =>
  `# HELP tidemark_${name} ${help}\n# TYPE tidemark_${name} ${type}\n${samples.map((each) => line(name, each)).join('')}`;

function line(name: string, { part, value, ...labels }: Sample): string {
  const pairs = Object.entries(labels).flatMap(([label, text]) =>
    text === null ? [] : [`${label}="${quoted(String(text))}"`],
  );
  return `tidemark_${name}${part ?? ''}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${Number(value)}\n`;
}

const quoted = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
