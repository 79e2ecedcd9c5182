import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { testDatabase } from '../../support/postgres.ts';

const page = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');

test('the questions of README can be asked', async () => {
  const questions = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  expect(questions.length).toBeGreaterThan(0);
  const database = await testDatabase();
  for (const question of questions) await database.warehouse.pool.query(question);
  await database.drop();
});
