import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run, until } from '../../support/processes.ts';

/** A project that consists of the launcher, a main.ts of ours, and a "pinned Node" that is this one. */
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-launcher-'));
const launcher = path.join(root, 'src', 'tidemark.js');
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

beforeAll(() => {
  fs.mkdirSync(path.join(root, 'src'), { recursive: true });
  fs.writeFileSync(path.join(root, 'package.json'), '{ "type": "module" }');
  fs.copyFileSync(new URL('../../../src/tidemark.js', import.meta.url), launcher);
  const main = `export function main() {
    const words: readonly string[] = process.argv.slice(2);
    process.on('SIGTERM', () => { console.log('got SIGTERM'); if (words[0] === 'mind') process.exit(143); });
    if (words[0] === 'exit') process.exitCode = Number(words[1]);
    else if (words[0] === 'die') process.kill(process.pid, 'SIGKILL');
    else setInterval(() => undefined, 1000);
    console.log(JSON.stringify({ pid: process.pid, words }));
  }`;
  fs.writeFileSync(path.join(root, 'src', 'main.ts'), main);
});

/** The launcher believes that it runs on this version. */
function old(version: string, ...words: string[]) {
  const preload = path.join(root, `old-${version}.cjs`);
  const lie = `if (!process.env.TIDEMARK_SHADOW) {
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });
    Object.defineProperty(process, 'version', { value: 'v${version}' });
  }`;
  fs.writeFileSync(preload, lie);
  return run(launcher, words, { env: { ...process.env, NODE_OPTIONS: `--require=${preload}` } });
}

function pin(): void {
  const bin = path.join(root, 'node_modules', '.bin');
  fs.mkdirSync(bin, { recursive: true });
  if (!fs.existsSync(path.join(bin, 'node'))) fs.symlinkSync(process.execPath, path.join(bin, 'node'));
}

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !fs.readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
};

test('on an old Node without the pinned one it says what to do and exits 2', async () => {
  const program = old('20.20.2', 'sync');
  expect(await program.ended()).toBe(2);
  expect(program.said()).toContain('v20.20.2');
  expect(program.said()).toContain('npm ci');
  expect(program.said()).toContain('https://nodejs.org');
});

test('on a new Node it runs main.ts itself, and passes arguments and exit code', async () => {
  const program = run(launcher, ['exit', '5']);
  expect(JSON.parse(await program.line())).toEqual({ pid: program.pid, words: ['exit', '5'] });
  expect(await program.ended()).toBe(5);
});

test('on an old Node the pinned one takes over: arguments, signals, exit code and way of ending pass', async () => {
  pin();
  const minded = old('20.20.2', 'mind', 'two words');
  const reported = JSON.parse(await minded.line());
  expect(reported.words).toEqual(['mind', 'two words']);
  expect(reported.pid).not.toBe(minded.pid);
  minded.child.kill('SIGTERM');
  expect(await minded.line()).toBe('got SIGTERM');
  expect(await minded.ended()).toBe(143);

  expect(await old('20.20.2', 'die').ended()).toBe('SIGKILL');
});

test.runIf(process.platform === 'linux')('kill -9 of the one ends the other', async () => {
  pin();
  const program = old('20.20.2', 'wait');
  const { pid } = JSON.parse(await program.line());
  expect(alive(pid)).toBe(true);
  await program.kill();
  await until('the pinned one is gone', () => !alive(pid));
});
