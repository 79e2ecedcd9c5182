/** An HTTP proxy on this machine, as companies have them: tunnels for https, forwards http. One local port answers for every host. */

import http from 'node:http';
import net, { type AddressInfo } from 'node:net';

export interface ForwardProxy {
  readonly url: string;
  readonly port: number;
  /** `CONNECT host:port` and `GET http://host/path`, in order. */
  readonly asked: readonly string[];
  /** `Proxy-Authorization` of each, or ''. */
  readonly shown: readonly string[];
  close(): Promise<void>;
}

/** `to`: the port that answers for every host. `answer`: refuses with this status; `silent`: never answers. */
export async function forwardProxy(
  to: number,
  answer: 'lets through' | 'silent' | 'breaks off' | number = 'lets through',
): Promise<ForwardProxy> {
  const asked: string[] = [];
  const shown: string[] = [];
  const sockets = new Set<net.Socket>();
  const note = ({ method, url, headers }: http.IncomingMessage): void => {
    asked.push(`${method} ${url}`);
    shown.push(headers['proxy-authorization'] ?? '');
  };
  const server = http.createServer((request, response) => {
    note(request);
    if (typeof answer === 'number') return void response.writeHead(answer).end('no');
    const { pathname, search } = new URL(request.url ?? '');
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const onward = http.request(
      { host: '127.0.0.1', port: to, method: request.method, path: pathname + search, headers },
      (came) => {
        response.writeHead(came.statusCode ?? 502, came.headers);
        came.pipe(response);
      },
    );
    request.pipe(onward);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('connect', (request, socket: net.Socket) => {
    note(request);
    if (answer === 'silent') return;
    if (answer === 'breaks off') return void socket.destroy();
    if (typeof answer === 'number')
      return void socket.end(`HTTP/1.1 ${answer} No\r\ncontent-length: 0\r\n\r\n`);
    const onward = net.connect(to, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    sockets.add(onward);
    onward.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    asked,
    shown,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
