import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { hidden, verbs } from '../../../src/cli/program.ts';
import { until } from '../../support/processes.ts';
import { launcher, nowhere, tidemark } from './command.ts';

const bin = path.join(nowhere, 'completion-bin');
beforeAll(() => {
  fs.mkdirSync(bin, { recursive: true });
  const text = `#!/bin/sh\nexec '${process.execPath}' '${launcher}' "$@"\n`;
  fs.writeFileSync(path.join(bin, 'tidemark'), text, { mode: 0o755 });
});

/** What may replace the last of these words. */
const completed = async (...words: readonly string[]): Promise<readonly string[]> => {
  const line = ['tidemark', ...words].join(' ');
  const env = { COMP_LINE: `${line} and behind the cursor`, COMP_POINT: String(line.length) };
  const { code, out } = await tidemark('complete -- tidemark now before', { env });
  expect(code).toBe(0);
  return out.split('\n').filter(Boolean);
};

test('commands, commands of a group, options, their choices and pipelines are completed', async () => {
  const names = new Set(
    verbs.map(({ call }) => call.split(' ')[0] ?? '').filter((name) => !hidden.includes(name)),
  );
  expect(new Set(await completed(''))).toEqual(names);
  expect(await completed('re')).toEqual(['reconcile', 'rejects', 'reset', 'remote']);
  expect(await completed('rejects', '')).toEqual(['list', 'replay']);
  expect(await completed('export', '--fo')).toEqual(['--format']);
  expect(await completed('export', '--format', '')).toEqual(['parquet', 'csv']);
  expect(await completed('sync', '--j')).toEqual(['--jobs', '--json']);
  expect(await completed('sync', '--full', '')).toEqual(['tracker', 'ads', 'workflow']);
  expect(await completed('compare', 'tr')).toEqual(['tracker']);
  expect(await completed('runs', '--pipeline', 'w')).toEqual(['workflow']);
  expect(await completed('remote', 'start', 't')).toEqual(['tracker']);
  expect(await completed('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  expect(await completed('export', '--to', '')).toEqual([]);
});

test('where the configuration has a problem, no pipeline is offered, and nothing else is printed', async () => {
  const env = { TIDEMARK_PORT: 'x', COMP_LINE: 'tidemark sync t' };
  const { code, out, err } = await tidemark('complete', { env });
  expect({ code, out, err }).toEqual({ code: 0, out: '', err: '' });
});

test('a shell that is not known is refused with those that are', async () => {
  const { code, err } = await tidemark('completion tcsh');
  expect(code).toBe(2);
  expect(err).toContain('bash, zsh, fish');
});

const isInstalled = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;
const around = () => ({
  cwd: nowhere,
  env: { PATH: `${bin}:${process.env.PATH}`, HOME: nowhere, TERM: 'xterm' },
});

/** Shells at a terminal, with the lines that are typed first. */
const interactive = {
  bash: ['bash --norc --noprofile -i', 'source <(tidemark completion bash)'],
  zsh: ['zsh -f -i', 'autoload -Uz compinit && compinit -u -D && source <(tidemark completion zsh)'],
} as const;

for (const [shell, [command, first]] of Object.entries(interactive)) {
  const isThere = isInstalled(shell) && isInstalled('script');
  if (!isThere)
    console.warn(`SKIPPED: ${shell} or script(1) is not installed, so its completion is not tested`);
  test.skipIf(!isThere)(`${shell} completes at the Tab key`, async () => {
    const child = spawn('script', ['-qec', command, '/dev/null'], around());
    let seen = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the shell moves the cursor
      seen = (seen + text).replace(/\x1b\[[\d;?]*[A-Za-z]|\x07|[^\n]\x08/g, '');
    });
    const typed = async (keys: string, wanted: string) => {
      seen = '';
      child.stdin.write(keys);
      await until(`${wanted} after ${JSON.stringify(keys)}`, () => seen.includes(wanted));
      // Ctrl-U empties the line. Ctrl-C would also drop what is typed after it.
      child.stdin.write('\x15');
    };
    await typed(`${first}; echo 're''ady'\n`, 'ready');
    await typed('tidemark rec\t', 'tidemark reconcile');
    await typed('tidemark sync --full tr\t', 'tidemark sync --full tracker');
    await typed('tidemark export --form\t', 'tidemark export --format');
    child.stdin.write('exit\n');
    await once(child, 'close');
  });
}

if (!isInstalled('fish')) console.warn('SKIPPED: fish is not installed, so its completion is not tested');
test.skipIf(!isInstalled('fish'))('fish completes by the script that is made for it', async () => {
  const lines = ['tidemark rec', 'tidemark rejects ', 'tidemark sync --full tr'];
  const ask = ['tidemark completion fish | source', ...lines.map((line) => `complete -C '${line}'`)].join(
    '; ',
  );
  const { stdout } = await promisify(execFile)('fish', ['-c', ask], around());
  expect(stdout.trim().split('\n')).toEqual(['reconcile', 'list', 'replay', 'tracker']);
});
