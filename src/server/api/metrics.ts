/**
 * Metrics in Prometheus' text form. What is told of runs and streams is read from the warehouse at every scrape: a restart, or a `sync` of
 * the command line, loses nothing. Only figures of this process come from its memory.
 */

import { type RawBuilder, sql } from 'kysely';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { isLater } from '../../scheduler/retry.ts';
import { lastComplete } from '../../warehouse/freshness.ts';
import type { ServerDeps } from './deps.ts';

/** A metric whose samples are the rows of a query: `value` is the value, every other column a label. */
interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  readonly samples: RawBuilder<Readonly<Record<string, string | number | null>>>;
}

const metrics: readonly Metric[] = [
  {
    name: 'run_last_success_timestamp_seconds',
    help: 'When the newest complete run of every stream of the source ended, Unix time.',
    type: 'gauge',
    samples: sql`select pipeline as source, extract(epoch from max(finished_at))::float8 as value from ops.runs
      where status = 'succeeded' and settles = 'freshness' group by pipeline order by 1`,
  },
  {
    name: 'runs_total',
    help: 'Runs that are over.',
    type: 'counter',
    samples: sql`select pipeline as source, trigger, kind, status, count(*)::float8 as value from ops.runs
      where status <> 'running' group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
  },
  {
    name: 'runs_active',
    help: 'Runs that are going, by the word of the warehouse.',
    type: 'gauge',
    samples: sql`select s.name as source, count(r.run_id)::float8 as value from ops.sources s
      left join ops.runs r on r.source_id = s.source_id and r.status = 'running' group by 1 order by 1`,
  },
  {
    name: 'queue_length',
    help: 'Requests that wait to be taken up.',
    type: 'gauge',
    samples: sql`select count(*)::float8 as value from ops.dag_runs d
      where status in ('queued', 'interrupted', 'lost') and not ${isLater('d')}`,
  },
  {
    name: 'stuck_runs',
    help: 'Requests that run without getting ahead.',
    type: 'gauge',
    samples: sql`select count(*)::float8 as value from ops.dag_runs where status = 'running' and stuck_since is not null`,
  },
  {
    name: 'stream_last_success_timestamp_seconds',
    help: 'Up to when the warehouse holds everything of the stream, Unix time.',
    type: 'gauge',
    samples: sql`select s.name as source, t.stream, extract(epoch from f.at)::float8 as value
      from ops.streams t join ops.sources s using (source_id) cross join ${lastComplete} f
      where f.at is not null and not t.excluded order by 1, 2`,
  },
  {
    name: 'stream_lag_seconds',
    help: 'How far the warehouse is behind the source at most.',
    type: 'gauge',
    samples: sql`select s.name as source, t.stream, extract(epoch from clock_timestamp() - f.at)::float8 as value
      from ops.streams t join ops.sources s using (source_id) cross join ${lastComplete} f
      where f.at is not null and not t.excluded order by 1, 2`,
  },
  {
    name: 'stream_fresh',
    help: '1 if the stream is not older than promised.',
    type: 'gauge',
    samples: sql`select s.name as source, t.stream,
        coalesce(clock_timestamp() - f.at <= t.freshness_seconds * interval '1 second', false)::int as value
      from ops.streams t join ops.sources s using (source_id) cross join ${lastComplete} f
      where not t.excluded and t.state not in ('unavailable', 'forbidden') order by 1, 2`,
  },
  {
    name: 'stream_rows_total',
    help: 'Records by what became of them.',
    type: 'counter',
    samples: sql`select s.name as source, x.stream, o.op, sum(o.n)::float8 as value
      from ops.run_streams x join ops.sources s using (source_id) cross join lateral (values ('inserted', x.inserted),
        ('updated', x.updated), ('unchanged', x.unchanged), ('deduplicated', x.deduplicated), ('superseded', x.superseded),
        ('rejected', x.rejected), ('deleted', x.deleted)) o (op, n)
      group by 1, 2, 3 order by 1, 2, 3`,
  },
  {
    name: 'stream_duration_seconds',
    help: 'How long the stream took in the newest run that did it.',
    type: 'gauge',
    samples: sql`select * from (select distinct on (s.name, x.stream) s.name as source, x.stream,
        extract(epoch from x.finished_at - x.started_at)::float8 as value
      from ops.run_streams x join ops.sources s using (source_id) where x.finished_at is not null
      order by s.name, x.stream, x.run_id desc) newest order by 1, 2`,
  },
  {
    name: 'rejects_open',
    help: 'Records that could not become rows and wait in ops.rejects.',
    type: 'gauge',
    samples: sql`select s.name as source, r.code as reason, count(*)::float8 as value from ops.rejects r
      join ops.sources s using (source_id) where r.status = 'open' group by 1, 2 order by 1, 2`,
  },
  {
    name: 'rejects_total',
    help: 'Records that ever could not become rows.',
    type: 'counter',
    samples: sql`select s.name as source, r.code as reason, count(*)::float8 as value from ops.rejects r
      join ops.sources s using (source_id) group by 1, 2 order by 1, 2`,
  },
  {
    name: 'http_requests_total',
    help: 'Requests sent to the source by runs that are over, retries included.',
    type: 'counter',
    samples: sql`select pipeline as source, sum(requests)::float8 as value from ops.runs group by 1 order by 1`,
  },
  {
    name: 'http_retries_total',
    help: 'Of these, repeated ones.',
    type: 'counter',
    samples: sql`select pipeline as source, sum(retries)::float8 as value from ops.runs group by 1 order by 1`,
  },
  {
    name: 'http_throttled_seconds_total',
    help: "Seconds spent waiting for the source's rate limit, summed over concurrent requests.",
    type: 'counter',
    samples: sql`select pipeline as source, (sum(throttled_ms) / 1000)::float8 as value from ops.runs group by 1 order by 1`,
  },
];

/** Bounds of the histogram of durations, seconds. */
const bounds = [10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, 57_600];

const durations = sql<{
  source: string;
  status: string;
  counts: readonly string[];
  total: number;
  sum: number;
}>`
  select pipeline as source, status, count(*)::float8 as total, sum(took)::float8 as sum,
    array(select count(*) filter (where t <= b)::text from unnest(array_agg(took)) t, unnest(${bounds}::float8[]) b group by b order by b) as counts
  from (select pipeline, status, extract(epoch from finished_at - started_at)::float8 as took
    from ops.runs where finished_at is not null) r
  group by 1, 2 order by 1, 2`;

/** Gives a reader that makes the page of metrics. */
export function openMetrics({
  db,
  version,
}: ServerDeps): () => Promise<{ readonly contentType: string; readonly text: string }> {
  const own = new Registry();
  collectDefaultMetrics({ register: own, prefix: 'tidemark_' });
  return async () => {
    const parts = [
      family('build_info', 'gauge', 'The version that runs.', [sample('build_info', { version }, 1)]),
    ];
    for (const { name, help, type, samples } of metrics) {
      const { rows } = await samples.execute(db);
      parts.push(
        family(
          name,
          type,
          help,
          rows.map(({ value, ...labels }) => sample(name, labels, Number(value))),
        ),
      );
    }
    parts.push(await histogram(db));
    // prom-client writes "Nan"; the text format has NaN (Prometheus documentation, "Exposition formats").
    const ours = (await own.metrics()).replace(/ Nan$/gm, ' NaN');
    return { contentType: own.contentType, text: `${parts.join('')}${ours}` };
  };
}

async function histogram(db: ServerDeps['db']): Promise<string> {
  const name = 'run_duration_seconds';
  const { rows } = await durations.execute(db);
  const samples = rows.flatMap(({ source, status, counts, total, sum }) => [
    ...bounds.map((bound, index) =>
      sample(`${name}_bucket`, { source, status, le: String(bound) }, Number(counts[index] ?? 0)),
    ),
    sample(`${name}_bucket`, { source, status, le: '+Inf' }, total),
    sample(`${name}_sum`, { source, status }, sum),
    sample(`${name}_count`, { source, status }, total),
  ]);
  return family(name, 'histogram', 'How long runs took.', samples);
}

const family = (name: string, type: string, help: string, samples: readonly string[]): string =>
  `# HELP tidemark_${name} ${help}\n# TYPE tidemark_${name} ${type}\n${samples.join('')}`;

const sample = (
  name: string,
  labels: Readonly<Record<string, string | number | null>>,
  value: number,
): string => {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${quoted(String(text ?? ''))}"`);
  return `tidemark_${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
};

const quoted = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
