/** The real engine, on loopback, with DAGs of ours and a home that goes with it. */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const binary = path.resolve(
  import.meta.dirname,
  '../../../../node_modules/@dagu-org/dagu-linux-x64/bin/dagu',
);

/** Whether the engine is installed here (an optional package for Linux on x64). */
export const hasEngine = fs.existsSync(binary);

export interface RealEngine {
  readonly url: string;
  readonly home: string;
  /** The JSON of a GET or POST below `/api/v2`; undefined for an empty body. */
  ask(route: string, body?: object): Promise<{ readonly status: number; readonly body: unknown }>;
  close(): Promise<void>;
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        address !== null && typeof address === 'object'
          ? resolve(address.port)
          : reject(new Error('no port')),
      );
    });
  });

/** Polls until `look` gives something; throws with `what` after 25 seconds. */
export async function until<T>(what: string, look: () => Promise<T | undefined>, ms = 25_000): Promise<T> {
  const deadline = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${ms} ms`);
    await sleep(50);
  }
}

/** How an engine is started. */
export interface EngineOptions {
  /** Basic authentication that it demands. */
  readonly login?: { readonly username: string; readonly password: string };
  /** The path before `/api`, e.g. `/dagu`. */
  readonly basePath?: string;
}

/** `files`: name without ending → YAML. */
export async function startEngine(
  files: Readonly<Record<string, string>>,
  { login, basePath = '' }: EngineOptions = {},
): Promise<RealEngine> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-engine-'));
  const dags = path.join(home, 'dags');
  fs.mkdirSync(dags);
  for (const [name, yaml] of Object.entries(files)) fs.writeFileSync(path.join(dags, `${name}.yaml`), yaml);
  const port = await freePort();
  const log = fs.openSync(path.join(home, 'engine.log'), 'w');
  const child: ChildProcess = spawn(binary, ['server', '--host', '127.0.0.1', '--port', String(port)], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      DAGU_HOME: home,
      DAGU_DAGS_DIR: dags,
      DAGU_TZ: 'UTC',
      ...(basePath && { DAGU_BASE_PATH: basePath }),
      ...(login && {
        DAGU_AUTH_BASIC_ENABLED: 'true',
        DAGU_AUTH_BASIC_USERNAME: login.username,
        DAGU_AUTH_BASIC_PASSWORD: login.password,
      }),
    },
    stdio: ['ignore', log, log],
    // A group of its own: the runs it starts are processes that outlive it.
    detached: true,
  });
  fs.closeSync(log);
  const url = `http://127.0.0.1:${port}${basePath}`;
  const authorization =
    login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ask: RealEngine['ask'] = async (route, body) => {
    const answer = await fetch(`${url}/api/v2${route}`, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  const close = async (): Promise<void> => {
    const { pid } = child;
    // What it started are processes of their own: it is asked to end them first.
    for (const name of Object.keys(files)) await ask(`/dags/${name}/stop-all`, {}).catch(() => undefined);
    if (pid !== undefined && child.exitCode === null) {
      process.kill(pid, 'SIGTERM');
      await Promise.race([ended, sleep(5000)]);
      if (child.exitCode === null && child.signalCode === null) process.kill(pid, 'SIGKILL');
    }
    fs.rmSync(home, { recursive: true, force: true });
  };
  try {
    await until('the engine being healthy', async () => {
      if (child.exitCode !== null) throw new Error(fs.readFileSync(path.join(home, 'engine.log'), 'utf8'));
      const answer = await fetch(`${url}/api/v2/health`).catch(() => undefined);
      return answer?.ok ? true : undefined;
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { url, home, ask, close };
}
