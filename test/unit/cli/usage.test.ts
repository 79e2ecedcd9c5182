import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { begin, launcher, nowhere, start, tidemark } from './command.ts';

const verbs = [
  ...'sync backfill plan reconcile init check migrate status runs logs streams rejects reset why'.split(' '),
  ...'simulate demo warehouse grant-reader export serve notify completion remote'.split(' '),
];

test('--help lists every verb, and each explains itself, examples first, on stdout', async () => {
  const { code, out, err } = await tidemark('--help');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^Examples:\n {2}\$ tidemark /);
  expect(out).not.toMatch(/^ {2}start\b/m);
  for (const verb of verbs) {
    expect(out).toMatch(new RegExp(`^  ${verb}\\b`, 'm'));
    const { code, out: own } = await tidemark(`${verb} --help`);
    expect({ verb, code }).toEqual({ verb, code: 0 });
    expect(own).toMatch(new RegExp(`^Examples:\\n  \\$ .*tidemark ${verb}`));
    expect(own).toContain('--json');
  }
});

test('--help loads nothing that takes time', async () => {
  const loaded = path.join(nowhere, 'loaded');
  const hook = path.join(nowhere, 'hook.mjs');
  fs.writeFileSync(
    hook,
    `import { registerHooks } from 'node:module'; import { appendFileSync } from 'node:fs';
     registerHooks({ load: (url, context, next) => { appendFileSync(${JSON.stringify(loaded)}, url + '\\n'); return next(url, context); } });`,
  );
  const { code } = await start(['--help'], { node: ['--import', pathToFileURL(hook).href] }).ended;
  expect(code).toBe(0);
  const urls = fs.readFileSync(loaded, 'utf8');
  expect(urls).toContain('/commander/');
  expect(urls).not.toMatch(/node_modules\/(pino|pg|pg-[a-z]+|undici|kysely|node-cron|p-limit)\//);
});

test('--version prints the version and nothing else', async () => {
  const { version } = JSON.parse(fs.readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  expect(await tidemark('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

test.each([
  ['sycn', 'Did you mean sync?'],
  ['sync --ful', 'Did you mean --full?'],
  ['rejects lst', 'Did you mean list?'],
  ['sync trakcer', 'there is no pipeline'],
  ['sync', 'TRACKER_BASE_URL'],
  ['runs one two', 'too many arguments'],
  ['backfill tracker --from 2024-01-01', '--to'],
  ['backfill tracker --from 1.1.2024 --to 2024-02-01', '2024-01-31 (midnight UTC)'],
  ['backfill tracker --from 2024-02-01 --to 2024-01-01', 'half open'],
  ['simulate --issues many', 'whole number'],
  ['serve --host 0.0.0.0', 'TIDEMARK_API_TOKEN'],
  ['remote begin tracker', 'start, status, stop'],
  ['runs --limit 0', 'from 1 to'],
  ['export', '--to'],
  ['export --to x --since 1.1.2024', '--since'],
  ['runs --pipeline trakcer', 'there is no pipeline'],
  ['remote retry tracker', 'which run'],
  ['remote stop tracker 17', '--params'],
  ['remote retry tracker 17 --params FULL=true', 'takes no --params'],
  ['remote stop tracker --run-id 17', 'takes no --run-id'],
  ['', 'Usage:'],
])('`tidemark %s` is refused with what to do, and exit code 2', async (words, advice) => {
  const { code, out, err } = await tidemark(words);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(advice);
  // Without a verb it is the help that is printed.
  if (words !== '') expect(err).toMatch(/^error: [\s\S]+ · \S/m);
});

test.each(['--json', 'rejects --json', 'help nosuch --json'])(
  '`tidemark %s` is an error in JSON',
  async (words) => {
    const error = { code: 'usage', message: expect.stringContaining('no such command') };
    const { code, out } = await tidemark(words);
    expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 2, error });
  },
);

test.each(['', ' ', ','])('--stream "%s" does not mean all streams', async (none) => {
  const err = expect.stringContaining('Name one');
  expect(await begin(['sync', '--stream', none]).ended).toEqual({ code: 2, out: '', err });
});

test.each([
  'sync --api-token=hunter2',
  "serve --token=it's-hunter2",
  '--password=hunter2',
  'check postgres://ann:hunter2@db/x',
  'postgres://ann:hunter2@db/x',
  'serve --port=x://a:hunter2@b',
])('a secret among the words is refused and not repeated: `tidemark %s`', async (words) => {
  const { code, out, err } = await tidemark(`${words} --json`);
  expect({ code, printed: out + err }).toEqual({ code: 2, printed: expect.not.stringContaining('hunter2') });
  expect(JSON.parse(out)).toMatchObject({ type: 'error', error: { code: 'usage' } });
});

test('remote reaches a serve by the host that it listens on', async () => {
  const env = { TIDEMARK_PORT: '9', TIDEMARK_API_TOKEN: 'a-token-of-some-length' };
  const local = { '[::1]': '[::1]', '::': '[::1]', '0.0.0.0': '127.0.0.1' };
  for (const [TIDEMARK_HOST, host] of Object.entries(local)) {
    const { code, err } = await tidemark('remote status tracker', { env: { ...env, TIDEMARK_HOST } });
    const refused = expect.stringContaining(`http://${host}:9 does not answer`);
    expect({ code, err }).toEqual({ code: 4, err: refused });
    expect(err).not.toContain('unencrypted');
  }
  const { err } = await tidemark('remote status tracker --url http://tidemark.invalid:9', { env });
  expect(err).toContain('warning: the token goes to tidemark.invalid:9 unencrypted');
});

test('remote needs no pipeline to be configured here, and says what is wrong with its own settings', async () => {
  const half = { TRACKER_BASE_URL: 'https://tracker.example', TIDEMARK_PIPELINES: '/no/such/folder' };
  const { code, err } = await tidemark('remote status tracker', { env: { ...half, TIDEMARK_PORT: '9' } });
  expect({ code, err }).toEqual({ code: 4, err: expect.stringContaining('127.0.0.1:9 does not answer') });
  const wrong = await tidemark('remote status tracker', { env: { ...half, TIDEMARK_PORT: 'nine' } });
  expect({ code: wrong.code, err: wrong.err }).toEqual({
    code: 2,
    err: expect.stringContaining('TIDEMARK_PORT'),
  });
});

test.each([
  ['breaks off its answer', '{"status":"success","da', 4, /127\.0\.0\.1:\d+ broke off its answer/],
  ['does not say what is wrong', '{"status":"error"}', 1, /answered 500: no reason given/],
])('remote says what it met where the server %s', async (_, body, exitCode, said) => {
  const server = http.createServer((request, response) => {
    const length = exitCode === 4 ? 500 : body.length;
    response.writeHead(500, { 'content-type': 'application/json', 'content-length': length });
    response.write(body, () => (exitCode === 4 ? request.socket.destroy() : response.end()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { code, err } = await tidemark(`remote status tracker --url http://127.0.0.1:${port}`);
  expect({ code, err }).toEqual({ code: exitCode, err: expect.stringMatching(said) });
  await new Promise((resolve) => server.close(resolve));
});

test.skipIf(!fs.existsSync('/dev/full'))(
  'a full disk behind standard output is printed in a sentence',
  async () => {
    const shell = '"$NODE" "$CLI" --help > /dev/full; echo "$?"';
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', shell], {
      cwd: nowhere,
      env: { PATH: process.env.PATH ?? '', NODE: process.execPath, CLI: launcher },
    });
    expect(stdout).toBe('1\n');
    expect(stderr).toMatch(/^error: .*ENOSPC.* · .*\n$/m);
    expect(stderr).not.toMatch(/^ +at /m);
  },
);

test.each([
  ['mysql://ann:hunter2@db/x', 'postgres://user:password@host:5432/database'],
  ['postgres://ann:12/hunter2@db/x', 'percent-encoded'],
  ['postgres://ann:hunter2%ff@127.0.0.1:9/x', '%25'],
])(
  'DATABASE_URL=%s is refused with exit code 2 and how to write it, without the password',
  async (url, advice) => {
    const { code, out, err } = await tidemark('status', { env: { DATABASE_URL: url } });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    for (const text of ['DATABASE_URL', advice]) expect(err).toContain(text);
    expect(err).not.toContain('hunter2');
  },
);

test('wrong settings are printed all at once, and with --json also as JSON', async () => {
  const env = { TRACKER_BASE_URL: 'ftp://x', TIDEMARK_PORT: 'eighty' };
  const { code, out, err } = await tidemark('status --json', { env });
  expect(code).toBe(2);
  for (const name of Object.keys(env)) expect(err).toContain(name);
  expect(JSON.parse(out)).toMatchObject({ type: 'error', exitCode: 2, error: { code: 'misconfigured' } });
});
