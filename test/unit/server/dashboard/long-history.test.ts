/** Pages read what they show, however many runs the warehouse holds. */
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type History, openHistory } from './history.ts';
import { visitor } from './visitor.ts';

interface Plan {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly Plan[];
}

/** Nights before the last one. Each had a run of 100 pipelines: `HISTORY_NIGHTS=10000` makes a million runs. */
const { HISTORY_NIGHTS } = process.env;

let history: History;
/** Set before the warehouse connects: its clients keep the method that they find then. */
const ask = vi.spyOn(pg.Client.prototype, 'query');
beforeAll(async () => {
  history = await openHistory();
  await history.begin(
    Array.from({ length: 100 }, (_, at) => `pipeline_${at}`),
    { nights: Number(HISTORY_NIGHTS ?? 1000) },
  );
  await history.rows(`update ops.run_streams set deleted = 1`);
  await history.rows(`insert into ops.audit (at, role, address, action, pipeline, http_status)
    select now() - n * interval '1 minute', 'local', '127.0.0.1', 'POST /backfill of the dashboard', 'pipeline_7', 303
    from generate_series(1, 20000) n`);
  await history.rows(`insert into ops.rejects (source_id, stream, record_key, sha256, payload, stage, code, message, first_run_id, last_run_id,
      last_seen_at, status)
    select 1, 'issues', n, sha256(n::text::bytea), '{}', 'transform', 'bad_instant', 'no instant', 1, 1, now() - n * interval '1 minute',
      case when n > 19990 then 'open' else 'resolved' end
    from generate_series(1, 20000) n`);
  await history.rows(`insert into ops.notifications (notification_id, channel, pipeline, event, message, status, created_at)
    select 'm' || n, 'webhook', 'pipeline_7', 'failed', '{}', 'sent', now() - n * interval '1 minute' from generate_series(1, 20000) n`);
  await history.rows('analyze ops.audit, ops.rejects, ops.notifications');
}, 900_000);
afterAll(async () => {
  ask.mockRestore();
  await history.close();
});

/** Tables that grow with each run. */
const tables = ['runs', 'run_streams', 'dag_runs', 'dag_run_runs', 'audit', 'rejects', 'notifications'];

/** How many rows of these tables the plan reads, those included that its filters drop. */
const rowsRead = (plan: Plan): number => {
  const own = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0);
  const inner = (plan.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), 0);
  return inner + (tables.includes(plan['Relation Name'] ?? '') ? own * plan['Actual Loops'] : 0);
};

/** The statements of one answer, with their values. */
async function statementsOf(path: string): Promise<readonly (readonly [text: string, values: unknown[]])[]> {
  ask.mockClear();
  expect((await visitor(history.app).get(path)).status).toBe(200);
  const asked = ask.mock.calls.map(([query, given]): [string, unknown[]] => {
    const { text = String(query), values = given } = Object(query);
    return [text, Array.isArray(values) ? values : []];
  });
  return asked.filter(([text]) => /^\s*(select|with)\b[^;]*$/.test(text));
}

/** Most rows that a page reads, of 100,000 runs or more: the parts of 50 nights of 88 pipelines, and what leads to them. */
const most = 15_000;

const paths = [
  '/',
  '/streams',
  '/streams/pipeline_7/issues',
  '/runs',
  '/runs?pipeline=pipeline_7',
  '/runs/75000',
  '/runs/75000?q=a',
  '/requests/nightly/night-7',
  '/pipelines/pipeline_7',
  '/pipelines/nightly',
  '/rejects',
  '/rejects?all=1',
  '/deletions',
  '/alerts',
  '/audit',
  '/changes',
];

test.each(paths)('%s reads a small part of a long history', async (path) => {
  const asked = await statementsOf(path);
  expect(asked.length).toBeGreaterThan(0);
  const reading: (readonly [rows: number, text: string])[] = [];
  for (const [text, values] of asked) {
    const [found] = await history.rows(`explain (analyze, format json) ${text}`, ...values);
    const [plan] = Object(found)['QUERY PLAN'] as readonly { Plan: Plan }[];
    if (plan) reading.push([rowsRead(plan.Plan), text.slice(0, 200)]);
  }
  expect(reading.filter(([rows]) => rows > most)).toEqual([]);
});

test.runIf(HISTORY_NIGHTS !== undefined)('pages answer within 100 ms', async () => {
  const reader = visitor(history.app);
  const found: (readonly [path: string, ms: number])[] = [];
  for (const path of paths) {
    const times: number[] = [];
    for (let n = 0; n < 9; n++) {
      const began = performance.now();
      expect((await reader.get(path)).status).toBe(200);
      times.push(performance.now() - began);
    }
    found.push([path, Math.round(times.sort((a, b) => a - b)[4] ?? Number.NaN)]);
  }
  console.log(await history.rows('select count(*) as runs from ops.runs'), found);
  expect(found.filter(([, ms]) => !(ms < 100))).toEqual([]);
});
