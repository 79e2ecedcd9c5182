import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';

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
  readonly env?: Readonly<Record<string, string>>;
  /** Options of Node itself. */
  readonly node?: readonly string[];
}

/** Starts `tidemark <words>` in an environment that holds nothing but `env` and what every program needs. */
export function start(words: readonly string[], { env = {}, node = [] }: Around = {}): Command {
  const { PATH = '', HOME = nowhere } = process.env;
  const child = spawn(process.execPath, [...node, launcher, ...words], {
    cwd: nowhere,
    env: { PATH, HOME, TIDEMARK_HOME: path.join(nowhere, 'home'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code: code ?? signal, out, err }));
  return {
    pid: child.pid ?? 0,
    ended,
    out: () => out,
    err: () => err,
    kill: (signal) => void child.kill(signal),
  };
}

/** Runs it to its end. */
export const tidemark = (words: string, around: Around = {}): Promise<Ended> =>
  start(words === '' ? [] : words.split(' '), around).ended;
