import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner, type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { nowhere, tidemark } from './command.ts';

let database: TestDatabase;
const reader = `reader_${crypto.randomBytes(6).toString('hex')}`;
const run = (words: string) => tidemark(words, { env: { DATABASE_URL: database.url } });

beforeAll(async () => {
  database = await testDatabase();
  expect(await run('migrate')).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await asOwner((client) => client.query(`drop owned by ${reader}; drop role ${reader}`), database.name);
  await database.drop();
});

test('grant-reader prints a connection string that works, and later keeps its password', async () => {
  const { code, out, err } = await run(`grant-reader ${reader}`);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const [url = ''] = out.split('\n');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('select * from issues');
  await client.end();
  expect(out).toContain('Done: revoke usage on schema public from public');
  const again = await run(`grant-reader ${reader} --json`);
  expect(JSON.parse(again.out)).toMatchObject({
    reader,
    hasPassword: false,
    isNew: false,
    done: [],
    left: [],
  });
  expect(await run('grant-reader pg_reader')).toMatchObject({ code: 2, out: '' });
});

test('export writes the named views and says what it wrote', async () => {
  const { code, out, err } = await run('export --to files --view calendar,issues --since 2024-01-01');
  expect({ code, err }).toEqual({ code: 0, err: 'writing calendar\nwriting issues\n' });
  expect(out).toMatch(/^calendar +10,957 +1 /m);
  expect(fs.readdirSync(path.join(nowhere, 'files')).sort()).toEqual(['calendar', 'issues', 'manifest.json']);
  const again = await run('export --to files --view issues --format csv --json');
  expect(JSON.parse(again.out)).toMatchObject({ format: 'csv', views: [{ name: 'issues', rows: 0 }] });
  expect(await run('export --to files --view nothing')).toMatchObject({ code: 2, out: '' });
  expect(await run('export --to .')).toMatchObject({ code: 2, out: '' });
});
