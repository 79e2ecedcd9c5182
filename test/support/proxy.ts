import { once } from 'node:events';
import net from 'node:net';

export type Moment = readonly [RegExp, ...RegExp[]];

/** Hears the moments in what a client sends. */
interface Ear {
  readonly left: Moment[];
  readonly act: () => void | Promise<void>;
  heard: number;
}

/** A TCP proxy in front of a server, whose wire can be cut in the ways networks have. */
export interface Wire {
  readonly port: number;
  /** Bytes stop passing in both directions, without a word: a half-open connection. */
  freeze(): void;
  /** New connections pass again; the frozen ones stay frozen. */
  thaw(): void;
  /** The frozen connections break: what the keepalives of both ends do to a half-open connection. */
  drop(): void;
  /** Every connection breaks, those that are being made, too. */
  cut(): void;
  /**
   * Does `act` at each of these moments in turn, just before the bytes that end it reach the server. A moment: what the
   * client sends, one after the other. While `act` lasts, connections are refused and nothing else is a moment.
   */
  at(moments: readonly Moment[], act: () => void | Promise<void>): Acts;
  /** Connections that were made until now. */
  readonly connections: number;
  /** Connections that bytes can pass now. */
  readonly open: number;
  close(): Promise<void>;
}

/** What came of moments: how many were met, and when the act of the last one is over. */
export interface Acts {
  readonly fired: () => number;
  readonly over: () => Promise<void>;
}

export async function proxy(to: { readonly host: string; readonly port: number }): Promise<Wire> {
  /** The ends of every connection, each with the line that it was made on. */
  const sockets = new Map<net.Socket, { frozen: boolean }>();
  let line = { frozen: false };
  let connections = 0;
  let ear: Ear = { left: [], act: () => undefined, heard: 0 };
  let isActing = false;
  let lastAct = Promise.resolve();
  const hear = async (chunk: Buffer): Promise<void> => {
    const [moment] = ear.left;
    if (isActing || !moment?.[ear.heard]?.test(chunk.toString('latin1'))) return;
    ear.heard += 1;
    if (ear.heard < moment.length) return;
    ear.heard = 0;
    ear.left.shift();
    isActing = true;
    try {
      lastAct = Promise.resolve(ear.act());
      await lastAct;
    } finally {
      isActing = false;
    }
  };
  const server = net.createServer((client) => {
    if (isActing) return void client.destroy();
    connections++;
    const mine = line;
    const upstream = net.connect(to);
    for (const [from, into] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.set(from, mine);
      from.on('data', (chunk) => {
        if (from === client) void hear(chunk);
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
      line.frozen = true;
    },
    thaw: () => {
      line = { frozen: false };
    },
    drop: () => {
      for (const [socket, { frozen }] of sockets) if (frozen) socket.destroy();
    },
    cut: () => {
      for (const socket of sockets.keys()) socket.destroy();
    },
    at: (moments, act) => {
      const mine: Ear = { left: [...moments], act, heard: 0 };
      ear = mine;
      return { fired: () => moments.length - mine.left.length, over: () => lastAct };
    },
    get connections() {
      return connections;
    },
    get open() {
      return [...sockets.values()].filter(({ frozen }) => !frozen).length / 2;
    },
    close: async () => {
      for (const socket of sockets.keys()) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
