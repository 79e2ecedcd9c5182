import crypto from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner, type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { tidemark } from './command.ts';

let database: TestDatabase;
const reader = `reader_${crypto.randomBytes(6).toString('hex')}`;
const run = (words: string) => tidemark(words, { env: { DATABASE_URL: database.url } });

beforeAll(async () => {
  database = await testDatabase();
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
  expect(out).toContain('For everybody: revoke usage on schema public from public');
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
