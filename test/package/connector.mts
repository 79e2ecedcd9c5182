// A connector of the user's own, that of examples/github-issues: synced, killed in its midst, carried on, reconciled, explained, checked.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { checkConnector } from 'tidemark/testing';
import { github } from './examples/github-issues/github.ts';
import { startGitHub } from './examples/github-issues/server.ts';

const { url, world, requests, close } = await startGitHub();
const variables = {
  GITHUB_TOKEN: 'github-example',
  GITHUB_BASE_URL: url,
  TIDEMARK_PIPELINES: 'examples/github-issues/pipelines',
  TIDEMARK_HOME: '.tidemark/github',
};

const start = (words: string) =>
  spawn('node_modules/.bin/tidemark', words.split(' '), {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** What `tidemark …words` prints; it must succeed. */
async function said(words: string): Promise<string> {
  const child = start(words);
  let text = '';
  for await (const chunk of child.stdout) text += chunk;
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
  assert.equal(code, 0, `${words}: ${text}`);
  return text;
}

const first = start('sync --quiet');
while (requests.length < 60) await pause(5);
first.kill('SIGKILL');
await once(first, 'exit');
await said('sync --quiet');
const rows = async () => JSON.parse(await said('streams issues --json')).rows.live;
assert.equal(await rows(), world.issues.size);

world.advance(3_600_000);
world.open('A new one');
world.remove(12);
await said('sync --quiet');
await said('reconcile hello --quiet');
assert.equal(await rows(), world.issues.size);
assert.match(await said('why github.issues 7'), /\/repos\/\{owner\}\/\{repo\}\/issues/);
assert.match(await said('status'), /^hello\.issues +fresh/m);

const repository = 'octocat/hello-world';
const settings = (baseUrl: string) => ({ repository, token: 'github-example', baseUrl });
await checkConnector(github, { url, settings });
await close();
