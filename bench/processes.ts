import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const root = path.resolve(import.meta.dirname, '..');

/** What a finished child process cost. */
export interface Cost {
  /** Wall time, seconds. */
  readonly seconds: number;
  /** Peak resident memory, MB (`VmHWM`). */
  readonly peakMb: number;
  /** User and system time, seconds. */
  readonly cpu: number;
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const ticksPerSecond = 100;

/** Peak memory and CPU time of a living process, from /proc; zeros elsewhere. */
export function look(pid: number): { readonly peakMb: number; readonly cpu: number } {
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    const peak = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
    return { peakMb: peak, cpu: (Number(stat[11]) + Number(stat[12])) / ticksPerSecond };
  } catch {
    return { peakMb: 0, cpu: 0 };
  }
}

/** The fields of a process in /proc from its state on; [1] is the parent, [11] to [14] are ticks: own and of children that ended. */
const fieldsOf = (pid: string): readonly string[] => {
  try {
    return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  } catch {
    // It has ended since it was listed.
    return [];
  }
};

/** User and system time of a process, its children and those of them that have ended, seconds: of a Postgres server by its postmaster. */
export function cpuOfTree(pid: number): number {
  const ticks = (fields: readonly string[], count: number): number =>
    fields.slice(11, 11 + count).reduce((sum, field) => sum + Number(field), 0);
  const children = fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(fieldsOf)
    .filter(([, parent]) => parent === String(pid));
  const own = ticks(fieldsOf(String(pid)), 4);
  return children.reduce((sum, fields) => sum + ticks(fields, 2), own) / ticksPerSecond;
}

/** Runs a program of a checkout (default: this one) to its end and measures it. */
export function measure(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string = root,
): Promise<Cost> {
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out: string[] = [];
  const err: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk.toString()));
  let seen = { peakMb: 0, cpu: 0 };
  const timer = setInterval(() => {
    const now = look(child.pid ?? 0);
    if (now.peakMb > 0) seen = now;
  }, 20);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(timer);
      resolve({
        seconds: (performance.now() - started) / 1000,
        ...seen,
        code,
        out: out.join(''),
        err: err.join(''),
      });
    });
  });
}

/** A helper process that prints one JSON line when it is ready and runs until it is stopped. */
export interface Service<T> {
  readonly ready: T;
  readonly pid: number;
  /** Sends a line of JSON and gives the line it answers with. */
  ask(message: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

export async function service<T>(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Service<T>> {
  const child: ChildProcess = spawn(process.execPath, [path.join(root, file), ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (child.stdout === null || child.stdin === null) throw new Error('a service needs its pipes');
  const { stdin } = child;
  // A line that nobody waits for is dropped. If it stayed, the pipe would fill and the service could not end.
  const lines = readline.createInterface({ input: child.stdout });
  const next = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error(`${file} ended`));
      if (child.exitCode !== null) ended();
      lines.once('close', ended);
      lines.once('line', (line) => {
        lines.off('close', ended);
        resolve(JSON.parse(line));
      });
    });
  return {
    ready: (await next()) as T,
    pid: child.pid ?? 0,
    ask(message) {
      const answer = next();
      stdin.write(`${JSON.stringify(message)}\n`);
      return answer;
    },
    async stop() {
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('exit', resolve));
    },
  };
}
