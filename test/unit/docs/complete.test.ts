import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { openSink } from '../../../src/cli/context.ts';
import { exit } from '../../../src/cli/exit.ts';
import { hidden, program } from '../../../src/cli/program.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const read = (file: string): string => fs.readFileSync(path.join(root, file), 'utf8');
/** All Markdown of the repository. */
const pages = fs
  .globSync('**/*.md', { cwd: root, exclude: ['**/node_modules/**', 'dist/**', 'site/**'] })
  .map((name) => name.replaceAll('\\', '/'))
  .sort();

test('README and operations name every exit code', () => {
  for (const page of ['README.md', 'docs/operations.md']) {
    const rows = read(page)
      .split('\n')
      .filter((line) => /^\| \d/.test(line))
      .join('\n');
    expect(Object.values(exit).filter((code) => !new RegExp(`\\b${code}\\b`).test(rows))).toEqual([]);
  }
});

test('README names every command that people type', () => {
  const sink = openSink(process.stdout, { env: {}, noColor: true });
  const verbs = program('0', sink, sink, async () => undefined).commands.map((command) => command.name());
  const text = read('README.md');
  expect(verbs.length).toBeGreaterThan(10);
  expect(verbs.filter((name) => !hidden.includes(name) && !text.includes(`\`${name}`))).toEqual([]);
});

/** Headings as the pages that show Markdown name them. */
const anchors = (text: string): readonly string[] =>
  [...text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('every link inside the docs leads somewhere', () => {
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
      ([, to = '', anchor]) => {
        const target = to === '' ? page : path.join(path.dirname(page), to);
        if (!fs.existsSync(path.join(root, target))) return [`${page}: ${to}`];
        const found = anchor === undefined || anchors(read(target)).includes(anchor);
        return found ? [] : [`${page}: ${to}#${anchor}`];
      },
    ),
  );
  expect(dead).toEqual([]);
});

test('every file that the docs name exists', () => {
  const missing = pages.flatMap((page) =>
    [...read(page).matchAll(/`((?:src|test|simulators|bench|docs|pipelines)\/[\w./-]+)`/g)].flatMap(
      ([, file = '']) => (fs.existsSync(path.join(root, file)) ? [] : [`${page}: ${file}`]),
    ),
  );
  expect(missing).toEqual([]);
});
