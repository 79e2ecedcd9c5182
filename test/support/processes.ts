import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A program of ours that runs as a process of its own. */
export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The next line of standard output; throws with standard error if it ends before. */
  line(): Promise<string>;
  /** Writes a line to its standard input. */
  tell(line: string): void;
  /** Its exit code, or the signal that ended it. */
  ended(): Promise<number | NodeJS.Signals>;
  /** kill -9 and wait. */
  kill(): Promise<void>;
  /** All of standard error until now. */
  said(): string;
}

export interface RunOptions {
  readonly uid?: number;
  readonly gid?: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** The Node to run it with; default: this one. */
  readonly node?: string;
}

/** Runs `node <file> <args…>`. */
export function run(file: URL | string, args: readonly string[], options: RunOptions = {}): Running {
  const { node = process.execPath, env = process.env, ...rest } = options;
  const child = spawn(node, [file instanceof URL ? file.pathname : file, ...args], {
    stdio: 'pipe',
    // What was compiled is kept between starts.
    env: { NODE_COMPILE_CACHE: path.join(os.tmpdir(), 'tidemark-compiled'), ...env },
    ...rest,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    child,
    pid: child.pid ?? 0,
    tell: (line) => child.stdin.write(`${line}\n`),
    ended: () => ended,
    said: () => stderr,
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
    line: async () => {
      for (;;) {
        const end = stdout.indexOf('\n');
        if (end >= 0) {
          const line = stdout.slice(0, end);
          stdout = stdout.slice(end + 1);
          return line;
        }
        if (isOver()) {
          await ended;
          if (!stdout.includes('\n')) throw new Error(`${file} ended without a line: ${stderr}`);
        }
        await sleep(5);
      }
    },
  };
}

/** Polls until the condition holds, less often the longer it takes; fails after the deadline with what was waited for. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  within = 90_000,
): Promise<void> {
  const began = performance.now();
  while (!(await holds())) {
    const waited = performance.now() - began;
    if (waited > within) throw new Error(`${what}: not within ${within} ms`);
    await sleep(Math.min(10 + waited / 20, 100));
  }
}
