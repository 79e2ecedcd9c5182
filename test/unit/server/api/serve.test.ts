import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../../simulators/jira/server.ts';
import { delay, silence } from '../../../../simulators/shared/faults.ts';
import { privateCluster } from '../../../fault/private-cluster.ts';
import { differences } from '../../../support/oracle.ts';
import { type TestDatabase, testDatabase } from '../../../support/postgres.ts';
import { until } from '../../../support/processes.ts';
import { proxy, type Wire } from '../../../support/proxy.ts';
import { environment } from '../../../support/tidemark.ts';
import { begin, type Command, start as spawn, tidemark } from '../../cli/command.ts';
import { startReceiver } from '../../outbound/receiver.ts';
import { type Answer, ask, operate, post } from './api.ts';

let tracker: TrackerSimulator;
let database: TestDatabase;
let serving: Command[] = [];
beforeAll(async () => {
  tracker = await startTracker({ seed: 7, issues: 60, projects: 2 });
});
afterAll(() => tracker.close());
beforeEach(async () => {
  database = await testDatabase();
  return () => database.drop();
});
afterEach(async () => {
  tracker.script.clear();
  for (const command of serving) command.kill(command.pid === process.pid ? 'SIGTERM' : 'SIGKILL');
  await Promise.all(serving.map(({ ended }) => ended));
  serving = [];
});

interface Serving extends Command {
  readonly base: string;
}

const settings = (more: NodeJS.ProcessEnv = {}, { url } = database) => ({
  env: environment(tracker, url, { TIDEMARK_API_TOKEN: operate, ...more }),
});

/** `serve` in this process, or as one of its own. */
async function serve(how = begin, around = settings()): Promise<Serving> {
  const command = how(['serve', '--port', '0', '--json'], around);
  serving.push(command);
  await until('it serves', () => command.out().includes('\n'), 60_000);
  const { url } = JSON.parse(command.out().split('\n')[0] ?? '');
  return { ...command, base: `${url}/api/v1` };
}

async function end(command: Command): Promise<void> {
  command.kill('SIGTERM');
  expect((await command.ended).code, command.err()).toBe(0);
}

const rowsOf =
  ({ warehouse }: TestDatabase) =>
  <R extends object>(query: string, values: readonly unknown[] = []): Promise<R[]> =>
    warehouse.pool.query<R>(query, [...values]).then((all) => all.rows);
const rows = <R extends object>(query: string) => rowsOf(database)<R>(query);
const compare = () => differences({ tracker, rows: rowsOf(database) });
const statusOf = async ({ base }: Serving, name = 'tracker'): Promise<Answer['body']> =>
  (await ask(`${base}/dags/${name}/status`)).body.data;
const isNow = (at: Serving, status: string, name = 'tracker') =>
  until(`${name} is ${status}`, async () => (await statusOf(at, name)).status === status, 60_000);
const startAt = ({ base }: Serving, name = 'tracker') => post(`${base}/dags/${name}/start`);
const isLoading = (of = database) =>
  until('rows come in', async () => (await rowsOf(of)('select from tracker.projects')).length > 0, 60_000);
const runs = async () =>
  (await rows<{ status: string }>('select status from ops.runs order by run_id')).map(({ status }) => status);

/** A request in the middle of every run. */
const endpoint = '/rest/agile/1.0/board/{boardId}/sprint';

/** The source answers it no more until the rule is cancelled. */
const hang = () => tracker.script.at({ endpoint, times: Number.POSITIVE_INFINITY }, silence);

test('a run goes on while another process restarts; kill -9 in mid-run: another process takes it up, and the warehouse equals the source', async () => {
  const hanging = hang();
  const worker = await serve(spawn);
  const { body } = await startAt(worker);
  await isLoading();
  for (const _ of ['before', 'after the restart']) {
    const other = await serve();
    expect(await statusOf(other)).toMatchObject({ runId: body.data.runId, status: 'running' });
    await end(other);
  }
  const heir = await serve();
  worker.kill('SIGKILL');
  await worker.ended;
  hanging.cancel();
  await isNow(heir, 'succeeded');
  const { run } = await statusOf(heir);
  expect(run).toMatchObject({ runId: body.data.runId, status: 'succeeded', error: null });
  expect(run.runs).toHaveLength(2);
  expect(await runs()).toEqual(['lost', 'succeeded']);
  expect(await compare()).toEqual([]);
});

test('SIGTERM in mid-run ends serve in good order, and the run goes on after the restart; the API and a sync of the command line agree about who runs', async () => {
  const hanging = hang();
  const first = await serve();
  const { body } = await startAt(first, 'nightly');
  await isLoading();
  await end(first);
  expect(await rows('select pipeline, status from ops.dag_runs order by seq')).toEqual([
    { pipeline: 'nightly', status: 'running' },
    { pipeline: 'tracker', status: 'interrupted' },
  ]);
  expect(await rows('select holder from ops.leases')).toEqual([{ holder: null }]);
  hanging.cancel();
  const second = await serve();
  await isNow(second, 'succeeded', 'nightly');
  expect((await statusOf(second, 'nightly')).runId).toBe(body.data.runId);
  expect(await runs()).toEqual(['interrupted', 'succeeded']);
  expect(await compare()).toEqual([]);

  tracker.script.at({ endpoint }, delay(1_000));
  const command = tidemark('sync --quiet', settings());
  const manual = `select from ops.runs where trigger = 'manual'`;
  await until('the command runs', async () => (await rows(manual)).length === 1);
  const refused = await startAt(second);
  expect([refused.code, refused.body.active?.trigger]).toEqual([409, 'manual']);
  expect(await command).toMatchObject({ code: 0 });
  tracker.script.at({ endpoint }, delay(1_000));
  expect((await startAt(second)).code).toBe(202);
  const byApi = `select from ops.runs where trigger = 'api' and status = 'running'`;
  await until('the API runs it', async () => (await rows(byApi)).length === 1);
  expect([0, 5]).toContain((await tidemark('sync --quiet', settings())).code);
  await isNow(second, 'succeeded');
});

/** How a path is answered: with which status, whether that says that the warehouse is away, and within ten seconds. */
type Answered = (path: string) => Promise<Record<'code' | 'says' | 'inTime', unknown>>;

/** A `serve` with a warehouse of its own, to which `strike` breaks the wire in mid-run. */
async function withoutWarehouse(strike: (wire: Wire, answered: Answered) => unknown): Promise<void> {
  const own = await testDatabase();
  const far = new URL(own.url);
  const wire = await proxy({ host: far.hostname, port: Number(far.port) });
  far.port = String(wire.port);
  const at = await serve(spawn, settings({ TIDEMARK_API_TOKEN: '' }, { ...own, url: far.href }));
  const headers = { authorization: '' };
  const answered: Answered = async (path) => {
    const began = performance.now();
    const { code, text } = await ask(new URL(path, at.base).href, { headers });
    const says = text.includes('the warehouse does not answer');
    return { code, says, inTime: performance.now() - began < 10_000 };
  };
  try {
    expect((await post(`${at.base}/dags/tracker/start`, undefined, headers)).code).toBe(202);
    await isLoading(own);
    await strike(wire, answered);
    const began = performance.now();
    at.kill('SIGTERM');
    expect((await at.ended).code, at.err()).toBe(0);
    expect(performance.now() - began).toBeLessThan(18_000);
    // One sentence says who goes on with what ran here.
    expect(at.err()).not.toContain('a pool');
    // It could not write more: to others it is a worker that died.
    expect(await rowsOf(own)('select status, worker from ops.dag_runs')).toEqual([
      { status: 'running', worker: expect.stringMatching(` ${at.pid}$`) },
    ]);
  } finally {
    wire.cut();
    await wire.close().catch(() => undefined);
    at.kill('SIGKILL');
    await at.ended;
    await own.drop();
  }
}

test('a request while the warehouse is away is answered at once, and SIGTERM in mid-run ends serve in time', async () => {
  hang();
  const away = { code: 503, says: true, inTime: true };
  const isDown = async (wire: Wire, answered: Answered): Promise<void> => {
    wire.freeze();
    wire.cut();
    // An answer may be a second old.
    await until('it is not ready', async () => (await answered('/readyz')).code === 503);
    expect(await answered('/readyz')).toEqual(away);
    await wire.close();
    for (const path of ['/readyz', '/metrics', '/api/v1/dags'])
      expect(await answered(path), path).toEqual(away);
    expect(await answered('/')).toMatchObject({ code: 503, inTime: true });
  };
  // Established connections say nothing more: the limit of one statement tells.
  const isSilent = async (wire: Wire, answered: Answered): Promise<void> => {
    wire.freeze();
    expect(await answered('/metrics')).toMatchObject({ code: 503, says: true });
  };
  await Promise.all([withoutWarehouse(isDown), withoutWarehouse(isSilent)]);
});

test('a warehouse that has become a replica takes no requests until it is a primary again', async () => {
  const cluster = await privateCluster();
  onTestFinished(() => cluster.remove());
  const url = await cluster.database('replicated');
  const at = await serve(begin, settings({ TIDEMARK_API_TOKEN: '' }, { ...database, url }));
  const headers = { authorization: '' };
  const isReady = async () => (await ask(new URL('/readyz', at.base).href, { headers })).code;
  await until('it is ready', async () => (await isReady()) === 200);
  const promote = await cluster.demote();
  await until('it says why it is not', async () => {
    const { code, text } = await ask(new URL('/readyz', at.base).href, { headers });
    return code === 503 && text.includes('read-only');
  });
  const refused = await post(`${at.base}/dags/tracker/start`, undefined, headers);
  const message = 'the warehouse takes no writes; try again later';
  expect([refused.code, refused.body.message]).toEqual([503, message]);
  await promote();
  await until('it takes writes', async () => (await isReady()) === 200);
  expect((await post(`${at.base}/dags/tracker/start`, undefined, headers)).code).toBe(202);
  await end(at);
});

test('remote starts, looks, stops and retries over HTTP, and its exit codes say how it went', async () => {
  const hanging = hang();
  const at = await serve();
  const remote = (words: string, more: NodeJS.ProcessEnv = {}, url = new URL(at.base).origin) =>
    tidemark(`remote ${words} --url ${url}`, settings(more));
  const codes = async (expected: number, ...commands: readonly string[]) => {
    for (const words of commands)
      expect([words, (await remote(`${words} --json`)).code]).toEqual([words, expected]);
  };
  await codes(0, 'status tracker');
  await codes(2, 'start nope', 'start tracker --params FOO=1');
  await codes(0, 'start tracker --run-id mine');
  await isLoading();
  await codes(5, 'start tracker --run-id other');
  await codes(0, 'stop tracker');
  await isNow(at, 'stopped');
  hanging.cancel();
  await codes(0, 'retry tracker mine', 'status tracker mine');
  await codes(2, 'status tracker none');
  await isNow(at, 'succeeded');
  await codes(0, 'runs tracker');
  expect((await remote('log tracker mine')).out).toContain('taken by');
  const stranger = await remote('status tracker', { TIDEMARK_API_TOKEN: 'wrong' });
  expect([stranger.code, stranger.err.includes('wrong')]).toEqual([4, false]);
  expect((await remote('status tracker', {}, 'http://127.0.0.1:9')).code).toBe(4);
  expect(await compare()).toEqual([]);
});

test('one message is sent for a request that fails before it becomes a run, and one when it recovers', async () => {
  const hook = await startReceiver();
  onTestFinished(() => hook.close());
  const heard = () => hook.received.map(({ body }) => JSON.parse(body));
  const at = await serve(begin, settings({ TIDEMARK_WEBHOOK_URL: hook.url }));
  // Another machine has a newer version, which has migrated the warehouse.
  await rows(
    `insert into ops.definitions (kind, name, hash, version) values ('step', '9999_later', '', '0')`,
  );
  for (const name of ['nightly', 'tracker']) {
    await startAt(at, name);
    await isNow(at, 'failed', name);
  }
  await until('a message is sent', () => heard().length > 0);
  const cause = expect.stringContaining('newer');
  const data = { pipeline: 'tracker', state: 'failed', run: null, cause };
  expect(heard()).toMatchObject([{ type: 'pipeline.failed', data }]);
  expect(await rows('select from ops.runs')).toEqual([]);
  await rows(`delete from ops.definitions where name = '9999_later'`);
  await startAt(at, 'nightly');
  await isNow(at, 'succeeded', 'nightly');
  await until('another one is sent', () => heard().length > 1);
  expect(heard().map(({ type }) => type)).toEqual(['pipeline.failed', 'pipeline.recovered']);
});
