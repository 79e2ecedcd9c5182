import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../../simulators/jira/server.ts';
import { differences } from '../../../support/oracle.ts';
import { type TestDatabase, testDatabase } from '../../../support/postgres.ts';
import { type Running, until } from '../../../support/processes.ts';
import { proxy } from '../../../support/proxy.ts';
import { environment, tidemark } from '../../../support/tidemark.ts';
import { startReceiver } from '../../outbound/receiver.ts';
import { type Answer, ask, operate, post } from './api.ts';

let tracker: TrackerSimulator;
let database: TestDatabase;
let running: Running[] = [];
beforeAll(async () => {
  tracker = await startTracker({ seed: 7, issues: 120, projects: 2, latencyMs: 40 });
});
afterAll(() => tracker.close());
beforeEach(async () => {
  database = await testDatabase();
  return () => database.drop();
});
afterEach(async () => {
  await Promise.all(running.map((each) => each.kill()));
  running = [];
});

interface Serving extends Running {
  readonly base: string;
}

const settings = () => environment(tracker, database.url, { TIDEMARK_API_TOKEN: operate });

async function serve(more: NodeJS.ProcessEnv = {}): Promise<Serving> {
  const process = tidemark(['serve', '--port', '0', '--json'], { ...settings(), ...more });
  running.push(process);
  const { url } = JSON.parse(await process.line());
  return { ...process, base: `${url}/api/v1` };
}

const remoteAt = (words: string, { base }: Serving, more: NodeJS.ProcessEnv = {}) =>
  tidemark(['remote', ...words.split(' '), '--url', new URL(base).origin], { ...settings(), ...more });
const remote = (words: string, at: Serving) => remoteAt(`${words} --json`, at).ended();

const rows = <R extends object>(query: string): Promise<R[]> =>
  database.warehouse.pool.query<R>(query).then((all) => all.rows);
const compare = () =>
  differences({
    tracker,
    rows: (query, values = []) => database.warehouse.pool.query(query, [...values]).then((all) => all.rows),
  });
const statusOf = async ({ base }: Serving, name = 'tracker'): Promise<Answer['body']> =>
  (await ask(`${base}/dags/${name}/status`)).body.data;
const isNow = (at: Serving, status: string, name = 'tracker') =>
  until(`${name} is ${status}`, async () => (await statusOf(at, name)).status === status, 100_000);
const isLoading = () =>
  until('rows come in', async () => (await rows('select from tracker.projects')).length > 0, 100_000);
const runs = async () =>
  (await rows<{ status: string }>('select status from ops.runs order by run_id')).map(({ status }) => status);

test('kill -9 in mid-run: another process takes the run up, and the warehouse equals the source', async () => {
  const first = await serve();
  const started = await post(`${first.base}/dags/tracker/start`);
  expect(started.code).toBe(202);
  await isLoading();
  const second = await serve();
  await first.kill();
  await isNow(second, 'succeeded');
  const run = (await statusOf(second)).run;
  expect(run).toMatchObject({ runId: started.body.data.runId, status: 'succeeded', error: null });
  expect(run.runs).toHaveLength(2);
  expect(await runs()).toEqual(['lost', 'succeeded']);
  expect(await compare()).toEqual([]);
}, 240_000);

test('SIGTERM in mid-run ends a process with 0 in good order; the run goes on after the restart', async () => {
  const first = await serve();
  const { body } = await post(`${first.base}/dags/nightly/start`);
  await isLoading();
  const at = performance.now();
  first.child.kill('SIGTERM');
  expect(await first.ended(), first.said()).toBe(0);
  expect(performance.now() - at).toBeLessThan(20_000);
  expect(await rows('select status from ops.dag_runs')).toEqual([{ status: 'interrupted' }]);
  expect(await rows('select holder from ops.leases')).toEqual([{ holder: null }]);
  const second = await serve();
  await isNow(second, 'succeeded', 'nightly');
  expect((await statusOf(second, 'nightly')).runId).toBe(body.data.runId);
  expect(await runs()).toEqual(['interrupted', 'succeeded']);
  expect(await compare()).toEqual([]);
}, 240_000);

test('a run goes on, and its state is right, while the process that was asked for it restarts', async () => {
  const [first, second] = [await serve(), await serve()];
  const { body } = await post(`${first.base}/dags/tracker/start`);
  await isLoading();
  const [row] = await rows<{ worker: string }>('select worker from ops.dag_runs');
  // Whoever does not run it is the one that ends.
  const [worker, other] = row?.worker.endsWith(` ${first.pid}`) ? [first, second] : [second, first];
  expect(row?.worker).toContain(`process ${worker.pid}`);
  other.child.kill('SIGTERM');
  expect(await other.ended()).toBe(0);
  const back = await serve();
  expect((await statusOf(back)).runId).toBe(body.data.runId);
  await isNow(back, 'succeeded');
  expect(await runs()).toEqual(['succeeded']);
}, 240_000);

test('a sync of the command line and the API agree about who runs', async () => {
  const at = await serve();
  const command = tidemark(['sync', '--quiet'], settings());
  running.push(command);
  await isLoading();
  const refused = await post(`${at.base}/dags/tracker/start`);
  expect([refused.code, refused.body.active.trigger]).toEqual([409, 'manual']);
  expect(await command.ended(), command.said()).toBe(0);
  expect((await post(`${at.base}/dags/tracker/start`)).code).toBe(202);
  const byApi = `select from ops.runs where trigger = 'api'`;
  await until('the API runs it', async () => (await rows(byApi)).length === 1, 100_000);
  const late = tidemark(['sync', '--quiet'], settings());
  expect([0, 5]).toContain(await late.ended());
  await isNow(at, 'succeeded');
}, 240_000);

test('a request while the warehouse is away or read-only is answered at once', async () => {
  const { hostname: host, port } = new URL(database.url);
  const wire = await proxy({ host, port: Number(port) });
  onTestFinished(() => wire.close().catch(() => undefined));
  const far = new URL(database.url);
  far.port = String(wire.port);
  const at = await serve({ DATABASE_URL: far.href, TIDEMARK_API_TOKEN: '' });
  const answered = async (path: string) => {
    const began = performance.now();
    const { code, text } = await ask(new URL(path, at.base).href, { headers: { authorization: '' } });
    const says = text.includes('the warehouse does not answer');
    return { path, code, says, inTime: performance.now() - began < 10_000 };
  };
  const paths = ['/readyz', '/metrics', '/api/v1/dags'];
  const all = () => Promise.all(paths.map(answered));
  const readOnly = (how: 'on' | 'off') =>
    rows(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = ${how}', current_database()); end $$`,
    );
  await readOnly('on');
  wire.cut();
  expect((await answered('/readyz')).code).toBe(503);
  const refused = await post(`${at.base}/dags/tracker/start`, undefined, { authorization: '' });
  const message = 'the warehouse takes no writes; try again later';
  expect([refused.code, refused.body.message]).toEqual([503, message]);
  await readOnly('off');
  wire.freeze();
  wire.cut();
  await sleep(1_000);
  expect(await answered('/readyz')).toEqual({ path: '/readyz', code: 503, says: true, inTime: true });
  await wire.close();
  expect(await all()).toEqual(paths.map((path) => ({ path, code: 503, says: true, inTime: true })));
  expect(await answered('/')).toMatchObject({ code: 503, inTime: true });
}, 100_000);

test('remote starts, looks, stops and retries over HTTP, and its exit codes say how it went', async () => {
  const at = await serve();
  const codes = async (expected: number, ...commands: readonly string[]) => {
    for (const words of commands) expect([words, await remote(words, at)]).toEqual([words, expected]);
  };
  await codes(0, 'status tracker');
  await codes(2, 'start nope', 'start tracker --params FOO=1');
  await codes(0, 'start tracker --run-id mine');
  await isLoading();
  await codes(5, 'start tracker --run-id other');
  await codes(0, 'stop tracker');
  await isNow(at, 'stopped');
  await codes(0, 'retry tracker mine', 'status tracker mine');
  await codes(2, 'status tracker none');
  await isNow(at, 'succeeded');
  await codes(0, 'runs tracker');
  expect(await remoteAt('log tracker mine', at).line()).toContain('taken by');
  const stranger = remoteAt('status tracker', at, { TIDEMARK_API_TOKEN: 'wrong' });
  expect(await stranger.ended()).toBe(4);
  expect(stranger.said()).not.toContain('wrong');
  expect(await remote('status tracker', { ...at, base: 'http://127.0.0.1:9/api/v1' })).toBe(4);
  expect(await compare()).toEqual([]);
}, 240_000);

test('serve does not listen where others could reach it without a token, and ends with 2', async () => {
  const bare = environment(tracker, database.url);
  for (const host of ['0.0.0.0', '::', '192.0.2.1']) {
    const refused = tidemark(['serve', '--host', host], bare);
    running.push(refused);
    expect(await refused.ended(), host).toBe(2);
    expect(refused.said()).toContain('TIDEMARK_API_TOKEN');
  }
});

test('one message is sent for a request that fails before it becomes a run, and one when it recovers', async () => {
  const hook = await startReceiver();
  onTestFinished(() => hook.close());
  const heard = () => hook.received.map(({ body }) => JSON.parse(body));
  const at = await serve({ TIDEMARK_WEBHOOK_URL: hook.url });
  // Another machine has a newer version, which has migrated the warehouse.
  await rows(
    `insert into ops.definitions (kind, name, hash, version) values ('step', '9999_later', '', '0')`,
  );
  for (const name of ['nightly', 'tracker']) {
    await post(`${at.base}/dags/${name}/start`);
    await isNow(at, 'failed', name);
  }
  await until('it is told', async () => heard().length > 0, 10_000);
  const cause = expect.stringContaining('newer');
  const data = { pipeline: 'tracker', state: 'failed', run: null, cause };
  expect(heard()).toMatchObject([{ type: 'pipeline.failed', data }]);
  expect(await rows('select from ops.runs')).toEqual([]);
  await rows(`delete from ops.definitions where name = '9999_later'`);
  await post(`${at.base}/dags/nightly/start`);
  await isNow(at, 'succeeded', 'nightly');
  await until('it is told', async () => heard().length > 1, 10_000);
  expect(heard().map(({ type }) => type)).toEqual(['pipeline.failed', 'pipeline.recovered']);
}, 240_000);
