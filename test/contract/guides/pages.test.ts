import { globSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCompany } from '../../../simulators/demo/company.ts';
import { openSink } from '../../../src/cli/context.ts';
import { program } from '../../../src/cli/program.ts';
import { guideShell } from '../../support/guide-shell.ts';
import { type Block, blocksOf, statementsOf, textOf } from '../../support/pages.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const pages = globSync(['*.md', 'docs/**/*.md', 'dbt/**/*.md', 'examples/**/*.md', 'test/README.md'], {
  cwd: root,
  exclude: ['**/node_modules/**'],
}).sort();

let database: TestDatabase;
let company: Awaited<ReturnType<typeof startCompany>>;
beforeAll(async () => {
  database = await testDatabase();
  company = await startCompany(7, 150);
});
afterAll(async () => {
  await company.close();
  await database.drop();
});

/** A command in a page, from `tidemark` on. */
interface Named {
  readonly page: string;
  readonly words: readonly string[];
}

/** The words of a command, as a shell takes them; what follows it (a comment, a pipe, another command) is left out. */
function wordsOf(command: string): readonly string[] {
  const words = command.match(/'[^']*'|"[^"]*"|&&|[|;#>]|[^\s'"|;#>&]+(?:'[^']*'|"[^"]*")?/g) ?? [];
  const end = words.findIndex((word) => /^(&&|[|;#>])$/.test(word));
  return (end < 0 ? words : words.slice(0, end)).map((word) => word.replaceAll(/['"]/g, ''));
}

/** Where a command begins: a line, behind variables that are set for it, or behind `&&`. */
const spelled = /(?:^|&& )\s*(?:\w+=\S* )*(?:npx tidemark|\S*src\/tidemark\.js|tidemark)(?= |$)([^\n`]*)/g;

/** The commands of a page: in its blocks of code, and in its sentences. */
function commandsOf(page: string): readonly Named[] {
  const inBlocks = blocksOf(page, 'sh', 'bash', 'cron').flatMap(({ text }) => text.split('\n'));
  const inSentences = textOf(page)
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .matchAll(/`([^`\n]+)`/g);
  const lines = [...inBlocks, ...Array.from(inSentences, ([, code = '']) => code)];
  return lines.flatMap((line) =>
    [...line.matchAll(spelled)].flatMap(([, rest = '']) => {
      const words = wordsOf(rest.trim());
      return words.length === 0 || words[0] === '…' ? [] : [{ page, words }];
    }),
  );
}

const silent = { ...openSink(process.stdout, { env: {}, noColor: true }), write: () => undefined };

/** Whether the command line understands these words; else what it says. `PIPELINE`, `ID` and `…` stand for what a reader fills in. */
async function problemWith(words: readonly string[]): Promise<string | undefined> {
  const command = program('0', silent, silent, async () => undefined);
  try {
    await command.parseAsync(words, { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof Error && 'exitCode' in error && error.exitCode === 0) return undefined;
    return String(error);
  }
}

test('the command line understands every command that a page names', async () => {
  const commands = pages.flatMap(commandsOf);
  expect(commands.length).toBeGreaterThan(120);
  expect(await problemWith(['sync', '--ful'])).toMatch(/unknown option/);
  const wrong: string[] = [];
  for (const { page, words } of commands) {
    const problem = await problemWith(words);
    // A sentence may name a command without what must follow it.
    if (problem !== undefined && !/missing required argument|required option/.test(problem))
      wrong.push(`${page}: tidemark ${words.join(' ')}: ${problem}`);
  }
  expect(wrong).toEqual([]);
});

/** Pages whose commands run here, one after the other, against the demo's company. Those of the other pages are run where the table says. */
const walked = [
  'docs/guides/backfills.md',
  'docs/guides/deletions.md',
  'docs/guides/jira-numbers.md',
  'docs/guides/reading.md',
];

/** Commands that end with another code than 0 here. */
const endings: Readonly<Record<string, number>> = {
  // The company has no reject, and none with this number.
  'npx tidemark rejects replay 17': 2,
};

/** Blocks of commands that do not run here: they change the machine, need a service, or run until they are stopped. Each is run by what is named. */
const elsewhere: Readonly<Record<string, string>> = {
  'CONTRIBUTING.md': '.ci/run',
  'README.md': '.ci/newcomer.js, and .ci/run for the tests',
  'docs/architecture.md': 'developers',
  'docs/bi/dbt.md': '.ci/clients',
  'docs/bi/duckdb.md': 'test/unit/bi/export.test.ts',
  'docs/bi/readers.md': 'test/unit/bi/grant-reader.test.ts and test/unit/bi/export.test.ts',
  'docs/connectors.md': '.ci/package',
  'docs/guides/backup.md': 'test/contract/guides/backup.test.ts',
  'docs/guides/dagu.md': 'test/unit/cli/init.test.ts',
  'docs/guides/deploy.md': '.ci/deploy and test/deploy',
  'docs/guides/jira-data-center.md': 'settings, not commands',
  'docs/guides/postgres.md': 'test/unit/cli/commands.test.ts',
  'docs/guides/serve.md': 'test/unit/server/api/serve.test.ts',
  'docs/guides/spotify-ads.md': 'the vendor',
  'docs/guides/traces.md': '.ci/package',
  'docs/operations.md': 'test/unit/cli/init.test.ts',
  'docs/performance.md': 'bench/main.ts',
  'docs/scaling.md': 'bench/main.ts',
};

test('each page with commands is run by a test, or says by what', () => {
  const found = pages.filter((page) => blocksOf(page, 'sh', 'bash').length > 0);
  expect(found.filter((page) => !walked.includes(page) && !Object.hasOwn(elsewhere, page))).toEqual([]);
});

test('the commands of the guides run as they are written', async () => {
  const shell = guideShell({ ...company.environment, DATABASE_URL: database.url });
  await shell.run('npx tidemark sync --quiet');
  const lines = walked.flatMap((page) => blocksOf(page, 'sh').flatMap(({ text }) => text.split('\n')));
  const commands = lines.map((line) => line.replace(/ +#.*$/, '')).filter((line) => line !== '');
  expect(commands.length).toBeGreaterThan(6);
  for (const command of commands) await shell.run(command, endings[command] ?? 0);
  // Each is a process of its own, ten times as slow on a machine that is busy.
}, 900_000);

/** Statements of pages that are no questions: a test of their own runs each. */
const changes = /^\s*(create role|create database|grant|alter|insert|delete|-- DuckDB)/m;

describe('the questions of the pages', () => {
  let client: pg.PoolClient;
  beforeAll(async () => {
    client = await database.warehouse.pool.connect();
  });
  afterAll(() => client.release(true));

  const questions = (block: Block): boolean => !changes.test(block.text);
  const asking = pages.filter((page) => blocksOf(page, 'sql').some(questions));

  test.each(asking)('%s', async (page) => {
    const failed: string[] = [];
    for (const block of blocksOf(page, 'sql').filter(questions))
      for (const statement of statementsOf(block)) {
        // A setting (freshness) is tried and taken back.
        await client.query('begin');
        await client.query(statement).catch((error: unknown) => failed.push(`${statement}\n${error}`));
        await client.query('rollback');
      }
    expect(failed).toEqual([]);
  });
});
