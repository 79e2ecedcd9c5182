import { once } from 'node:events';
import net from 'node:net';

/** A TCP proxy in front of a server, whose wire can be cut in the ways networks have. */
export interface Proxy {
  readonly port: number;
  /** Bytes stop passing in both directions, without a word: a half-open connection. */
  freeze(): void;
  /** New connections pass again; the frozen ones stay frozen. */
  thaw(): void;
  /** Every connection breaks, those that are being made, too. */
  cut(): void;
  /** Connections that were made until now. */
  readonly connections: number;
  close(): Promise<void>;
}

export async function proxy(to: { readonly host: string; readonly port: number }): Promise<Proxy> {
  const sockets = new Set<net.Socket>();
  let wire = { frozen: false };
  let connections = 0;
  const server = net.createServer((client) => {
    connections++;
    const mine = wire;
    const upstream = net.connect(to);
    for (const [from, into] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (!mine.frozen) into.write(chunk);
      });
      from.on('close', () => {
        sockets.delete(from);
        if (!mine.frozen) into.destroy();
      });
      from.on('error', () => undefined);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    freeze: () => {
      wire.frozen = true;
    },
    thaw: () => {
      wire = { frozen: false };
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    get connections() {
      return connections;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
