import { once } from 'node:events';
import net from 'node:net';

/** A wire to a server that is listened in on: what the client sends can make something happen. */
export interface Tap {
  readonly port: number;
  /** Does `act` once, just before the next bytes that match reach the server. */
  on(words: RegExp, act: () => void): { readonly fired: () => number };
  /** Bytes of the connections that stand now no longer pass, in both directions, without a word. */
  freeze(): void;
  close(): Promise<void>;
}

export async function tap(to: { readonly host: string; readonly port: number }): Promise<Tap> {
  const sockets = new Set<net.Socket>();
  let line = { frozen: false };
  const ears: { words: RegExp; act: () => void; fired: number }[] = [];
  const server = net.createServer((client) => {
    const mine = line;
    const upstream = net.connect(to);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      for (const ear of ears)
        if (ear.fired === 0 && ear.words.test(text)) {
          ear.fired += 1;
          ear.act();
        }
      if (!mine.frozen) upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (!mine.frozen) client.write(chunk);
    });
    client.on('close', () => {
      sockets.delete(client);
      if (!mine.frozen) upstream.destroy();
    });
    upstream.on('close', () => {
      sockets.delete(upstream);
      if (!mine.frozen) client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    on(words, act) {
      const ear = { words, act, fired: 0 };
      ears.push(ear);
      return { fired: () => ear.fired };
    },
    freeze() {
      line.frozen = true;
      line = { frozen: false };
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
