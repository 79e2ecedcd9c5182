import { once } from 'node:events';
import net from 'node:net';
import { firstMessage } from './postgres-wire.ts';

/** A session of the server, and the client whose transaction has it. */
interface Session {
  readonly socket: net.Socket;
  client: net.Socket | undefined;
}

/** Which session a client gets for its next transaction. */
const order = {
  /** As PgBouncer with `pool_mode = transaction`. */
  'the last one used': (idle: Session[]) => idle.pop(),
  /** The same with `server_round_robin = 1`. */
  'each in turn': (idle: Session[]) => idle.shift(),
  /** As with `pool_mode = session`. */
  'its own': (_: Session[], own: Session): Session | undefined => own,
};

/** A pooler before Postgres that lends a session for one transaction. */
export interface Pooler {
  /** `DATABASE_URL` with the pooler in the server's place. */
  readonly url: string;
  close(): Promise<void>;
}

/** The whole messages at the head of the bytes, and what is left. */
function messagesOf(bytes: Buffer) {
  const whole: Buffer[] = [];
  let rest = bytes;
  for (let next = firstMessage(rest, true); next !== undefined; next = firstMessage(rest, true)) {
    whole.push(rest.subarray(0, next.length));
    rest = rest.subarray(next.length);
  }
  return { whole, rest };
}

const kindOf = (message: Buffer): string => String.fromCharCode(message[0] ?? 0);

/**
 * Listens in front of the server of `databaseUrl`. Each client logs in at the server itself; the session of its login then belongs to all
 * clients, unless it pools by session.
 */
export async function pooler(databaseUrl: string, lends: keyof typeof order): Promise<Pooler> {
  const target = new URL(databaseUrl);
  const idle: Session[] = [];
  const sockets = new Set<net.Socket>();
  const track = (socket: net.Socket): net.Socket => {
    sockets.add(socket.setNoDelay(true).on('error', () => undefined));
    return socket;
  };

  const open = (client: net.Socket, ready: () => void): Session => {
    const socket = track(net.connect(Number(target.port), target.hostname));
    const session: Session = { socket, client };
    let waiting: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      const { whole, rest } = messagesOf(Buffer.concat([waiting, chunk]));
      waiting = rest;
      for (const message of whole) {
        session.client?.write(message);
        const isOver = kindOf(message) === 'Z' && message[5] === 'I'.charCodeAt(0);
        if (!isOver) continue;
        session.client = undefined;
        idle.push(session);
        ready();
      }
    });
    return session;
  };

  const server = net.createServer((client) => {
    track(client);
    let isLoggedIn = false;
    const login = open(client, () => {
      isLoggedIn = true;
    });
    let lent: Session | undefined;
    let waiting: Buffer = Buffer.alloc(0);
    client.on('data', (chunk) => {
      if (!isLoggedIn) return login.socket.write(chunk);
      const { whole, rest } = messagesOf(Buffer.concat([waiting, chunk]));
      waiting = rest;
      for (const message of whole) {
        if (kindOf(message) === 'X') return client.end();
        if (lent?.client !== client) lent = order[lends](idle, login);
        if (lent === undefined) return client.destroy(new Error('no session is free'));
        lent.client = client;
        lent.socket.write(message);
      }
    });
    client.on('close', () => {
      // A transaction that was left open.
      if (lent?.client === client) lent.socket.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(databaseUrl);
  url.port = String(address.port);
  url.searchParams.set('sslmode', 'disable');
  return {
    url: url.href,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
