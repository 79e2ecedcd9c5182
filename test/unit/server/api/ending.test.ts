import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../../simulators/jira/server.ts';
import { differences } from '../../../support/oracle.ts';
import { testDatabase } from '../../../support/postgres.ts';
import { until } from '../../../support/processes.ts';
import { proxy, type Proxy as Wire } from '../../../support/proxy.ts';
import { environment, tidemark } from '../../../support/tidemark.ts';
import { post } from './api.ts';

let tracker: TrackerSimulator;
beforeAll(async () => {
  tracker = await startTracker({ seed: 7, issues: 120, projects: 2, latencyMs: 40 });
});
afterAll(() => tracker.close());

const serve = (url: string) => tidemark(['serve', '--port', '0', '--json'], environment(tracker, url));

const faults: readonly (readonly [string, (wire: Wire) => unknown])[] = [
  ['says nothing', (wire) => wire.freeze()],
  ['is down', (wire) => wire.close()],
];

test.concurrent.each(faults)(
  'SIGTERM in mid-run while the warehouse %s ends a process with 0 in time, and its heir brings the run to its end',
  async (_fault, strike) => {
    const database = await testDatabase();
    const { hostname: host, port } = new URL(database.url);
    const wire = await proxy({ host, port: Number(port) });
    const far = new URL(database.url);
    far.port = String(wire.port);
    const rows = <R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> =>
      database.warehouse.pool.query<R>(text, [...values]).then((all) => all.rows);
    const first = serve(far.href);
    const heir = serve(database.url);
    try {
      const { url } = JSON.parse(await first.line());
      await heir.line();
      // Which of them takes the request up is chance: only the first knows it, until it runs.
      heir.child.kill('SIGSTOP');
      expect((await post(`${url}/api/v1/dags/tracker/start`, undefined, { authorization: '' })).code).toBe(
        202,
      );
      await until(
        'rows come in',
        async () => (await rows('select from tracker.projects')).length > 0,
        30_000,
      );
      await strike(wire);
      const at = performance.now();
      first.child.kill('SIGTERM');
      expect(await first.ended(), first.said()).toBe(0);
      expect(performance.now() - at).toBeLessThan(18_000);
      // What it was still about is told once, by the sentence that says who goes on with it.
      expect(first.said()).not.toContain('a pool');
      // It could not say goodbye.
      expect(await rows('select status, worker from ops.dag_runs')).toEqual([
        { status: 'running', worker: expect.stringMatching(` ${first.pid}$`) },
      ]);
      wire.cut();
      heir.child.kill('SIGCONT');
      const isOver = async () =>
        (await rows(`select from ops.dag_runs where status = 'succeeded'`)).length === 1;
      await until('the heir ends it', isOver, 60_000);
      expect(await rows('select status from ops.runs order by run_id')).toEqual([
        { status: 'lost' },
        { status: 'succeeded' },
      ]);
      expect(await differences({ tracker, rows })).toEqual([]);
    } finally {
      await Promise.all([first.kill(), heir.kill()]);
      wire.cut();
      await wire.close().catch(() => undefined);
      await database.drop();
    }
  },
  100_000,
);
