// Starts `nightly` at `tidemark serve`, waits for its end, and compares the issues of each source: node nightly.mjs web=30 north=40
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

const pairs = process.argv.slice(2).map((pair) => pair.split('='));
const expected = Object.fromEntries(pairs.map(([source, issues]) => [source, Number(issues)]));
const token = 'a-token-of-this-test';

/** Runs `tidemark …words` while `work` is under way, which gets the `url` that it prints. */
async function during(words, work) {
  const env = { ...process.env, TIDEMARK_API_TOKEN: token };
  const child = spawn('node_modules/.bin/tidemark', [...words, '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  try {
    for await (const line of createInterface(child.stdout)) {
      const [, url] = /"url": ?"([^"]+)"/.exec(line) ?? [];
      if (url !== undefined) return await work(url);
    }
    throw new Error(`tidemark ${words.join(' ')} ended with ${await ended}`);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

async function ask(url, init) {
  const answer = await fetch(url, { ...init, headers: { authorization: `Bearer ${token}` } });
  const body = await answer.json();
  assert.ok(answer.ok, JSON.stringify(body));
  return body.data;
}

await during(['serve', '--port', '0'], async (url) => {
  const dag = `${url}/api/v1/dags/nightly`;
  await ask(`${dag}/start`, { method: 'POST' });
  let status = await ask(`${dag}/status`);
  for (; status.finishedAt === null; status = await ask(`${dag}/status`)) await pause(100);
  assert.equal(status.status, 'succeeded', status.run?.error?.message);
  const pipelines = new Set(status.receipts.map(({ pipeline }) => pipeline));
  assert.deepEqual([...pipelines].sort(), Object.keys(expected).sort());
});

await during(['warehouse'], async (url) => {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query('select source, count(*)::int as issues from bi.issues group by 1');
  await client.end();
  assert.deepEqual(Object.fromEntries(rows.map(({ source, issues }) => [source, issues])), expected);
  console.log(
    `one nightly read ${rows.map(({ source, issues }) => `${issues} issues of ${source}`).join(', ')}`,
  );
});
