#!/usr/bin/env node
// The way of a newcomer: a clone in an empty folder, then the commands of README.md as they are written there and in their order, from the demo to
// the first question and `serve`. The sources are the simulated ones that README names. Prints each command with its seconds. Ends with 1 where a
// command fails, or where an answer is not that of README.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

const root = path.join(import.meta.dirname, '..');
const place = fs.mkdtempSync(path.join(os.tmpdir(), 'newcomer-'));
// Where this runs as root, Postgres runs as another user, and its data lies here too.
fs.chmodSync(place, 0o755);
const clone = path.join(place, 'clone');
// Without it curl ends with 0 whatever the server answers.
fs.writeFileSync(path.join(place, '.curlrc'), 'fail\nsilent\nshow-error\n');

const [page] = fs.readFileSync(path.join(root, 'README.md'), 'utf8').split('\n## Commands');
const blocks = (language) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\``, 'gm'))].map(([, text]) => text);
const commands = blocks('sh').flatMap((block) => block.split('\n').map((line) => line.replace(/ +#.*$/, '')));
const [question] = blocks('sql');
const [answer] = blocks('text');

/** A port that is free: README names 8080, which may be taken here. */
async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return String(port);
}
const port = await freePort();

/** The environment without settings of the caller's own. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(TIDEMARK|TRACKER|ADS|WORKFLOW|npm)_|^(DATABASE_URL|NODE_OPTIONS)$/.test(name),
  ),
);
Object.assign(env, { TIDEMARK_PORT: port, CURL_HOME: place });

const began = performance.now();
const steps = [];
const running = new Set();

/** Starts a command in a process group of its own. `said` returns what it has printed. */
function start(command, cwd = clone) {
  console.log(`$ ${command}`);
  const at = performance.now();
  const stdio = ['ignore', 'pipe', 'pipe'];
  const child = spawn('sh', ['-c', command], { cwd, env, stdio, detached: true });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part) => {
      text += part;
    });
  const started = { child, said: () => text, ended: once(child, 'close') };
  running.add(started);
  child.once('close', () => running.delete(started));
  const done = () => {
    const seconds = (performance.now() - at) / 1000;
    steps.push({ command, seconds });
    console.log(`  ${seconds.toFixed(1)} s`);
  };
  return { ...started, done };
}

/** Runs a command to its end. Returns what it printed; throws where it fails. */
async function walk(command, cwd) {
  const { said, ended, done } = start(command, cwd);
  const [code] = await ended;
  if (code !== 0) throw new Error(`“${command}” ended with ${code}:\n${said()}`);
  done();
  return said();
}

/** Starts a command that runs until it is stopped, and waits until it prints this. */
async function serve(command, ready) {
  const server = start(command);
  while (!ready.test(server.said())) {
    const ended = await Promise.race([once(server.child.stdout, 'data').then(() => false), server.ended]);
    if (ended) throw new Error(`“${command}” ended:\n${server.said()}`);
  }
  server.done();
  return server;
}

/** Ends a command and what it started, and waits until all of it is gone. */
async function stop({ child, ended }) {
  process.kill(-child.pid, 'SIGTERM');
  const late = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), 30_000);
  const [code, signal] = await ended;
  clearTimeout(late);
  if (signal === 'SIGKILL') throw new Error(`a command did not end within 30 s of SIGTERM (${code})`);
}

/** Asks the first question of README. Where psql is missing, the client that the clone has installed asks. */
async function ask(connection) {
  fs.writeFileSync(path.join(clone, 'question.sql'), question);
  const hasPsql = spawnSync('psql', ['--version']).status === 0;
  if (!hasPsql) console.log('(psql is not installed: Node asks instead)');
  env.WAREHOUSE = connection;
  const client = `import fs from 'node:fs';
    import pg from 'pg';
    const client = new pg.Client(process.env.WAREHOUSE);
    await client.connect();
    const { rows } = await client.query(fs.readFileSync('question.sql', 'utf8'));
    for (const row of [Object.keys(rows[0]), ...rows.map(Object.values)]) console.log(row.join(' | '));
    await client.end();`;
  fs.writeFileSync(path.join(clone, 'question.mjs'), client);
  const said = await walk(
    hasPsql ? 'psql "$WAREHOUSE" --no-psqlrc --file question.sql' : 'node question.mjs',
  );
  console.log(said.trimEnd().replaceAll(/^/gm, '    '));
  const titlesOf = (text) =>
    text
      .split('\n')[0]
      .split('|')
      .map((title) => title.trim());
  const count = (text) => text.match(/ Sprint \d+ /g)?.length ?? 0;
  if (String(titlesOf(said)) !== String(titlesOf(answer)) || count(said) !== count(answer))
    throw new Error('the answer is not that of README');
}

const sinceBegin = () => `${((performance.now() - began) / 1000).toFixed(1)} s after the clone began`;

/** What a newcomer does with a line of README. */
async function follow(line) {
  const command = line.replace('127.0.0.1:8080', `127.0.0.1:${port}`);
  if (line.endsWith('npm test')) return console.log(`(not walked here: ${line})`);
  if (line.endsWith('npm start')) {
    const said = await walk(command);
    const [equals] = /^The warehouse equals the source.*$/m.exec(said) ?? [];
    if (equals === undefined) throw new Error(`the demo did not compare both sides:\n${said}`);
    return console.log(`  ${equals}\n  ${sinceBegin()}: the demo has ended`);
  }
  if (line.endsWith(' simulate')) {
    const { said } = await serve(command, /^WORKFLOW_DAGS=.*\n/m);
    const variables = said().match(/^[A-Z_]+=.*$/gm);
    return fs.writeFileSync(path.join(clone, '.env'), `${variables.join('\n')}\n`, { mode: 0o600 });
  }
  // Without a terminal, its question for the source is answered by a word; it finds the values in .env.
  if (line.endsWith(' init')) return walk(`${command} jira`);
  if (line.endsWith(' warehouse')) {
    const warehouse = await serve(command, /^connection +\S+\n/m);
    await ask(/^connection +(\S+)$/m.exec(warehouse.said())[1]);
    console.log(`  ${sinceBegin()}: the first question is answered`);
    return stop(warehouse);
  }
  if (line.endsWith(' serve')) {
    await serve(command, /Serving on/);
    return walk(`curl --output dashboard.html http://127.0.0.1:${port}/`);
  }
  return walk(command);
}

const tooLong = setTimeout(() => {
  console.log('── newcomer: failed: it takes longer than 15 minutes');
  for (const { child } of running) process.kill(-child.pid, 'SIGKILL');
  process.exit(1);
}, 900_000);
try {
  await walk(`git clone --quiet '${root}' clone`, place);
  for (const line of commands) await follow(line);
  for (const { command, seconds } of steps) console.log(`${seconds.toFixed(1).padStart(8)} s  ${command}`);
  console.log(`── newcomer: ${((performance.now() - began) / 1000).toFixed(1)} s for all of it`);
} catch (error) {
  console.log(`── newcomer: failed: ${error.message}`);
  process.exitCode = 1;
} finally {
  clearTimeout(tooLong);
  for (const each of [...running].reverse()) await stop(each);
  fs.rmSync(place, { recursive: true, force: true });
}
