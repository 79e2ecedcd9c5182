/** A webhook's other end: keeps what arrives, and answers as scripted. */

import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** The answers to come, in order: a status, or 'drop' the connection; then 204. */
  readonly answers: (number | 'drop')[];
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const answers: (number | 'drop')[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      const answer = answers.shift() ?? 204;
      if (answer === 'drop') request.socket.destroy();
      else response.writeHead(answer, answer >= 300 && answer < 400 ? { location: '/elsewhere' } : {}).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook/very-secret-path`,
    received,
    answers,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
