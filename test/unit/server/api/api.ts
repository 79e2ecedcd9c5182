import net from 'node:net';
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../../../../src/server/api/app.ts';
import type { ServerDeps } from '../../../../src/server/api/deps.ts';
import type { TestDatabase } from '../../../support/postgres.ts';
import { catalogue, controlOf, dag, timed } from '../../scheduler/orchestra.ts';

export const operate = 'operate-token-0123456789';
export const read = 'read-token-0123456789';

/** What the API knows in tests: nothing runs, everything is queued. */
export const known = catalogue(
  dag('nightly', { streams: [], timed: [timed('0 2 * * *')] }),
  dag('tracker', { timed: [timed('0 2 * * *', { starts: false })] }),
  dag('ads'),
  dag('workflow', { configured: false, needs: 'WORKFLOW_BASE_URL' }),
);

export interface Api {
  readonly app: FastifyInstance;
  readonly url: string;
  /** What the server's operator was told. */
  readonly troubles: readonly string[];
  close(): Promise<void>;
}

/** The control API over a warehouse, listening. */
export async function openApi({ warehouse }: TestDatabase, more: Partial<ServerDeps> = {}): Promise<Api> {
  const troubles: string[] = [];
  const ending = new AbortController();
  const app = await buildApp({
    control: await controlOf(warehouse, known),
    db: warehouse.db,
    tokens: { operate, read },
    version: 'test',
    unready: async () => [],
    signal: ending.signal,
    trouble: (what, error) => troubles.push(`${what}: ${String(error)}`),
    ...more,
    limits: { perMinute: 100_000, followMs: 20, ...more.limits },
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    app,
    url,
    troubles,
    close: async () => {
      ending.abort();
      await app.close();
    },
  };
}

export interface Answer {
  readonly code: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field, and compared with what they must be
  readonly body: any;
}

/** Asks with the operating token unless told otherwise. */
export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(url, {
    ...init,
    headers: { authorization: `Bearer ${operate}`, ...init.headers },
  });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.includes('application/json') === true;
  return {
    code: answer.status,
    headers: answer.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

export const post = (
  url: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> =>
  ask(url, {
    method: 'POST',
    ...(body === undefined
      ? { headers }
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } }),
  });

/** Sends exactly these bytes, and gives what came back until the server closed or went quiet. */
export function raw(url: string, bytes: string | Buffer, quietMs = 300): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let got = '';
    const socket = net.connect(Number(port), hostname, () => socket.write(bytes));
    const end = (): void => {
      socket.destroy();
      resolve(got);
    };
    let timer: NodeJS.Timeout | undefined;
    socket.on('data', (chunk) => {
      got += chunk;
      clearTimeout(timer);
      timer = setTimeout(end, quietMs);
    });
    socket.on('close', end).on('error', end);
  });
}
