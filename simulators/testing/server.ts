/** A local HTTP server that answers by script, for tests of connectors. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as it arrived. */
export interface Asked {
  /** 1, 2, 3 … in the order of arrival. */
  readonly number: number;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** `body`: bytes as they are, anything else as JSON. `reset`: the connection breaks without an answer. */
export type Answer =
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: unknown;
    }
  | 'reset';

export type Script = (asked: Asked) => Answer | Promise<Answer>;

export interface ScriptedServer {
  readonly url: string;
  /** What was asked so far. */
  readonly asked: readonly Asked[];
  close(): Promise<void>;
}

/** Starts a server on a free port of this machine. An error of the script is answered with 500 and its message. */
export async function scriptedServer(script: Script): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  const server = http.createServer(async (request, response) => {
    const { method = 'GET', url: path = '/', headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const one = { number: asked.length + 1, method, path, headers, body: Buffer.concat(chunks).toString() };
    asked.push(one);
    const answer = await Promise.resolve(one)
      .then(script)
      .catch((error: unknown): Answer => ({ status: 500, body: { message: String(error) } }));
    if (answer === 'reset') return response.destroy();
    const { status, body } = answer;
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body === undefined ? '' : JSON.stringify(body));
    response.writeHead(status, { 'content-type': 'application/json', ...answer.headers });
    return response.end(bytes);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Answers as the server at `origin` does. Its addresses in headers and bodies become those of this server. */
export function forwardTo(origin: string): Script {
  return async ({ method, path, headers, body }) => {
    const own = `http://${headers.host}`;
    const { host, connection, 'content-length': length, 'accept-encoding': encoding, ...sent } = headers;
    const answer = await fetch(new URL(path, origin), {
      method,
      headers: sent as Record<string, string>,
      redirect: 'manual',
      ...(body !== '' && { body }),
    });
    const {
      'content-length': bytes,
      'transfer-encoding': transfer,
      ...kept
    } = Object.fromEntries(answer.headers);
    const ours = (text: string) => text.replaceAll(new URL(origin).origin, own);
    return {
      status: answer.status,
      headers: Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, ours(value)])),
      body: Buffer.from(ours(await answer.text())),
    };
  };
}
