/**
 * Situations that other people's connectors met: `test/cases/*.json`, each with the public report that it was
 * made after. The whole command reads a small Jira; exit code, words and rows are those that a user sees.
 */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type PlainJira, plainJira } from '../support/plain-jira.ts';
import { testDatabase } from '../support/postgres.ts';
import { environment } from '../support/tidemark.ts';
import { tidemark } from '../unit/cli/command.ts';

interface Step {
  /** The words of the command; `sync tracker` where there are none. */
  readonly command?: string;
  /** What the site is from this step on. */
  readonly site?: PlainJira;
  readonly expect: {
    readonly exit?: number | readonly number[];
    /** What the output must say. */
    readonly says?: readonly string[];
    /** What it must not say. */
    readonly silent?: readonly string[];
    /** Queries of the warehouse with their rows; without rows it need only be answered. */
    readonly sql?: readonly (readonly [query: string, rows?: readonly (readonly unknown[])[]])[];
  };
}

interface Case {
  readonly report: string;
  readonly situation: string;
  /** Members of recorded answers, with the public recording or document that shows each. For readers only. */
  readonly shapes?: Readonly<Record<string, string>>;
  readonly env?: NodeJS.ProcessEnv;
  readonly site?: PlainJira;
  readonly steps: readonly Step[];
}

const folder = path.resolve(import.meta.dirname, '../cases');
const files = fs.readdirSync(folder).filter((name) => name.endsWith('.json'));

/** Cases that are still wrong: remove the name with the change that mends it. */
const open = new Set<string>();

describe.each(files)('%s', (file) => {
  const {
    report,
    situation,
    env,
    site = {},
    steps,
  } = JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')) as Case;

  const run = open.has(file) ? test.fails : test;

  run(`${situation} (${report})`, async () => {
    const database = await testDatabase();
    onTestFinished(() => database.drop());
    for (const step of steps) {
      const jira = await plainJira({ ...site, ...step.site });
      const { exit = 0, says = [], silent = [], sql = [] } = step.expect;
      try {
        const login = { url: jira.url, email: 'ada@example.test', token: 'secret' };
        const around = { env: environment(login, database.url, env) };
        const { code, out, err } = await tidemark(step.command ?? 'sync tracker', around);
        const said = err + out;
        expect([exit].flat(), said).toContain(code);
        for (const words of says) expect(said).toContain(words);
        for (const words of silent) expect(said).not.toContain(words);
      } finally {
        await jira.close();
      }
      for (const [query, rows] of sql) {
        const found = await database.warehouse.pool.query<unknown[]>({ text: query, rowMode: 'array' });
        if (rows === undefined) expect(found.rows.length).toBeGreaterThan(0);
        else expect(found.rows, query).toEqual(rows);
      }
    }
  });
});
