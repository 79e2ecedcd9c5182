/** What `check` finds out about the warehouse. */
import fs from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { pooler } from '../../support/pooler.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { tidemark } from './command.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

/** What `check` says of a warehouse. */
async function checked(env: Record<string, string>) {
  const { code, out } = await tidemark('check --json', { env });
  const { checks } = JSON.parse(out);
  return { code, ...checks.find(({ what }: { readonly what: string }) => what === 'warehouse') };
}

const behind = async (lends: Parameters<typeof pooler>[1]) => {
  const between = await pooler(database.url, lends);
  onTestFinished(() => between.close());
  return checked({ DATABASE_URL: between.url });
};

test.each(['the last one used', 'each in turn'] as const)(
  'a pooler that lends sessions for a transaction, %s, is refused with what to name instead',
  async (lends) => {
    const { code, error } = await behind(lends);
    expect(code).toBe(2);
    expect(error).toMatchObject({
      code: 'misconfigured',
      message: expect.stringMatching(/^127\.0\.0\.1:\d+\/.*pooler.*DATABASE_URL.*pool_mode = session/),
    });
  },
);

test('a pooler that lends sessions for as long as a client is there is good', async () => {
  expect(await behind('its own')).toMatchObject({ code: 0, state: 'ok', error: null });
});

test('free space is said of the embedded warehouse, and of no other', async () => {
  const { code, facts } = await checked({});
  expect(code).toBe(0);
  const [, gigabytes, data = ''] = /^([\d.]+) GB free for (.*)$/.exec(facts.at(-1)) ?? [];
  const { blocks, bsize } = fs.statfsSync(data);
  expect(Number(gigabytes)).toBeGreaterThan(0);
  expect(Number(gigabytes)).toBeLessThanOrEqual((blocks * bsize) / 1e9);
  const other = await checked({ DATABASE_URL: database.url });
  expect(other.facts.join()).not.toContain('free');
});
