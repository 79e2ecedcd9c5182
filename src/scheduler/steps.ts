/** What a run is doing now: its slices in progress, and the streams that have none. */

import { sql } from 'kysely';
import type { Db } from '../queries/db.ts';
import type { Step } from './control.ts';

interface Row {
  readonly stream: string;
  readonly partition: Readonly<Record<string, unknown>> | null;
  readonly window_from: Date | null;
  readonly window_to: Date | null;
  readonly is_slice: boolean;
  readonly status: string;
  readonly started_at: Date | null;
  readonly received: number;
  readonly expected: number | null;
}

/** Every stream of these runs with its status, and under those that are running the slices that are being read. */
export async function stepsOf(db: Db, runs: readonly string[]): Promise<readonly Step[]> {
  if (runs.length === 0) return [];
  const { rows } = await sql<Row>`
    select s.stream, null::jsonb as partition, null::timestamptz as window_from, null::timestamptz as window_to,
      false as is_slice, case when s.status = 'running' and r.status <> 'running' then r.status else s.status end as status,
      s.started_at, s.received::float8 as received, s.expected::float8 as expected, s.run_id, 0::bigint as slice_id
    from ops.run_streams s join ops.runs r using (run_id) where s.run_id = any (${[...runs]}::bigint[])
    union all
    select w.stream, l.partition, l.window_from, l.window_to, true, 'running', l.started_at,
      coalesce(l.fetched, 0)::float8, l.expected::float8, l.run_id, l.slice_id
    from ops.slices l join ops.walks w using (walk_id) join ops.runs r on r.run_id = l.run_id and r.status = 'running'
    where l.run_id = any (${[...runs]}::bigint[]) and l.status = 'pending' and l.started_at is not null
    order by run_id, stream, slice_id limit 500`.execute(db);
  return rows.map((row) => ({
    stream: row.stream,
    slice: row.is_slice ? sliceOf(row) : null,
    status: row.status,
    startedAt: row.started_at,
    received: row.received,
    expected: row.expected,
  }));
}

/** `board_id 7 · 2024-01-01 to 2024-02-01`; `all` where it is one piece. */
function sliceOf({ partition, window_from: from, window_to: to }: Row): string {
  const owner = Object.entries(partition ?? {}).map(([name, value]) => `${name} ${String(value)}`);
  const window =
    from === null && to === null
      ? []
      : [`${from?.toISOString() ?? 'the beginning'} to ${to?.toISOString() ?? 'now'}`];
  return [...owner, ...window].join(' · ') || 'all';
}
