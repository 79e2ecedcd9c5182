import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startTracker } from '../../../simulators/jira/server.ts';
import { openEmbedded } from '../../../src/embedded/embedded.ts';
import { guideShell } from '../../support/guide-shell.ts';
import { differences, type Sides } from '../../support/oracle.ts';
import { asOwner, databaseUrl } from '../../support/owner.ts';
import { blocksOf } from '../../support/pages.ts';
import { testDatabase } from '../../support/postgres.ts';
import { smallSite } from '../../support/small-site.ts';
import { environment } from '../../support/tidemark.ts';

// Each command is a process of its own, ten times as slow on a machine that is busy.
vi.setConfig({ testTimeout: 900_000 });

const guide = 'docs/guides/backup.md';
const commandsUnder = (heading: string): readonly string[] =>
  blocksOf(guide, 'sh').flatMap((block) => (block.heading === heading ? [block.text] : []));

async function openTracker() {
  const tracker = await startTracker({ seed: 7, ...smallSite });
  onTestFinished(() => tracker.close());
  return tracker;
}
type Tracker = Awaited<ReturnType<typeof openTracker>>;

/** What happens at the source between the backup and the restore: a change, a new issue, and a deletion. */
function changeAll({ state, clock, oracle }: Tracker): void {
  clock.advance(3_600_000);
  // Members of a sprint that ended long ago are read once a week.
  const [changed = '', deleted = ''] = [...oracle().issues.keys()].filter(
    (id) => state.issue(id).sprintIds.length === 0,
  );
  state.update(changed, { summary: 'Changed after the backup' });
  state.create('WEB', { summary: 'Made after the backup' });
  state.delete(deleted);
  clock.advance(60_000);
}

const rowsIn = async (url: string): Promise<Sides['rows']> => {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  onTestFinished(() => pool.end());
  return async (query, parameters = []) => (await pool.query(query, [...parameters])).rows;
};

/** Tables with the number of their rows and a digest of these. */
async function contents(rows: Sides['rows']): Promise<readonly string[]> {
  const relations = await rows<{ name: string }>(`select format('%I.%I', n.nspname, c.relname) as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and n.nspname !~ '^pg_(catalog|toast|temp)|^information_schema$' order by 1`);
  const found: string[] = [];
  for (const { name } of relations) {
    const [row] = await rows<{ digest: string }>(
      `select count(*) || ' ' || coalesce(md5(string_agg(t::text, ',' order by t::text)), '') as digest from ${name} t`,
    );
    found.push(`${name}: ${row?.digest}`);
  }
  return found;
}

const expectReadable = async (rows: Sides['rows']): Promise<void> => {
  const views = await rows<{ name: string }>(
    `select format('%I.%I', schemaname, viewname) as name from pg_views where schemaname in ('bi', 'bi_pii')`,
  );
  expect(views.length).toBeGreaterThan(50);
  for (const { name } of views) await rows(`select count(t) from (select * from ${name} offset 0) t`);
};

/** The run between backup and restore is not known any more, and the next one read what changed, not everything. */
async function expectContinued(rows: Sides['rows']): Promise<void> {
  const runs = await rows<{ kind: string; received: number }>(`select r.kind, s.received::integer as received
    from ops.runs r join ops.run_streams s using (run_id) where s.stream = 'issues' order by run_id`);
  expect(runs.map(({ kind }) => kind)).toEqual(['sync', 'sync', 'reconcile']);
  expect(runs[0]?.received).toBe(smallSite.issues);
  expect(runs[1]?.received).toBeLessThan(smallSite.issues / 2);
}

test('the embedded warehouse is restored from a copy of its folder, and the next sync reads what came since', async () => {
  const tracker = await openTracker();
  const { DATABASE_URL: _, ...env } = environment(tracker, '');
  const shell = guideShell(env);
  const [backup = '', restore = '', ...more] = commandsUnder('The embedded warehouse');
  expect(more).toEqual([]);
  await shell.run('npx tidemark sync tracker --quiet');
  await shell.run(backup);
  changeAll(tracker);
  await shell.run('npx tidemark sync tracker --quiet');
  await shell.run(restore);
  const embedded = await openEmbedded(path.join(shell.folder, '.tidemark'));
  onTestFinished(() => embedded.release());
  const rows = await rowsIn(embedded.url);
  expect(await differences({ tracker, rows })).toEqual([]);
  await expectContinued(rows);
  await expectReadable(rows);
});

/** The major version of pg_dump; undefined where there is none. */
const dumpVersion = (): number | undefined => {
  const { status, stdout } = spawnSync('pg_dump', ['--version'], { encoding: 'utf8' });
  return status === 0 ? Number(/(\d+)/.exec(stdout)?.[1]) : undefined;
};

test('a dump is restored into an empty database by an ordinary user, and the next sync reads what came since', async ({
  skip,
}) => {
  const { rows: versions } = await asOwner((client) => client.query('show server_version_num'));
  const server = Math.floor(Number(versions[0].server_version_num) / 10_000);
  const dump = dumpVersion();
  if (dump === undefined || dump < server) {
    console.warn(
      `SKIPPED restore of a dump: the server is ${server}, pg_dump is ${dump ?? 'missing'}; .ci/postgres runs it`,
    );
    skip();
  }
  const tracker = await openTracker();
  const old = await testDatabase();
  const name = `restored_${randomBytes(4).toString('hex')}`;
  await asOwner(async (client) => {
    await client.query(`create role ${name} login createrole password 'restored'`);
    await client.query(`create database ${name} owner ${name}`);
  });
  onTestFinished(async () => {
    await old.drop();
    await asOwner(async (client) => {
      await client.query(`drop database ${name} with (force)`);
      await client.query(`drop role ${name}`);
    });
  });
  const restored = Object.assign(new URL(databaseUrl(name)), { username: name, password: 'restored' }).href;
  const shell = guideShell(environment(tracker, old.url, { RESTORED_URL: restored }));
  const [backup = '', restore = '', check = '', go = '', ...more] = commandsUnder('Your own Postgres');
  expect(more).toEqual([]);
  await shell.run('npx tidemark sync tracker --quiet');
  await shell.run(backup);
  const before = await contents(await rowsIn(old.url));
  changeAll(tracker);
  await shell.run('npx tidemark sync tracker --quiet');
  await shell.run(restore);
  const rows = await rowsIn(restored);
  expect(await contents(rows)).toEqual(before);
  expect(before.some((line) => line.startsWith('pgboss.'))).toBe(true);
  expect(await shell.run(check)).toMatch(/The schema of \S+ is up to date\./);
  await shell.run(go);
  expect(await differences({ tracker, rows })).toEqual([]);
  await expectContinued(rows);
  await expectReadable(rows);
});
