/** An embedded server that dies under its users is started again by one of them. */

import path from 'node:path';
import { saidBy } from '../core/errors.ts';
import { warehouseSettings } from '../warehouse/settings.ts';
import { type Cluster, start } from './cluster.ts';
import { exclusive } from './locks.ts';
import { running } from './pid-file.ts';

/** The lock that is held alone while a server is made, started or stopped; `inside` is where the home keeps its own things. */
export const lockIn = (inside: string): string => path.join(inside, 'lock');

/** So long it is waited for, ms: longer than a start may take. */
export const startPatience = 700_000;

/** So often a user looks whether the server still runs, ms. */
const lookEvery = 1_000;

/** A server that does not come up is tried more and more rarely, but at least this often, ms: each try may replay its whole log, on a full disk perhaps. */
const rarest = 60_000;

interface Told {
  /** Is told what the user should know. */
  readonly notice: (message: string) => void;
  readonly signal?: AbortSignal;
  /** Between looks, ms. */
  readonly everyMs?: number;
}

/**
 * Until `end`, starts the server again when it has died, killed for the machine's want of memory perhaps: a command that stays for months would wait for ever.
 * At the port that its users know; where that is taken meanwhile, or the server does not come up for another reason, the user is told once.
 */
export function keepUp(
  inside: string,
  cluster: Cluster,
  port: number,
  { notice, signal, everyMs = lookEvery }: Told,
): { end(): Promise<void> } {
  const over = new AbortController();
  const ending = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  const died = (): boolean => !ending.aborted && running(cluster.data) === undefined;
  const revive = async (): Promise<void> => {
    const lock = await exclusive(lockIn(inside), startPatience, ending);
    try {
      if (!died()) return;
      await start(cluster, port, warehouseSettings(cluster.log), ending);
      notice('the server of the warehouse had died; it was started again');
    } finally {
      lock.release();
    }
  };
  let failures = 0;
  let notBefore = 0;
  let looking: Promise<void> | undefined;
  const look = (): void => {
    if (looking !== undefined || performance.now() < notBefore) return;
    if (!died()) {
      failures = 0;
      return;
    }
    looking = revive()
      .catch((error: unknown) => {
        failures += 1;
        notBefore = performance.now() + Math.min(everyMs * 2 ** failures, rarest);
        if (failures > 1 || ending.aborted) return;
        notice(`the server of the warehouse has died: ${saidBy(error)}`);
      })
      .finally(() => {
        looking = undefined;
      });
  };
  const timer = setInterval(look, everyMs).unref();
  return {
    async end(): Promise<void> {
      clearInterval(timer);
      over.abort();
      await looking;
    },
  };
}
