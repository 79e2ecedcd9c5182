import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { typeOf } from '../../../docs/bi/row-types.ts';
import { testDatabase } from '../../support/postgres.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const modules = path.join(root, 'node_modules');
const page = fs.readFileSync(path.join(root, 'docs/bi/readers.md'), 'utf8');
const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];

/** A folder of a program that has Tidemark and its libraries installed. */
function programFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-program-'));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.mkdirSync(path.join(folder, 'node_modules'));
  for (const name of ['@types', 'kysely', 'pg', 'undici-types'])
    fs.symlinkSync(path.join(modules, name), path.join(folder, 'node_modules', name));
  fs.symlinkSync(root, path.join(folder, 'node_modules/tidemark'));
  return folder;
}

/** What `tsc` says about a program that imports the types as a user does. */
function compile(folder: string, text: string): string {
  fs.writeFileSync(path.join(folder, 'program.mts'), text);
  const tsc = path.join(modules, 'typescript/bin/tsc');
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--types', 'node', 'program.mts'];
  try {
    execFileSync(process.execPath, [tsc, ...flags], { cwd: folder, encoding: 'utf8' });
    return '';
  } catch (error) {
    return String(error && typeof error === 'object' && 'stdout' in error ? error.stdout : error);
  }
}

test('the example for programs in TypeScript compiles and runs', async () => {
  const folder = programFolder();
  expect(compile(folder, example)).toBe('');
  const { warehouse, url, drop } = await testDatabase();
  onTestFinished(drop);
  await warehouse.pool.query(`
    insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://127.0.0.1');
    insert into tracker.issues (source_id, id, key, project_id, status_id, due_date, created_at, updated_at)
    select source_id, 1, 'OPS-1', 1, 1, '2024-01-31', '2024-01-01', '2024-01-01' from ops.sources`);
  const env = { ...process.env, DATABASE_URL: url, TZ: 'America/New_York' };
  const said = execFileSync(process.execPath, ['program.mts'], { cwd: folder, env, encoding: 'utf8' });
  expect(said).toBe('OPS-1 was due on 2024-01-31\n');
});

test('a wrong column and a wrong type do not compile', () => {
  const folder = programFolder();
  const days = `export const days: readonly number[] = late.map(({ due_date }) => due_date);`;
  const said = compile(folder, `${example.replace('is_overdue', 'is_over')}${days}\n`);
  expect(said).toMatch(/'"is_over"' is not assignable/);
  expect(said).toMatch(/'string \| null' is not assignable to type 'number'/);
});

test('each type is what a connection of the warehouse gives', async () => {
  const { warehouse, drop } = await testDatabase();
  onTestFinished(drop);
  const kindOf = (value: unknown): string => {
    if (Buffer.isBuffer(value)) return 'Buffer';
    return value instanceof Date ? 'Date' : typeof value;
  };
  const samples: Readonly<Record<string, string>> = {
    boolean: 'true',
    bytea: '\\x00',
    date: '2024-01-31',
    interval: '1 day',
    json: '{}',
    jsonb: '{}',
    'time without time zone': '12:00',
    'timestamp with time zone': '2024-01-31 12:00Z',
    tstzmultirange: '{}',
    uuid: '00000000-0000-0000-0000-000000000000',
  };
  for (const [type, typed] of Object.entries(typeOf)) {
    const { rows } = await warehouse.pool.query(`select '${samples[type] ?? 1}'::${type} as value`);
    expect([type, kindOf(rows[0].value)]).toEqual([type, typed === 'unknown' ? 'object' : typed]);
  }
  const { rows } = await warehouse.pool.query(`select '{a}'::text[] as texts, '{1}'::int[] as numbers,
    array[now()] as instants`);
  expect(Object.values(rows[0]).map((value) => Array.isArray(value) && kindOf(value[0]))).toEqual([
    'string',
    'number',
    'Date',
  ]);
});
