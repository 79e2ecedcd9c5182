import http from 'node:http';
import type { AddressInfo } from 'node:net';
import readline from 'node:readline';

/** A source with a token bucket, in a process of its own: prints its address; to each line it answers what came since the last one. */
const [perSecond = 100, burst = 20, latencyMs = 80] = process.argv.slice(2).map(Number);
let tokens = burst;
let at = performance.now();
let counts = { answered: 0, refused: 0 };

const takesToken = (): boolean => {
  const now = performance.now();
  tokens = Math.min(burst, tokens + ((now - at) * perSecond) / 1000);
  at = now;
  if (tokens < 1) return false;
  tokens -= 1;
  return true;
};

const server = http.createServer((_, response) => {
  if (takesToken()) {
    counts.answered += 1;
    const answer = () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"values":[]}');
    setTimeout(answer, latencyMs);
    return;
  }
  counts.refused += 1;
  response.writeHead(429, { 'retry-after': '1' }).end();
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
for await (const _ of readline.createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(counts));
  counts = { answered: 0, refused: 0 };
}
