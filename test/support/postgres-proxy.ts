import { once } from 'node:events';
import net from 'node:net';
import { type Ear, everyAct, firstMessage } from './postgres-wire.ts';

/** Where in the conversation with Postgres the wire is cut. */
export interface Cut {
  /** The n-th message counts, over all connections, from 1. */
  readonly n: number;
  /** before: the server never gets it. after: the server gets it and acts on it, its answer is lost. */
  readonly side: 'before' | 'after';
}

/** A proxy that reads the messages of a client to Postgres, and can cut every connection at a chosen one. */
export interface PostgresProxy {
  /** `DATABASE_URL` with the proxy in the server's place. */
  readonly url: string;
  /** Messages heard so far, by kind, in their order. */
  readonly heard: readonly string[];
  /** True once the wire was cut. */
  readonly cut: boolean;
  close(): Promise<void>;
}

/**
 * Listens in front of the server of `databaseUrl`. At the message of `cut`, first `strike` is called (to kill the client), then all wires
 * are cut as the system cuts those of a process that died: what was passed on before arrives, nothing after it does. `listen`: what counts.
 */
export async function postgresProxy(
  databaseUrl: string,
  cut?: Cut,
  strike: () => void = () => {},
  listen: () => Ear = everyAct,
): Promise<PostgresProxy> {
  const target = new URL(databaseUrl);
  const heard: string[] = [];
  const pairs = new Set<readonly [net.Socket, net.Socket]>();
  let isCut = false;

  const end = (): void => {
    isCut = true;
    strike();
    for (const [client, upstream] of pairs) {
      upstream.end();
      client.destroy();
    }
  };

  const server = net.createServer((client) => {
    const upstream = net.connect(Number(target.port), target.hostname);
    const ear = listen();
    const pair = [client, upstream] as const;
    pairs.add(pair);
    // Small messages to and fro: waiting for more to send along would cost 40 ms each.
    for (const socket of pair) socket.setNoDelay(true);
    let started = false;
    let waiting = Buffer.alloc(0);
    client.on('data', (chunk) => {
      waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
      if (isCut) return;
      let done = 0;
      const pass = (): void => {
        if (done > 0) upstream.write(waiting.subarray(0, done));
        waiting = waiting.subarray(done);
      };
      for (;;) {
        const next = firstMessage(waiting.subarray(done), started);
        if (next === undefined) return pass();
        started ||= next.starts;
        const kind = ear.hear(next);
        if (kind !== undefined) heard.push(kind);
        const here = kind !== undefined && heard.length === cut?.n;
        if (!here || cut?.side === 'after') done += next.length;
        if (!here) continue;
        pass();
        return end();
      }
    });
    upstream.on('data', (chunk) => {
      ear.answered(chunk);
      if (!client.destroyed) client.write(chunk);
    });
    // An end that closes closes the other; what was written before is still delivered.
    client.on('close', () => upstream.end());
    upstream.on('close', () => {
      pairs.delete(pair);
      client.destroy();
    });
    for (const socket of pair) socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(databaseUrl);
  url.port = String(address.port);
  return {
    url: url.href,
    heard,
    get cut() {
      return isCut;
    },
    close: async () => {
      for (const [client, upstream] of pairs) {
        client.destroy();
        upstream.destroy();
      }
      server.close();
      await once(server, 'close');
    },
  };
}
