/** A local server that misbehaves by script: each request gets the next reply, and every reply that was given is on record by its name. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

/** One request as it arrived. */
export interface Arrived {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<IncomingMessage['headers']>;
  readonly body: string;
  /** `performance.now()` */
  readonly at: number;
}

/** How to answer; `n` counts all requests from 0. */
export interface Reply {
  readonly name: string;
  run(response: ServerResponse, arrived: Arrived, n: number): void | Promise<void>;
}

export interface Misbehaving {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly Arrived[];
  /** Names of the replies given, in order: a fault that is not here never happened. */
  readonly fired: readonly string[];
  /** TCP connections accepted, with or without a request. */
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

/** `script` picks the reply for the n-th request. */
export const misbehaving = async (
  script: (arrived: Arrived, n: number) => Reply,
  tls?: { readonly key: string; readonly cert: string },
  at = 0,
): Promise<Misbehaving> => {
  const requests: Arrived[] = [];
  const fired: string[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const arrived: Arrived = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      at: performance.now(),
    };
    const n = requests.push(arrived) - 1;
    const reply = script(arrived, n);
    fired.push(reply.name);
    await reply.run(response, arrived, n);
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    // Tests let clients go away.
    answer(request, response).catch((error) => response.destroy(error instanceof Error ? error : undefined));
  };
  const server: Server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.on('connection', (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    requests,
    fired,
    connections: () => accepted,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
};

/** The replies one after the other; the last one again for ever. */
export const inTurn =
  (...replies: readonly [Reply, ...Reply[]]) =>
  (_: Arrived, n: number): Reply =>
    replies[Math.min(n, replies.length - 1)] ?? replies[0];

type Headers = Readonly<Record<string, string>>;
const jsonType = { 'content-type': 'application/json;charset=UTF-8' };

/** A well-behaved page. */
export const json = (value: unknown, headers: Headers = {}, status = 200): Reply => ({
  name: status === 200 ? 'json' : `status ${status}`,
  run: (response) => {
    const body = JSON.stringify(value);
    response
      .writeHead(status, { ...jsonType, 'content-length': String(Buffer.byteLength(body)), ...headers })
      .end(body);
  },
});

/** A status with a body of any kind. */
export const status = (code: number, headers: Headers = {}, body = ''): Reply => ({
  name: `status ${code}`,
  run: (response) => {
    response.writeHead(code, headers).end(body);
  },
});

/** 200, JSON by its content type, and these bytes. */
export const bytes = (name: string, body: Buffer | string, headers: Headers = {}): Reply => ({
  name,
  run: (response) => {
    response.writeHead(200, { ...jsonType, ...headers }).end(body);
  },
});

/** Sends `body` up to byte `keep` of a correctly announced answer, then resets the connection. */
export const cutAt = (body: string, keep: number, headers: Headers = {}): Reply => ({
  name: 'cut',
  run: async (response) => {
    response.writeHead(200, { ...jsonType, 'content-length': String(Buffer.byteLength(body)), ...headers });
    response.flushHeaders();
    if (keep > 0)
      await new Promise((resolve) => response.write(Buffer.from(body).subarray(0, keep), resolve));
    response.socket?.resetAndDestroy();
  },
});

/** Resets the connection without an answer. */
export const reset: Reply = { name: 'reset', run: (response) => void response.socket?.resetAndDestroy() };

/** These bytes on the connection as they are, instead of an answer. */
export const raw = (name: string, bytes: string): Reply => ({
  name,
  run: (response) => void response.socket?.end(bytes),
});

/** Sends the first `keep` bytes, then ends the connection in good order. */
export const endedAt = (body: Buffer | string, keep: number, headers: Headers = {}): Reply => ({
  name: 'cut',
  run: (response) => {
    response.writeHead(200, { ...jsonType, ...headers });
    response.write(Buffer.from(body).subarray(0, keep), () => response.socket?.end());
  },
});

/** Announces more than it sends, then ends the connection in good order. */
export const tooShort = (body: string, missing: number): Reply => ({
  ...endedAt(body, Infinity, { 'content-length': String(Buffer.byteLength(body) + missing) }),
  name: 'too short',
});

/** Chunked, and closed before the terminator. */
export const unterminated = (body: string): Reply => ({
  ...endedAt(body, Infinity),
  name: 'unterminated',
});

/** One byte every so often, for ever. */
export const drip = (everyMs: number): Reply => ({
  name: 'drip',
  run: (response) => {
    response.writeHead(200, jsonType);
    const timer = setInterval(() => response.write(' '), everyMs);
    response.on('close', () => clearInterval(timer));
  },
});

/** Takes the request and says nothing. */
export const silent: Reply = { name: 'silent', run: () => {} };

/** Headers, then nothing. */
export const silentAfterHeaders: Reply = {
  name: 'silent after headers',
  run: (response) => {
    response.writeHead(200, { ...jsonType, 'content-length': '10' });
    response.flushHeaders();
  },
};

/** Waits, then replies. */
export const late = (ms: number, reply: Reply): Reply => ({
  name: `late ${reply.name}`,
  run: async (response, arrived, n) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    await reply.run(response, arrived, n);
  },
});

/** JSON in gzip; `keep` cuts the compressed bytes, well announced. */
export const gzipped = (value: unknown, keep?: number): Reply => {
  const whole = gzipSync(typeof value === 'string' ? value : JSON.stringify(value));
  const body = keep === undefined ? whole : whole.subarray(0, keep);
  return {
    name: keep === undefined ? 'gzip' : 'gzip cut',
    run: (response) => {
      response
        .writeHead(200, { ...jsonType, 'content-encoding': 'gzip', 'content-length': String(body.length) })
        .end(body);
    },
  };
};
