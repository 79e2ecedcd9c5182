import fs from 'node:fs';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { recipes } from '../../../../docs/bi/cookbook.ts';
import { fillDemoWarehouse } from '../../../support/demo-warehouse.ts';
import { type TestDatabase, testDatabase } from '../../../support/postgres.ts';
import { advertising } from './advertising.ts';
import { flow } from './flow.ts';
import { operations } from './operations.ts';
import { sprints } from './sprints.ts';
import type { Rows, Truths } from './truth.ts';
import { readWorld, type World } from './world.ts';

const truths: Truths = { ...flow, ...sprints, ...advertising, ...operations };

let database: TestDatabase;
/** One transaction for all questions, so that now() is the same moment for both answers. */
let client: pg.PoolClient;
let world: World;

beforeAll(async () => {
  database = await testDatabase();
  await fillDemoWarehouse(database.warehouse, 400);
  client = await database.warehouse.pool.connect();
  await client.query('begin isolation level repeatable read');
  await client.query(fs.readFileSync(new URL('company.sql', import.meta.url), 'utf8'));
  world = await readWorld(client);
  await client.query('savepoint questions');
}, 120_000);
// A question that fails must not fail the others.
afterEach(async () => void (await client.query('rollback to savepoint questions')));
afterAll(async () => {
  client.release(true);
  await database.drop();
});

test('every question has an answer by other means', () => {
  expect(Object.keys(truths).sort()).toEqual(recipes.map(({ title }) => title).sort());
});

test.each(recipes)('$title', async ({ title, sql }) => {
  const truth = truths[title] ?? 'select null where false';
  const answer = texts(await rowsOf(sql));
  const expected = texts(typeof truth === 'string' ? await rowsOf(truth) : truth(world));
  expect(answer.length).toBeGreaterThan(0);
  const rounded = roundedColumns(answer);
  const [ours, theirs] = [answer, expected].map((rows) => rows.toSorted(byOthersThan(rounded)));
  expect(theirs?.map((row, n) => row.map((cell, column) => like(ours?.[n]?.[column], cell)))).toEqual(ours);
});

/** Values as Postgres writes them. */
async function rowsOf(text: string): Promise<Rows> {
  const types = { getTypeParser: () => (value: string) => value };
  return (await client.query({ text, rowMode: 'array', types })).rows;
}

type Texts = readonly (readonly string[])[];

const texts = (rows: Rows): Texts => rows.map((row) => row.map((value) => String(value ?? '') || 'none'));

const decimals = /^-?\d+\.(\d+)$/;

/** Columns with decimals: their values are rounded, and may differ by one in the last place. */
const roundedColumns = (rows: Texts): ReadonlySet<number> =>
  new Set(rows.flatMap((row) => row.flatMap((cell, column) => (decimals.test(cell) ? [column] : []))));

const byOthersThan = (rounded: ReadonlySet<number>) => (a: readonly string[], b: readonly string[]) => {
  const [one, other] = [a, b].map((row) => row.filter((_, column) => !rounded.has(column)).join('\t'));
  return (one ?? '') < (other ?? '') ? -1 : 1;
};

/** What was answered, where the expected number differs from it by rounding alone; else what was expected. */
function like(answered: string | undefined, expected: string): string {
  const places = decimals.exec(answered ?? '')?.[1]?.length;
  if (answered === undefined || places === undefined) return expected;
  return Math.abs(Number(answered) - Number(expected)) <= 1.01 * 10 ** -places ? answered : expected;
}
