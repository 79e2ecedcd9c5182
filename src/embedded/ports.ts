import crypto from 'node:crypto';
import net from 'node:net';
import { Misconfigured } from '../core/errors.ts';

/** True if nobody listens on that port of 127.0.0.1. */
export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });

/** A free port below those that systems hand out by themselves: they would be taken now and then by a passing connection. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = crypto.randomInt(15_433, 25_432);
    if (await isFree(port)) return port;
  }
  throw new Misconfigured('no free port on 127.0.0.1 between 15433 and 25432');
}
