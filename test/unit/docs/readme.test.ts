import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { figuresText, withFigures } from '../../../docs/figures.ts';
import { questions } from '../../../simulators/demo/questions.ts';
import { testDatabase } from '../../support/postgres.ts';

const page = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
const performance = readFileSync(new URL('../../../docs/performance.md', import.meta.url), 'utf8');

test('the figures of README are those of the last bench', () => {
  expect(page).toContain(figuresText(performance));
  expect(withFigures(page, performance)).toBe(page);
  const ratio = performance.replace(/(same rows \|) [\d.]+ \|/, '$1 0.123 |');
  expect(figuresText(ratio)).toContain('0.123 of the speed');
  expect(() => figuresText('# Performance')).toThrow(/has nothing like/);
});

test("the questions of README are the demo's, and their answers are shown with the right columns", async () => {
  const asked = [...page.matchAll(/```sql\n([\s\S]*?)\n```\n+```text\n(.*)\n/g)];
  expect(asked).toHaveLength(page.split('```sql').length - 1);
  expect(asked.length).toBeGreaterThan(0);
  const database = await testDatabase();
  for (const [, question = '', titles = ''] of asked) {
    expect(questions.map(({ sql }) => sql)).toContain(question);
    const { fields } = await database.warehouse.pool.query(question);
    expect(titles.split('|').map((title) => title.trim())).toEqual(fields.map(({ name }) => name));
  }
  await database.drop();
});
