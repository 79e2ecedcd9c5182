import { execFile } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../simulators/jira/server.ts';
import { delay, type Fault, status } from '../../../simulators/shared/faults.ts';
import { takeLease } from '../../../src/engine/state/lease.ts';
import { append } from '../../../src/scheduler/request-log.ts';
import { emptyDatabase, type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';
import { catalogue, controlOf, dag } from '../scheduler/orchestra.ts';
import { begin, type Ended, launcher, nowhere, start, tidemark } from './command.ts';

let database: TestDatabase;
let tracker: TrackerSimulator;
let env: Record<string, string>;

beforeAll(async () => {
  database = await testDatabase();
  const now = new Date('2026-03-02T00:00:00Z');
  tracker = await startTracker({ seed: 3, issues: 150, projects: 2, users: 12, years: 1, now });
  const { url, email, token } = tracker;
  env = { DATABASE_URL: database.url, TRACKER_BASE_URL: url, TRACKER_EMAIL: email, TRACKER_API_TOKEN: token };
});
afterAll(async () => {
  await tracker.close();
  await database.drop();
});

const run = (words: string, more: Record<string, string> = {}): Promise<Ended> =>
  tidemark(words, { env: { ...env, ...more } });
const json = async (words: string) => {
  const { code, out, err } = await run(`${words} --json`);
  expect({ words, code, err }).toEqual({ words, code: 0, err: '' });
  return JSON.parse(out);
};
/** A second source, which does not answer. */
const elsewhere = { WORKFLOW_BASE_URL: 'http://127.0.0.1:9' };
const query = async (sql: string, values: readonly unknown[] = []) =>
  (await database.warehouse.pool.query(sql, [...values])).rows;
const issuesIn = (streams: readonly { stream: string }[]) =>
  streams.find(({ stream }) => stream === 'issues');
const refused = (message: string) => ({ code: 2, out: '', err: expect.stringContaining(message) });
const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
/** A sync that has to succeed. */
const synced = async (words = 'sync', more: Record<string, string> = {}): Promise<Ended> => {
  const ended = await run(words, more);
  expect(ended.code, words).toBe(0);
  return ended;
};
/** Every request to this endpoint fails from now on, or takes its time. */
const faulty = (endpoint: string, fault: Fault) => tracker.script.at({ endpoint, times: Infinity }, fault);

// One story: each test finds what the ones before it left.
describe('from nothing to a full warehouse', () => {
  test('before the first sync every question has a polite answer, and a dry run writes nothing', async () => {
    const first = 'No data yet. Run the first sync: `tidemark sync`.\n';
    expect(await run('status')).toMatchObject({ code: 0, out: first });
    expect((await run('runs')).out).toBe('No run yet.\n');
    expect((await run('rejects list')).out).toBe('No open rejects.\n');
    expect(await run('streams nothing')).toMatchObject({ code: 2, out: '' });
    const { plan } = await json('sync --dry-run');
    expect(issuesIn(plan[0].streams)).toMatchObject({ mode: 'full', records: 150, requests: 2 });
    expect((await json('runs')).runs).toEqual([]);
    expect(await query('select name from ops.sources union all select stream from ops.streams')).toEqual([]);
  });

  test('sync --json is one event a line, silence on stderr, and the report last', async () => {
    const { out, err } = await synced('sync --json');
    expect(err).toBe('');
    const events = lines(out).map((line) => JSON.parse(line));
    expect(events[0]).toMatchObject({ type: 'run.started', pipeline: 'tracker', kind: 'sync' });
    const report = { status: 'succeeded', runId: events[0].runId };
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', report });
    expect(events.filter((event) => event.type === 'stream.finished').length).toBe(13);
  });

  test('a second sync changes nothing; data on stdout, talk on stderr', async () => {
    const { out, err } = await synced();
    expect(out).toMatch(
      /^tracker: complete\. [\d,]+ records: [\d,]+ already stored\. Receipts match for 13 streams\./,
    );
    expect(lines(out)).toHaveLength(1);
    expect(err).toMatch(/^tracker\.issues ok after .* \(\d+ records: \d+ already stored/m);
    expect(out + err).not.toContain('\x1b');
  });

  test('plan says what runs tonight, how long it takes, and whether that fits', async () => {
    const { pipelines, fits, failed } = await json('plan');
    expect({ fits, failed }).toEqual({ fits: true, failed: [] });
    const [{ pipeline, at, requests, limit, streams, unknown }] = pipelines;
    expect(pipeline).toBe('tracker');
    expect(new Date(at).getTime()).toBeGreaterThan(Date.now());
    expect(limit).toMatch(/^as fast as the last runs: [\d,.]+ requests a second$/);
    expect(issuesIn(streams)).toMatchObject({ mode: 'incremental', basis: 'past runs' });
    expect(requests).toBeGreaterThan(streams.length / 2);
    expect(unknown).toEqual([]);
    const { code, out } = await run('plan');
    expect(code).toBe(0);
    expect(out).toMatch(/^tracker +\d{4}-\d\d-\d\d 02:00 UTC/m);
    expect(out).toContain('It fits into the night of 8 h, as far as it is known.');
  });

  test('--quiet prints nothing when all is well; colour comes when forced; a log is JSON without the token', async () => {
    expect(await run('sync --quiet')).toEqual({ code: 0, out: '', err: '' });
    expect((await run('status', { FORCE_COLOR: '1' })).out).toContain('\x1b[');
    expect((await run('status --no-color', { FORCE_COLOR: '1' })).out).not.toContain('\x1b');
    const { err } = await synced('sync --stream projects', { LOG_LEVEL: 'info' });
    const logged = lines(err).flatMap((line) => (line.startsWith('{') ? [JSON.parse(line).msg] : []));
    expect(logged).toEqual(expect.arrayContaining(['run.started', 'stream.finished', 'run.finished']));
    expect(err).not.toContain(tracker.token);
  });

  test('status is one sentence, then a table', async () => {
    const { out } = await run('status');
    expect(lines(out)[0]).toMatch(
      /^All 13 streams fresh\. The last run began at \d\d:\d\d UTC, took .* s and changed .* rows?\.$/,
    );
    expect(out).toMatch(/^tracker\.issues +fresh /m);
    const found = await json('status');
    expect(found).toMatchObject({ fresh: true, lastRun: { status: 'succeeded' } });
    expect(found.streams).toHaveLength(13);
    expect(found.sentence).toBe(lines(out)[0]);
  });

  test('runs lists them, and one of them in detail with its receipts', async () => {
    const { runs } = await json('runs');
    expect(runs.length).toBeGreaterThanOrEqual(4);
    const first = runs.findLast((each: { counts: { inserted: number } }) => each.counts.inserted > 150);
    const detail = await json(`runs ${first.runId}`);
    const receipt = { expected: 150, read: 150, stored: 150 };
    expect(issuesIn(detail.streams)).toMatchObject({ status: 'ok', receipt });
    expect((await run(`runs ${first.runId}`)).out).toMatch(
      /^issues +ok +\d+ +expected 150 · read 150 · stored 150 +150 /m,
    );
    expect(await run('runs 99999')).toMatchObject({ code: 2, out: '' });
  });

  test('streams lists tables with rows; one of them has columns with their comments', async () => {
    const { streams } = await json('streams');
    const rows = { live: 150, deleted: 0, exact: true };
    expect(issuesIn(streams)).toMatchObject({ target: 'tracker.issues', rows });
    const detail = await json('streams issues');
    const [{ n }] = await query(`select count(*)::int as n from information_schema.columns
      where table_schema = 'tracker' and table_name = 'issues'`);
    expect(detail.columns).toHaveLength(n);
    for (const { comment } of detail.columns) expect(comment).toMatch(/\w/);
    expect(detail.receipts.length).toBeGreaterThan(0);
    expect((await run('streams issues')).out).toMatch(/^id \* +bigint +Issue id/m);
  });

  test('why names the run and the window that wrote a row, what hangs on it and where it is read from', async () => {
    const key = tracker.state.keyOf(tracker.state.store.at(5).id);
    const found = await json(`why tracker.issues ${key}`);
    const changeItems = tracker.state.issue(key).history.flatMap((change) => change.items).length;
    const source = { stream: 'issues', baseUrl: tracker.url, endpoint: 'POST /rest/api/3/search/jql' };
    const row = { key, id: Number(tracker.state.issue(key).id) };
    const slice = { field: 'created', expected: 150 };
    expect(found).toMatchObject({
      table: 'tracker.issues',
      row,
      deletedAt: null,
      slice,
      source,
      rejects: [],
    });
    expect(found.run).toMatchObject({ status: 'succeeded', kind: 'sync' });
    expect(found.run.runId).toBe(String(found.row._run_id));
    expect(found.children).toContainEqual({ table: 'tracker.issue_changelog', rows: changeItems });
    const { out } = await run(`why issues ${found.row.id}`);
    expect(out.startsWith(`tracker.issues ${key}\n`)).toBe(true);
    expect(out).toMatch(/^written by +run \d+ \(sync, succeeded\)/m);
    // Beyond what a double holds.
    expect(out).toMatch(/^_row_hash +-?\d+$/m);
  });

  test('why finds a moved issue by its former key, and a child by its own id', async () => {
    tracker.clock.advance(60_000);
    const was = tracker.state.keyOf(tracker.state.store.at(9).id);
    const projects = [...tracker.state.projects.values()].map((project) => project.key);
    const moved = tracker.state.move(was, projects.find((each) => !was.startsWith(`${each}-`)) ?? '');
    const comment = tracker.state.addComment(was, 'evil \x1b[2J comment\nsecond line');
    await synced();
    const found = await json(`why tracker.issues ${was}`);
    const row = { key: tracker.state.keyOf(moved.id) };
    const slice = { field: 'updated', walk: 'incremental' };
    expect(found).toMatchObject({ foundByFormerKey: was, formerKeys: [was], row, slice });
    const { out } = await run(`why tracker.comments ${comment.id}`);
    expect(out).toContain('evil \\x1b[2J comment\\nsecond line');
    expect(out).not.toContain('\x1b');
    expect(out).toMatch(/^stream +tracker\.issues$/m);
  });

  test('a reconciliation marks what is gone, and why shows the tombstone; a key without a row is exit code 1', async () => {
    const gone = tracker.state.keyOf(tracker.state.store.at(20).id);
    tracker.state.delete(gone);
    const { out } = await synced('reconcile tracker');
    expect(out).toMatch(/ids: 1 deleted\./);
    expect((await run(`why issues ${gone}`)).out).toContain('Deleted at the source');
    expect((await run('reconcile tracker')).out).toMatch(/complete\. \d+ ids\. /);
    const none = 'tracker.issues has no row with key “NOPE-1”\n';
    expect(await run('why tracker.issues NOPE-1')).toMatchObject({ code: 1, out: none });
    for (const table of ['ops.runs', 'tracker.issues;drop'])
      expect(await run(`why ${table} 1`)).toMatchObject({ code: 2, out: '' });
  });

  test('a backfill touches its window only and leaves the watermarks alone', async () => {
    const watermarks = () => query('select stream, watermark, full_at from ops.checkpoints order by stream');
    const before = await watermarks();
    const { out } = await synced('backfill tracker --from 2025-06-01 --to 2025-07-01');
    const from = Date.parse('2025-06-01');
    const to = Date.parse('2025-07-01');
    const created = [...tracker.oracle().issues.values()].filter(
      (issue) => !issue.deleted && issue.created >= from && issue.created < to,
    );
    expect(created.length).toBeGreaterThan(0);
    expect(out).toContain(`${created.length} records: ${created.length} already stored.`);
    expect(await watermarks()).toEqual(before);
  });

  test('rejects are listed with the reason and a harmless excerpt; a replay says what became of them', async () => {
    tracker.clock.advance(60_000);
    const key = tracker.state.keyOf(tracker.state.store.at(30).id);
    tracker.state.setRaw(key, 'created', '"soon \\u001b[2J"');
    await synced();
    const { rejects } = await json('rejects list');
    const recordKey = tracker.state.issue(key).id;
    expect(rejects).toMatchObject([{ stream: 'issues', recordKey, status: 'open' }]);
    const { out } = await run('rejects list');
    expect(out).not.toContain('\x1b');
    expect(out).toContain(rejects[0].code);
    const still = 'tracker: 0 records stored, 1 record still rejected.\n';
    expect(await run('rejects replay')).toMatchObject({ code: 3, out: still });
    expect((await json('runs')).runs[0]).toMatchObject({ kind: 'replay', status: 'succeeded' });
    const { streams } = await json('status');
    expect(issuesIn(streams)).toMatchObject({ last: { kind: 'sync' } });
    expect((await json(`why issues ${key}`)).rejects).toHaveLength(1);
    tracker.state.setRaw(key, 'created', undefined);
    await synced();
    expect((await run('rejects list')).out).toBe('No open rejects.\n');
  });

  test('a replay says of each reject whether it is open, or too large to have been kept, of each pipeline by itself', async () => {
    const [resolved] = (await json('rejects list --all')).rejects;
    expect(await run(`rejects replay ${resolved.rejectId}`)).toEqual(refused('there is no open reject'));
    const rows =
      await query(`insert into ops.rejects (source_id, stream, record_key, stage, code, message, payload, sha256, truncated, first_run_id, last_run_id)
        select source_id, stream, 'huge', stage, code, message, '\\x7b', sha256, true, first_run_id, last_run_id from ops.rejects limit 1
        returning reject_id::text as id`);
    const out = expect.stringContaining('0 records stored, 1 record still rejected (1 too large');
    for (const words of ['', ` ${rows[0].id}`, ' --stream tracker.issues'])
      expect(await run(`rejects replay${words}`)).toMatchObject({ code: 3, out });
    await query('delete from ops.rejects where reject_id = $1', [rows[0].id]);
    // A replay that fails for one pipeline still reports the others.
    expect(await query(`update ops.rejects set status = 'open' returning reject_id`)).toHaveLength(1);
    const both = await run('rejects replay', elsewhere);
    expect(both.code).toBe(3);
    expect(both.out).toMatch(/^tracker: 0 records stored, 1 record still rejected\.$/m);
    expect(both.err).toMatch(/workflow: .*127\.0\.0\.1:9/);
    await query(`update ops.rejects set status = 'resolved'`);
  });

  test('a named stream means the pipelines that own it, in either spelling', async () => {
    for (const name of ['projects', 'tracker.projects', 'comments']) {
      const { code, out, err } = await run(`sync --json --stream ${name}`, elsewhere);
      expect({ name, code, err }).toEqual({ name, code: 0, err: '' });
      const pipelines = lines(out).map((line) => JSON.parse(line).pipeline);
      expect(new Set(pipelines)).toEqual(new Set(['tracker']));
    }
    expect((await run('rejects list --all --stream tracker.issues')).out).toMatch(/ tracker\.issues /);
  });

  test.each([
    ['backfill tracker --from 2130-01-01 --to 2130-02-01 --dry-run', '--from 2130-01-01 lies in the future'],
    ['rejects replay 99999', 'there is no open reject 99999'],
    ['sync --stream isues', 'there is no stream'],
    ['sync workflow --stream tracker.issues', 'there is no stream “tracker.issues”'],
    ['reconcile tracker --stream isues', 'there is no stream'],
    ['rejects list --stream isues', 'there is no stream'],
    ['reconcile workflow', 'none of the streams dags, dag_runs has a reconciliation'],
  ])('`tidemark %s` is refused before anything is done', async (words, advice) => {
    const before = (await json('runs')).runs[0].runId;
    expect(await run(words, elsewhere)).toEqual(refused(advice));
    expect((await json('runs')).runs[0].runId).toBe(before);
  });

  test('reset forgets a watermark: the next run walks the stream whole', async () => {
    const planned = async () => issuesIn((await json('sync --dry-run --stream issues')).plan[0].streams);
    expect(await planned()).toMatchObject({ mode: 'incremental' });
    const filtered = await run('sync --dry-run --stream issues', { TRACKER_JQL: 'project = WEB' });
    expect(filtered.out).toContain('tracker.issues: everything is read again: what is to be read was');
    expect((await run('reset issues')).out).toContain('tracker.issues is reset');
    expect(await planned()).toMatchObject({ mode: 'full' });
    expect((await json('streams issues')).rows.live).toBe(149);
  });

  test('a stream that cannot be read makes exit code 3, names it, and leaves the others complete', async () => {
    const rule = faulty('/rest/api/3/project/search', status(404));
    const { code, out } = await run('sync');
    rule.cancel();
    expect(rule.fired).toBeGreaterThan(0);
    expect(code).toBe(3);
    expect(out).toMatch(/^tracker: partly failed\./);
    expect(out).toMatch(/^ {2}projects: failed: .*404/m);
    expect((await run('status')).out).toContain('ended partly failed.');
    // What makes only a part of it good hides nothing.
    await synced('sync --stream boards');
    const { out: found } = await run('status');
    expect(found).toContain('ended partly failed.');
    expect(found).toMatch(/^Run \d+: GET .*project\/search answered 404/m);
  });

  test('what does not answer, or not to these credentials, is exit code 4', async () => {
    const wrong = { TRACKER_API_TOKEN: 'hunter2' };
    const synced = await run('sync', wrong);
    expect(synced).toMatchObject({ code: 4, err: expect.stringContaining('401') });
    const checked = await run('check', wrong);
    expect(checked.code).toBe(4);
    for (const line of [/^tracker +failed /m, /^warehouse +ok /m]) expect(checked.out).toMatch(line);
    expect(synced.out + synced.err + checked.out + checked.err).not.toContain('hunter2');
    expect(await run('sync', { TRACKER_BASE_URL: 'http://127.0.0.1:9' })).toMatchObject({ code: 4 });
    const denied = database.url.replace(/:[^:@]+@/, ':wrong@');
    const databases = { 'postgres://a:b@127.0.0.1:9/c': '127.0.0.1:9/c', [denied]: 'password' };
    for (const [url, reason] of Object.entries(databases)) {
      const refused = { code: 4, out: '', err: expect.stringContaining(reason) };
      expect(await run('status', { DATABASE_URL: url })).toEqual(refused);
    }
  });

  test('check is a table of what works, and leaves no trace; a search that is closed fails it', async () => {
    const { checks, ok } = await json('check');
    expect(ok).toBe(true);
    const states = checks.map((each: { what: string; state: string }) => `${each.what} ${each.state}`);
    expect(states).toEqual([
      'tracker ok',
      'ads not configured',
      'workflow not configured',
      'warehouse ok',
      'notifications not configured',
    ]);
    const mail = {
      TIDEMARK_SMTP_URL: 'smtp://me:hunter2@127.0.0.1:9',
      TIDEMARK_EMAIL_FROM: 'tidemark@x.example',
      TIDEMARK_EMAIL_TO: 'ops@x.example,data@x.example',
      TIDEMARK_PAGERDUTY_ROUTING_KEY: 'k'.repeat(32),
    };
    const configured = await run('check', mail);
    expect(configured.out).toMatch(
      /^notifications +ok .*pagerduty · email to ops@x\.example, data@x\.example/m,
    );
    expect(configured.out).not.toMatch(/hunter2|kkkk/);
    expect(await query(`select from pg_namespace where nspname = 'tidemark_check'`)).toHaveLength(0);
    const rule = faulty('/rest/api/3/search/jql', status(403));
    const { code, out } = await run('check');
    rule.cancel();
    expect(code).toBe(1);
    expect(out).toMatch(/^tracker +failed .*search\/jql answered 403/m);
    expect(out).toContain(`signed in as ${tracker.email}`);
  });

  test('a held lock is exit code 5, and the message says who holds it', async () => {
    const lease = await takeLease(database.warehouse.pool, 'tracker');
    try {
      const { code, out, err } = await run('sync --stream projects --json');
      expect(code).toBe(5);
      expect(err).toMatch(
        /^error: tracker: a run of .* process \d+ holds the pipeline since .* · wait for it/m,
      );
      expect(err).toContain(` process ${process.pid} `);
      const error = { type: 'error', pipeline: 'tracker', error: { code: 'lock_held' }, exitCode: 5 };
      expect(JSON.parse(out)).toMatchObject(error);
    } finally {
      await lease.release();
    }
  });
});

describe('a signal', () => {
  const slowly = () => faulty('/rest/agile/1.0/sprint/{id}/issue', delay(3000));
  /** Keeps every run that uses this table waiting, until the lock is released. */
  const lockOf = async (what: string): Promise<() => Promise<void>> => {
    const client = await database.warehouse.pool.connect();
    await client.query(`begin; lock table ${what} mode`);
    return async () => {
      await client.query('rollback');
      client.release();
    };
  };

  test('ends the run in good order with its own exit code, and the next run goes on', async () => {
    const rule = slowly();
    const command = start(['sync', '--json'], { env });
    await until('a slow request', () => rule.fired > 0);
    command.kill('SIGINT');
    const { code, out, err } = await command.ended;
    rule.cancel();
    expect({ code, err }).toEqual({ code: 130, err: expect.stringContaining('SIGINT') });
    const finished = { type: 'run.finished', report: { status: 'interrupted' } };
    expect(JSON.parse(lines(out).at(-1) ?? '')).toMatchObject(finished);
    expect((await json('runs')).runs[0]).toMatchObject({ status: 'interrupted' });
    await synced();
  });

  test('the same signal twice at once, as npm passes it on, is one request; a later one ends at once', async () => {
    const rule = slowly();
    const command = start(['sync'], { env });
    await until('a slow request', () => rule.fired > 0);
    // The database does not let it go: an orderly end has to wait for this lock.
    const release = await lockOf('ops.runs in access exclusive');
    try {
      command.kill('SIGTERM');
      command.kill('SIGTERM');
      await until('the answer to the signal', () => command.err().includes('ending in good order'));
      await new Promise((resolve) => setTimeout(resolve, 700));
      expect(command.err()).not.toContain('ending now');
      const asked = performance.now();
      command.kill('SIGTERM');
      const { code, err } = await command.ended;
      expect(code).toBe(143);
      expect(err).toContain('second SIGTERM; ending now');
      expect(performance.now() - asked).toBeLessThan(10_000);
    } finally {
      await release();
      rule.cancel();
    }
    const syncs = async () => (await run('sync --stream projects')).code === 0;
    await until('the lease expires', syncs);
  });

  test('a sync that leaves pipelines out because of a signal does not end with 0', async () => {
    // The first run is over; its notification cannot be interrupted, and waits for this lock.
    const release = await lockOf('ops.health in exclusive');
    const command = begin(['sync', '--jobs', '1', '--json'], { env: { ...env, ...elsewhere } });
    await until('the end of the first run', () => command.out().includes('"run.finished"'));
    command.kill('SIGTERM');
    await until('the answer to the signal', () => command.err().includes('ending in good order'));
    await release();
    const { code, out } = await command.ended;
    expect(code).toBe(143);
    expect(lines(out).filter((line) => line.includes('"run.started"'))).toHaveLength(1);
  });

  test('check ends with the code of the signal and asks no further source', async () => {
    const rule = tracker.script.at({ times: Infinity }, delay(5000));
    const command = begin(['check'], { env: { ...env, ...elsewhere } });
    await until('a slow request', () => rule.fired > 0);
    command.kill('SIGTERM');
    const { code, out, err } = await command.ended;
    rule.cancel();
    expect(code).toBe(143);
    expect(out + err).not.toMatch(/checking (workflow|the warehouse)/);
  });
});

test('an address that cannot be listened on: serve names flag and variable, and has taken nothing up', async () => {
  const occupied = net.createServer().listen(0, '127.0.0.1');
  await once(occupied, 'listening');
  const { port } = occupied.address() as net.AddressInfo;
  const control = await controlOf(database.warehouse, catalogue(dag('tracker')));
  const { runId } = await control.start({ pipeline: 'tracker', does: 'sync' }, { by: 'test' });
  const { code, out, err } = await run(`serve --port ${port}`);
  occupied.close();
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(/cannot listen: .*EADDRINUSE.*TIDEMARK_PORT/);
  const token = { TIDEMARK_API_TOKEN: 'a-token-of-some-length' };
  const foreign = { code: 2, err: expect.stringMatching(/EADDRNOTAVAIL.*TIDEMARK_HOST/) };
  expect(await run('serve --host 192.0.2.1 --port 0', token)).toMatchObject(foreign);
  await append(database.warehouse.db, runId, 'warn', 'taken \x1b by test');
  for (const words of ['logs', `logs ${runId}`])
    expect((await run(words)).out).toMatch(/^\d{4}-\S+Z warn taken \\x1b by test$/m);
  expect(await run('logs nosuch')).toEqual(
    refused('there is no log of nosuch · `tidemark runs` lists the runs'),
  );
  const queued = 'select status, started_at as started from ops.dag_runs where dag_run_id = $1';
  expect(await query(queued, [runId])).toEqual([{ status: 'queued', started: null }]);
  await query('delete from ops.dag_runs');
});

test('init writes a .env that only its owner can read, and never changes one', async () => {
  const file = path.join(nowhere, '.env');
  vi.spyOn(process, 'cwd').mockReturnValue(nowhere);
  onTestFinished(() => void vi.restoreAllMocks());
  expect((await tidemark('init')).out).toContain(`Wrote ${file}`);
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  fs.writeFileSync(file, '# mine');
  expect(JSON.parse((await tidemark('init --json')).out)).toEqual({ file, created: false });
  expect(fs.readFileSync(file, 'utf8')).toBe('# mine');
  fs.rmSync(file);
});

test('migrate brings an empty database up to date, once', async () => {
  const empty = await emptyDatabase();
  const at = { env: { DATABASE_URL: empty.url } };
  const files = fs.readdirSync(new URL('../../../migrations', import.meta.url));
  const steps = files.filter((file) => file.endsWith('.sql')).sort();
  const planned = JSON.parse((await tidemark('migrate --dry-run --json', at)).out);
  expect(planned.pending).toEqual([
    ...steps.map((step) => step.replace('.sql', '')),
    'tables',
    'settings',
    'facts',
    'views',
  ]);
  expect((await tidemark('migrate', at)).out).toBe(
    planned.pending.map((step: string) => `applied ${step}\n`).join(''),
  );
  expect((await tidemark('migrate', at)).out).toContain('is up to date');
  const otherZone = { env: { ...at.env, TIDEMARK_REPORTING_TIME_ZONE: 'Asia/Tokyo' } };
  expect((await tidemark('migrate', otherZone)).out).toBe('applied settings\n');
  await empty.drop();
});

test('derive makes facts anew that were lost', async () => {
  const first = `select min(issue_id)::text as id from tracker.issue_facts`;
  const [{ id }] = await query(first);
  await query(`delete from tracker.issue_facts where issue_id = ${id}`);
  expect((await run('derive --all')).out).toMatch(
    /^All facts of .* are derived anew; it took \d+\.\d s\.\n$/,
  );
  expect(await query(first)).toEqual([{ id }]);
  expect((await run('derive')).code).toBe(2);
});

test('simulate prints what belongs into .env, answers, and ends with 0 when asked to', async () => {
  const command = begin(['simulate', '--issues', '20']);
  // The last of them: they come line by line.
  await until('the variables', () => /^WORKFLOW_DAGS=.*\n/m.test(command.out()));
  const given = Object.fromEntries(lines(command.out()).map((line) => line.split('=', 2)));
  const { code, out } = await tidemark('check --json', { env: { ...given, DATABASE_URL: database.url } });
  expect(code).toBe(0);
  for (const pipeline of ['tracker', 'ads', 'workflow']) expect(out).toContain(`"${pipeline}"`);
  // What is synced from it does not lie among the rows of a real source.
  expect(given.TIDEMARK_HOME).toBe('.tidemark/simulated');
  command.kill('SIGINT');
  expect((await command.ended).code).toBe(0);
});

/** What a program that starts `"$NODE" "$CLI"` prints. */
const printed = async (program: string, ...words: readonly string[]): Promise<string> => {
  const own = { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', NODE: process.execPath, CLI: launcher };
  return (await promisify(execFile)(program, words, { cwd: nowhere, env: { ...env, ...own } })).stdout;
};

test('a reader that goes away ends neither the run nor its exit code', async () => {
  const shell = `"$NODE" "$CLI" sync --json | head -n 1; echo "\${PIPESTATUS[0]}"`;
  expect(lines(await printed('bash', '-c', shell)).at(-1)).toBe('0');
});

test.skipIf(!fs.existsSync('/usr/bin/script'))(
  'on a real terminal the display is live and leaves a clean page',
  async () => {
    const words = 'stty rows 24 cols 100; "$NODE" "$CLI" sync';
    const out = await printed('/usr/bin/script', '-qec', words, '/dev/null');
    expect(out).toContain('\x1b[2K');
    expect(out).toMatch(/tracker\.issues ok .* already stored/);
  },
);
