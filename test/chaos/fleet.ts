/** Processes of `serve` on one warehouse, and what can happen to each of them. */

import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Running, until } from '../support/processes.ts';
import { proxy } from '../support/proxy.ts';
import { tidemark } from '../support/tidemark.ts';
import type { Pace } from './pace.ts';

/** One place in the fleet: a process of `serve` with a wire of its own to the warehouse. A process that ends gets an heir. */
export interface Member {
  /** Where its API is; undefined while no process listens. */
  readonly base: string | undefined;
  /** kill -9, and an heir after `downMs`. */
  kill(downMs: number): Promise<void>;
  /** SIGSTOP for so long. */
  stop(ms: number): Promise<void>;
  /** SIGTERM, and an heir after `downMs`. */
  end(downMs: number): Promise<void>;
  /** Its clock is off by so much from now on. */
  step(ms: number): Promise<void>;
  /** Its connections to the warehouse break. */
  cut(): Promise<void>;
  /** Its connections to the warehouse say nothing for so long, and then break. */
  silence(ms: number): Promise<void>;
  /** SIGTERM, and no heir. */
  close(): Promise<void>;
  /** What went wrong: processes that ended by themselves while they served, or not in good order. */
  readonly wrong: readonly string[];
  /** All that its processes wrote on standard error. */
  said(): string;
}

const clock = new URL('./clock.ts', import.meta.url).href;

/** What the processes of a fleet share. */
interface Fleet {
  readonly directory: string;
  readonly warehouse: URL;
  readonly pace: Pace;
  /** The variables of a process with this connection string. */
  env(databaseUrl: string): NodeJS.ProcessEnv;
}

export async function memberOf(name: string, { directory, warehouse, pace, env }: Fleet): Promise<Member> {
  const wire = await proxy({ host: warehouse.hostname, port: Number(warehouse.port) });
  const behind = Object.assign(new URL(warehouse), { port: String(wire.port) }).href;
  const file = path.join(directory, `${name}.clock`);
  const variables = { ...env(behind), CHAOS_CLOCK: file, NODE_OPTIONS: `--import=${clock}` };
  const wrong: string[] = [];
  const all: Running[] = [];
  const struck = new Set<Running>();
  let process: Running;
  let base: string | undefined;
  let isClosed = false;

  const spawn = (): void => {
    const mine = tidemark(['serve', '--port', '0', '--json'], variables);
    process = mine;
    all.push(mine);
    base = undefined;
    mine.line().then(
      (line) => {
        if (process === mine && !struck.has(mine)) base = JSON.parse(line).url;
      },
      () => undefined,
    );
    void mine.ended().then((code) => {
      if (struck.has(mine)) return;
      // The warehouse may be away while it starts. One that serves waits for it.
      if (base !== undefined) wrong.push(`${name} ended by itself with ${code}: ${mine.said().slice(-600)}`);
      spawn();
    });
  };

  const strike = (signal: 'SIGKILL' | 'SIGTERM'): { victim: Running; served: boolean } => {
    const served = base !== undefined;
    struck.add(process);
    base = undefined;
    process.child.kill(signal);
    return { victim: process, served };
  };

  const endInOrder = async (): Promise<void> => {
    const { victim, served } = strike('SIGTERM');
    const at = performance.now();
    const code = await Promise.race([victim.ended(), sleep(2 * pace.endMs)]);
    if (code === undefined) await victim.kill();
    // The signal may come before the process listens for it.
    const isFine = served ? code === 0 : code !== undefined;
    const ms = Math.round(performance.now() - at);
    if (isFine && ms < pace.endMs) return;
    wrong.push(
      `${name} was asked to end, and ended with ${code} after ${ms} ms: ${victim.said().slice(-600)}`,
    );
  };

  spawn();
  return {
    get base() {
      return base;
    },
    wrong,
    said: () => all.map((one) => one.said()).join(''),
    async kill(downMs) {
      const { victim } = strike('SIGKILL');
      const code = await victim.ended();
      if (code !== 'SIGKILL') throw new Error(`it ended with ${code}`);
      await sleep(downMs);
      spawn();
    },
    async stop(ms) {
      let victim = process;
      const isStill = (): boolean => {
        // One that starts while the warehouse is away ends by itself.
        if (victim !== process || victim.pid === 0) victim = process;
        victim.child.kill('SIGSTOP');
        return stateOf(victim.pid) === 'T';
      };
      await until('it stands still', isStill, pace.patienceMs);
      await sleep(ms);
      victim.child.kill('SIGCONT');
    },
    async end(downMs) {
      await endInOrder();
      await sleep(downMs);
      spawn();
    },
    async step(ms) {
      fs.writeFileSync(file, String(ms));
      let victim: Running | undefined;
      const isStepped = (): boolean => {
        // Before it serves it may not listen for the signal, which would end it.
        if (base !== undefined && victim !== process) {
          victim = process;
          victim.child.kill('SIGUSR2');
        }
        return !fs.existsSync(file);
      };
      await until('its clock is stepped', isStepped, pace.patienceMs);
    },
    async cut() {
      await until('a connection', () => wire.open > 0, pace.patienceMs);
      wire.cut();
    },
    async silence(ms) {
      await until('a connection', () => wire.open > 0, pace.patienceMs);
      wire.freeze();
      await sleep(ms);
      wire.drop();
      wire.thaw();
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await endInOrder();
      await wire.close();
    },
  };
}

/** The letter of a process's state, as in proc(5); undefined where it is gone. */
const stateOf = (pid: number): string | undefined => {
  try {
    return /\) (\w)/.exec(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
};
