import type { FastifyInstance } from 'fastify';
import type { KnownDag } from '../../../../src/scheduler/run-request.ts';
import { testDatabase } from '../../../support/postgres.ts';
import { controlOf, dag, timed } from '../../scheduler/orchestra.ts';
import { dashboardOf } from './scene.ts';

/** A dashboard of runs that a test inserts instead of running them. */
export interface History {
  readonly url: string;
  readonly app: FastifyInstance;
  readonly rows: (sql: string, ...values: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
  /** Begins anew: each pipeline had good nights, the last one seven hours ago. Those in `never` are configured and never ran. */
  begin(
    pipelines: readonly string[],
    options?: { readonly nights?: number; readonly never?: readonly string[] },
  ): Promise<void>;
  close(): Promise<void>;
}

/** When the last night was due: seven hours ago, as 02:00 is at nine in the morning. */
const due = `(date_trunc('hour', now()) - interval '7 hours')`;

/** Streams of each pipeline. */
const streams = ['issues', 'projects', 'users'];

export async function openHistory(): Promise<History> {
  const database = await testDatabase();
  const { db, pool } = database.warehouse;
  const known: KnownDag[] = [];
  const control = await controlOf(database.warehouse, known);
  const app = await dashboardOf({
    control,
    db,
    tokens: { operate: undefined, read: undefined },
    now: () => new Date(),
    replay: async () => undefined,
    sendTests: async () => [],
    tonight: async () => ({ at: new Date(), tonight: [], failed: [], atOnce: 2 }),
    trouble: (what, error) => {
      throw new Error(what, { cause: error });
    },
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const rows: History['rows'] = async (sql, ...values) => (await pool.query(sql, [...values])).rows;
  return {
    url,
    app,
    rows,
    async begin(pipelines, { nights = 14, never = [] } = {}) {
      const cron = `0 ${(new Date().getUTCHours() + 17) % 24} * * *`;
      const configured = [...pipelines, ...never].map((name) =>
        dag(name, { timed: [timed(cron, { starts: false })] }),
      );
      known.splice(
        0,
        known.length,
        ...(configured.length > 0 ? [dag('nightly', { timed: [timed(cron)] })] : []),
        ...configured,
      );
      await insertHistory(rows, pipelines, nights);
    },
    async close() {
      await app.close();
      await database.drop();
    },
  };
}

/** `nights` before the last one. */
async function insertHistory(
  rows: History['rows'],
  pipelines: readonly string[],
  nights: number,
): Promise<void> {
  await rows(`truncate ops.sources, ops.streams, ops.runs, ops.run_streams, ops.walks, ops.rejects, ops.ticks, ops.schedules,
    ops.dag_runs, ops.dag_run_runs, ops.schema_changes restart identity cascade`);
  await rows(
    `insert into ops.sources (name, kind, base_url) select name, 'tracker', 'https://' || name || '.example'
    from unnest($1::text[]) with ordinality p (name, n) order by n`,
    pipelines,
  );
  await rows(
    `insert into ops.streams (source_id, stream, target, child_tables, about, endpoint, state)
    select source_id, stream, 'tracker.' || stream, case stream when 'issues' then '{tracker.comments}'::text[] else '{}' end,
      'All ' || stream || '.', '/rest/' || stream, 'available'
    from ops.sources cross join unnest($1::text[]) t (stream)`,
    streams,
  );
  await rows(
    `insert into ops.runs (pipeline, source_id, kind, trigger, status, epoch, started_at, finished_at, received,
      inserted, updated, unchanged, requests)
    select name, source_id, 'sync', case when source_id % 8 = 7 then 'manual' else 'schedule' end, 'succeeded', age, began, began + (300 + 7 * source_id + ((age + 3) * 37) % 60) * interval '1 second',
      400 + ((age + 3) * 31) % 90, 300 + ((age + 3) * 17) % 40, 60, 40 + ((age + 3) * 31) % 90 - ((age + 3) * 17) % 40, 120
    from ops.sources cross join generate_series($1::int, 0, -1) age
    cross join lateral (select ${due} - age * interval '1 day' + source_id * interval '3 seconds' as began) b
    order by age desc, source_id`,
    nights,
  );
  await rows(
    `insert into ops.run_streams (run_id, source_id, stream, status, started_at, finished_at, slices, expected, read, stored,
      received, inserted, updated, unchanged, requests, rows)
    select r.run_id, r.source_id, t.stream, 'ok', r.started_at, r.finished_at, 1, 150, 150, 150, 150, r.inserted / 3, r.updated / 3,
      150 - r.inserted / 3 - r.updated / 3, 40, 10000 + 100 * r.run_id
    from ops.runs r cross join unnest($1::text[]) t (stream) where r.started_at > now() - interval '90 days'`,
    streams,
  );
  await rows(`insert into ops.walks (source_id, stream, kind, status, run_id, opened_at, closed_at)
    select source_id, stream, 'incremental', 'done', 1, ${due}, ${due} from ops.streams`);
  await rows(`insert into ops.ticks (pipeline, does, scheduled_for, dag_run_id, made_by) select 'nightly', 'sync', ${due}, 'night', 'here'
    where exists (select from ops.sources)`);
  // Each night has a part for each pipeline, but for those that the command line ran. The epoch of a run is its age in days.
  const request =
    'insert into ops.dag_runs (dag_run_id, part_of, pipeline, does, trigger, asked_by, status, queued_at, started_at, finished_at)';
  const ofNights = `from ops.runs r where r.trigger = 'schedule'`;
  await rows(`${request} select 'night-' || r.epoch, null, 'nightly', 'sync', 'schedule', 'schedule', 'succeeded',
      min(r.started_at), min(r.started_at), max(r.finished_at) ${ofNights} group by r.epoch`);
  await rows(`${request} select 'night-' || r.epoch || '.' || r.pipeline, 'night-' || r.epoch, r.pipeline, 'sync', 'schedule', 'nightly',
      'succeeded', r.started_at, r.started_at, r.finished_at ${ofNights}`);
  await rows(
    `insert into ops.dag_run_runs select 'night-' || r.epoch || '.' || r.pipeline, r.run_id ${ofNights}`,
  );
  // The planner needs figures of a long history alone.
  if (nights > 100) await rows('analyze ops.runs, ops.run_streams, ops.dag_runs, ops.dag_run_runs');
}
