import { globSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { textOf } from '../../support/pages.ts';

const page = 'docs/guides/troubleshooting.md';
const root = path.resolve(import.meta.dirname, '../../..');

/** All of the code, with texts that are written in several pieces put together. */
const code = globSync('src/**/*.ts', { cwd: root })
  .map(textOf)
  .join('\n')
  .replaceAll(/(['"`])\s*\+\s*(['"`])/g, '')
  .replaceAll("\\'", "'");

/** What a program writes, between what it fills in. */
const pieces = (message: string): readonly string[] =>
  message
    .split('…')
    .map((piece) => piece.trim())
    .filter((piece) => piece.length > 3);

/** The first cell of each row below a heading that begins with `message`. */
function messages(): readonly string[] {
  const found: string[] = [];
  let inside = false;
  for (const line of textOf(page).split('\n')) {
    if (line.startsWith('| message |')) inside = true;
    else if (!line.startsWith('|')) inside = false;
    else if (inside && !line.startsWith('|---')) found.push(/^\| `([^|]+)` \|/.exec(line)?.[1] ?? line);
  }
  return found;
}

test('each message of the page is one of the program', () => {
  expect(messages().length).toBeGreaterThan(50);
  const unknown = messages().filter((message) => {
    const found = pieces(message);
    return found.length === 0 || found.some((piece) => !code.includes(piece));
  });
  expect(unknown).toEqual([]);
});

test('each row says what it means and what to do', () => {
  const rows = textOf(page)
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const short = rows.filter((row) => {
    const [, , , act] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    return act === undefined || act === '';
  });
  expect(short).toEqual([]);
});

test('a message is on the page once', () => {
  const all = messages();
  expect(all.filter((message, at) => all.indexOf(message) !== at)).toEqual([]);
});
