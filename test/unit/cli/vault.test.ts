/** Refresh tokens that a platform replaces at each use, kept in the warehouse for every machine. */
import fs from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type AdsSimulator, startAds } from '../../../simulators/spotify-ads/server.ts';
import { grantReader } from '../../../src/bi/grant-reader.ts';
import { Misconfigured } from '../../../src/core/errors.ts';
import { Secret } from '../../../src/core/secret.ts';
import { vaultIn } from '../../../src/warehouse/vault.ts';
import { asOwner, type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { nowhere, start, tidemark } from './command.ts';

const key = 'k'.repeat(32);
let database: TestDatabase;
let platform: AdsSimulator;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  platform = await startAds({ seed: 3, accounts: 1, campaigns: 1, days: 2 });
  platform.tokens.rotates = true;
  await database.warehouse.pool.query('delete from ops.kept_secrets');
});
afterEach(() => platform.close());

const environment = (home: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  DATABASE_URL: database.url,
  TIDEMARK_HOME: path.join(nowhere, home),
  TIDEMARK_SECRET_KEY: key,
  ADS_BASE_URL: platform.url,
  ADS_TOKEN_URL: platform.tokenUrl,
  ADS_CLIENT_ID: platform.tokens.clientId,
  ADS_CLIENT_SECRET: platform.tokens.clientSecret,
  ADS_REFRESH_TOKEN: 'simulated-refresh-0',
  ADS_SDK_HEADER: platform.sdkHeader,
  ...more,
});
/** Ends the session that renews a token. */
const endOfRenewal = `select pg_terminate_backend(pid) from pg_locks
  where relation = 'ops.kept_secrets'::regclass and mode = 'RowExclusiveLock'`;
const vault = (secret = key) => vaultIn(async () => database.warehouse, new Secret(secret));

test('machines with homes of their own share the newest token', async () => {
  const codes = [];
  for (const home of ['a', 'a', 'b', 'a'])
    codes.push((await tidemark('check --json', { env: environment(home) })).code);
  expect(codes).toEqual([0, 0, 0, 0]);
  expect(platform.tokens.bought).toBe(4);
  const { rows } = await database.warehouse.pool.query('select name, sealed from ops.kept_secrets');
  expect(rows.map(({ name }) => name)).toEqual(['ads']);
  expect(String(rows[0].sealed)).not.toContain('simulated-refresh');
});

test('a token that a folder kept until now is the first one of the warehouse', async () => {
  const withoutKey = environment('moved', { TIDEMARK_SECRET_KEY: '' });
  expect((await tidemark('check', { env: withoutKey })).code).toBe(0);
  const own = environment('moved');
  expect((await tidemark('check', { env: own })).code).toBe(0);
  expect((await tidemark('check', { env: environment('elsewhere') })).code).toBe(0);
  expect(platform.tokens.bought).toBe(3);
});

test('processes that renew at once take turns', async () => {
  const both = [start(['check'], { env: environment('c') }), start(['check'], { env: environment('d') })];
  const ended = await Promise.all(both.map((each) => each.ended));
  expect(ended.map(({ code, err }) => [code, err.includes('invalid_grant')])).toEqual([
    [0, false],
    [0, false],
  ]);
  expect(platform.tokens.bought).toBe(2);
});

test('another key ends with a sentence before a token is used up', async () => {
  expect((await tidemark('check', { env: environment('a') })).code).toBe(0);
  const { code, out } = await tidemark('check', {
    env: environment('a', { TIDEMARK_SECRET_KEY: 'another'.repeat(8) }),
  });
  expect(code).toBe(2);
  expect(out).toMatch(
    /token of ads.*another TIDEMARK_SECRET_KEY.*delete from ops.kept_secrets where name = 'ads'/s,
  );
  expect(platform.tokens.bought).toBe(1);
});

test('a key that is too short is refused', async () => {
  const { code, err } = await tidemark('check', { env: environment('a', { TIDEMARK_SECRET_KEY: 'short' }) });
  expect([code, err]).toEqual([2, expect.stringMatching(/TIDEMARK_SECRET_KEY: is shorter than 32/)]);
});

test('a process that dies between the answer and the store leaves the token before, and nothing locked', async () => {
  const { pool } = database.warehouse;
  await vault().alone('ads', (_, keep) => keep('first'));
  const died = vault().alone('ads', async (kept) => {
    expect(kept).toBe('first');
    // What the server notices of a death is the end of the session.
    expect((await pool.query(endOfRenewal)).rowCount).toBe(1);
    throw new Error('killed');
  });
  await expect(died).rejects.toThrow('killed');
  expect(await vault().alone('ads', async (kept) => kept)).toBe('first');
});

test('a new token is kept though the connection broke while the platform answered', async () => {
  await vault().alone('ads', (_, keep) => keep('first'));
  await vault().alone('ads', async (_, keep) => {
    expect((await database.warehouse.pool.query(endOfRenewal)).rowCount).toBe(1);
    await keep('second');
  });
  expect(await vault().alone('ads', async (kept) => kept)).toBe('second');
});

test('a token that never worked gives way to the one before it', async () => {
  expect((await tidemark('check', { env: environment('a') })).code).toBe(0);
  const worked = platform.tokens.refresh;
  expect((await tidemark('check', { env: environment('a') })).code).toBe(0);
  // The platform took its last answer back.
  platform.tokens.refresh = worked;
  expect((await tidemark('check', { env: environment('b') })).code).toBe(0);
  expect(platform.log.filter(({ status }) => status === 400)).toHaveLength(1);
});

test('a text sealed for one pipeline does not open as that of another', async () => {
  await vault().alone('ads', (_, keep) => keep('first'));
  await database.warehouse.pool.query(
    `insert into ops.kept_secrets (name, sealed) select 'other', sealed from ops.kept_secrets`,
  );
  await expect(vault().alone('other', async (kept) => kept)).rejects.toBeInstanceOf(Misconfigured);
});

test('no reader sees what is kept', async () => {
  const name = `${database.name}_reader`;
  const { url } = await grantReader(database.warehouse, name, { pii: true });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await expect(client.query('select sealed from ops.kept_secrets')).rejects.toMatchObject({ code: '42501' });
  await client.end();
  await asOwner(async (admin) => {
    await admin.query(`drop owned by ${name}`);
    await admin.query(`drop role ${name}`);
  }, database.name);
});

test('without a key the folder holds the token, and another machine is not let in', async () => {
  const bare = { TIDEMARK_SECRET_KEY: '' };
  expect((await tidemark('check', { env: environment('e', bare) })).code).toBe(0);
  const { code, err } = await tidemark('check', { env: environment('f', bare) });
  expect(code).toBe(4);
  expect(err).toMatch(/TIDEMARK_SECRET_KEY: is not set.*kept on this machine alone/);
  expect(fs.existsSync(path.join(nowhere, 'e', 'ads-token.json'))).toBe(true);
});
