// docs/guides/traces.md as it is written: its tracing.mjs sends the spans of a sync to a receiver on this machine.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { promisify } from 'node:util';

const page = readFileSync(process.argv[2], 'utf8');
const [code] = /(?<=^```js\n)[\s\S]*?(?=^```)/m.exec(page) ?? [];
writeFileSync('tracing.mjs', code);
const [command] = /^NODE_OPTIONS=.* sync$/m.exec(page) ?? [];

const spans = [];
const receiver = http.createServer(async (request, response) => {
  const sent = JSON.parse(Buffer.concat(await request.toArray()).toString());
  for (const { scopeSpans } of sent.resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
  response.setHeader('content-type', 'application/json').end('{}');
});
await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const endpoint = `http://127.0.0.1:${receiver.address().port}`;
await promisify(execFile)('sh', ['-c', command], {
  env: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint },
});
receiver.close();

const stream = spans.find(({ name }) => name === 'stream issues');
const run = spans.find(({ spanId }) => spanId === stream?.parentSpanId);
const request = spans.find(
  ({ name, traceId }) => /^(GET|POST) \/rest/.test(name) && traceId === run?.traceId,
);
if (!run?.name.startsWith('run ') || request === undefined)
  throw new Error(`the spans are not those of a run:\n${spans.map(({ name }) => name).join('\n')}`);
console.log(`${spans.length} spans of a sync arrived, from “${run.name}” to “${request.name}”`);
