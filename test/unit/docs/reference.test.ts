import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { referencePages } from '../../../docs/reference.ts';
import { exit } from '../../../src/cli/exit.ts';
import { hidden, verbs } from '../../../src/cli/program.ts';
import { shippedVariables } from '../../support/config.ts';

const written = await referencePages();
const textOf = (name: string): string => written.get(`reference/${name}.md`) ?? '';

test.each([...written])('docs/%s is what npm run docs writes', (name, text) => {
  const page = readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
  expect(page, `docs/${name} is stale: run npm run docs`).toBe(text);
});

test('the reference has every command with an example, variable with an explanation, and exit code', () => {
  const calls = verbs.filter(({ name }) => !hidden.includes(name)).map(({ call }) => call);
  const commands = textOf('cli');
  expect(
    calls.filter((call) => !commands.includes(`- Call: \`tidemark ${call}\`\n- Example: \`tidemark`)),
  ).toEqual(
    // Its example begins with a variable.
    ['serve'],
  );
  const variables = textOf('variables').split('\n');
  const bare = shippedVariables.filter(
    ({ name }) =>
      !variables.some((line) => line.startsWith(`| \`${name}\` |`) && /\| [^|]{4,} \|$/.test(line)),
  );
  expect(bare).toEqual([]);
  for (const number of Object.values(exit)) expect(textOf('exit-codes')).toContain(`| ${number} |`);
  expect(textOf('metrics')).toContain('`tidemark_stream_fresh`');
});
