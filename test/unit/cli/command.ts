import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { main } from '../../../src/main.ts';

/** The command as people start it. */
export const launcher = fileURLToPath(new URL('../../../src/tidemark.js', import.meta.url));

export interface Ended {
  readonly code: number | NodeJS.Signals;
  readonly out: string;
  readonly err: string;
}

export interface Command {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** What it has written until now. */
  readonly out: () => string;
  readonly err: () => string;
  kill(signal: NodeJS.Signals): void;
}

/** A directory without `.env`; commands are run in it. The end of the test run removes it. */
export const nowhere = fs.mkdtempSync(path.join(path.dirname(inject('postgres').keep), 'cli-'));

export interface Around {
  readonly env?: NodeJS.ProcessEnv;
  /** Where it is run. Default: `nowhere`. */
  readonly cwd?: string;
  /** What the user types, at a terminal. Default: there is none. */
  readonly stdin?: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Options of Node itself. */
  readonly node?: readonly string[];
}

/** An environment that holds nothing but `env` and what every program needs. */
const around = (env: Around['env']): NodeJS.ProcessEnv => {
  const { PATH = '', HOME = nowhere } = process.env;
  return { PATH, HOME, TIDEMARK_HOME: path.join(nowhere, 'home'), ...env };
};

/** Keeps what two streams carry. */
function listen(stdout: NodeJS.ReadableStream, stderr: NodeJS.ReadableStream) {
  const text = { out: '', err: '' };
  stdout.setEncoding('utf8').on('data', (more: string) => {
    text.out += more;
  });
  stderr.setEncoding('utf8').on('data', (more: string) => {
    text.err += more;
  });
  return { text, out: () => text.out, err: () => text.err };
}

/** Starts `tidemark <words>` as a process of its own. */
export function start(words: readonly string[], { env, node = [] }: Around = {}): Command {
  const child = spawn(process.execPath, [...node, launcher, ...words], {
    cwd: nowhere,
    env: around(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { text, ...written } = listen(child.stdout, child.stderr);
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code: code ?? signal, ...text }));
  return { pid: child.pid ?? 0, ended, ...written, kill: (signal) => void child.kill(signal) };
}

/** Runs it in this process, which saves the second that a process takes to start; signals are events. */
export function begin(
  words: readonly string[],
  { env, cwd = nowhere, stdin = new PassThrough() }: Around = {},
): Command {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const { text, ...written } = listen(stdout, stderr);
  const events = new EventEmitter();
  const forced = new Promise<number>((exit) => {
    Object.assign(events, { exit, stdin, stdout, stderr, argv: ['node', launcher, ...words] });
  });
  const host = Object.assign(events, { env: around(env), cwd: () => cwd, exitCode: 0 });
  const code = Promise.race([forced, main(host as unknown as NodeJS.Process).then(() => host.exitCode)]);
  const ended = code.then((code) => ({ code, ...text }));
  return { pid: process.pid, ended, ...written, kill: (signal) => void host.emit(signal, signal) };
}

/** Runs `tidemark <words>` in this process to its end. */
export const tidemark = (words: string, around: Around = {}): Promise<Ended> =>
  begin(words === '' ? [] : words.split(' '), around).ended;
