import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import type { Connector } from '../../../src/connectors/connector.ts';
import { Misconfigured } from '../../../src/core/errors.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-pipelines-'));
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

/** A working directory with these files. */
function directory(files: Readonly<Record<string, string>>): string {
  const cwd = fs.mkdtempSync(path.join(root, 'cwd-'));
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(cwd, name)), { recursive: true });
    fs.writeFileSync(path.join(cwd, name), text);
  }
  return cwd;
}

const load = (files: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv = {}) =>
  loadConfig<Connector>(env, directory(files));

const problems = (files: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv = {}): Promise<string> =>
  load(files, env).then(
    () => Promise.reject(new Error('the configuration was accepted')),
    (error: unknown) => {
      if (error instanceof Misconfigured) return error.message;
      throw error;
    },
  );

const head = `import { dagu, env, jira, nightly, pipeline, secret } from 'tidemark';\n`;
const site = `baseUrl: 'https://x.example/', email: env('MAIL'), apiToken: secret('TOKEN')`;
const tracker = (more = '', settings = site) =>
  `${head}export default pipeline({ name: 'web', source: jira({ ${settings} }), ${more} });`;
const env = { MAIL: 'me@x.example', TOKEN: 't0p-s3cret' };

test.each(['ts', 'mjs'])('a file *.%s that cannot be parsed is named with its line', (ending) => {
  const text = `${head}\n\nexport default pipeline({ name: 'x' source: 1 });`;
  // A process of its own: here Node does not load the file by itself.
  const program = new URL('../../../src/tidemark.js', import.meta.url).pathname;
  const cwd = directory({ [`pipelines/web.${ending}`]: text });
  const { status, stderr } = spawnSync(process.execPath, [program, 'config'], { cwd, encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toMatch(
    RegExp(`pipelines/web\\.${ending} cannot be loaded: .*pipelines/web\\.${ending}:4\\)`),
  );
});

test('a file gives values, variables and secrets, and the config says where each comes from', async () => {
  const { pipelines, shown } = await load(
    {
      'pipelines/web.ts': tracker(`exclude: ['users']`, `${site}, concurrency: 3, groups: ['a', 'b']`),
      '.env': 'MAIL=dot@x.example',
    },
    { TOKEN: env.TOKEN },
  );
  expect(pipelines).toMatchObject([
    {
      name: 'web',
      values: {
        baseUrl: 'https://x.example',
        email: 'dot@x.example',
        concurrency: 3,
        groups: ['a', 'b'],
        exclude: ['users'],
        lookbackHours: 24,
      },
    },
  ]);
  const file = 'pipelines/web.ts';
  for (const line of [
    { name: `${file}: baseUrl`, value: 'https://x.example', from: 'pipeline file' },
    { name: `${file}: email (MAIL)`, value: 'dot@x.example', from: '.env' },
    { name: `${file}: apiToken (TOKEN)`, value: '***', from: 'environment' },
    { name: `${file}: lookbackHours`, value: '24', from: 'default' },
  ])
    expect(shown).toContainEqual(expect.objectContaining(line));
});

test.each([
  [
    'an unknown setting',
    tracker('', `${site}, aptToken: 'x'`),
    'pipelines/web.ts: aptToken: is no setting of jira; did you mean apiToken?',
  ],
  ['an unknown key', tracker(`shedule: {}`), 'pipelines/web.ts: shedule: is unknown; did you mean schedule?'],
  [
    'an unknown key of its schedule',
    tracker(`schedule: { recncile: false }`),
    'pipelines/web.ts: schedule: recncile: is unknown; did you mean reconcile?',
  ],
  [
    'an unknown key of its hand-off',
    tracker(`onSuccess: { dag: 'report', wiat: true }`),
    'pipelines/web.ts: onSuccess: wiat: is unknown; did you mean wait?',
  ],
  [
    'a secret in the file',
    tracker('', `baseUrl: 'https://x.example', email: 'me@x.example', apiToken: 't0p-s3cret'`),
    "pipelines/web.ts: apiToken: a secret does not belong into a file that is shared: write secret('NAME')",
  ],
  [
    'a wrong value',
    tracker('', `${site}, concurrency: 100`),
    "pipelines/web.ts: concurrency: '100' is not a whole number from 1 to 64",
  ],
  ['an object', tracker('', `${site}, jql: {}`), 'pipelines/web.ts: jql: is an object'],
  [
    'a missing setting',
    tracker('', `email: env('MAIL'), apiToken: secret('TOKEN')`),
    'pipelines/web.ts: baseUrl: is missing: the address of the site',
  ],
  [
    'a missing variable',
    tracker('', `baseUrl: env('NOWHERE'), email: env('MAIL'), apiToken: secret('TOKEN')`),
    'pipelines/web.ts: baseUrl (NOWHERE): is missing',
  ],
  ['a wrong name', tracker().replace(`'web'`, `'My Site'`), 'pipelines/web.ts: name: “My Site”'],
  ['the name nightly', tracker().replace(`'web'`, `'nightly'`), 'pipelines/web.ts: name: nightly is'],
  ['no source', `${head}export default pipeline({ name: 'web' });`, 'pipelines/web.ts: source: is no source'],
  ['no pipeline', 'export default { name: 1 };', 'pipelines/web.ts declares no pipeline'],
  ['broken code', 'const a = 1;\nexport default (;', 'pipelines/web.ts cannot be loaded'],
])('%s is refused with file, key and fix', async (_, text, message) => {
  const found = await problems({ 'pipelines/web.ts': text }, env);
  expect(found).toContain(message);
  expect(found).not.toContain('s3cret');
});

test('two pipelines have no name in common, and there is one nightly', async () => {
  const files = { 'pipelines/a.ts': tracker(), 'pipelines/b.mjs': tracker() };
  expect(await problems(files, env)).toContain(
    'pipelines/b.mjs: name: pipelines/a.ts has a pipeline “web” already',
  );
  const nightly = `${head}export default nightly({ pipelines: ['wep'] });`;
  const both = { 'pipelines/a.ts': tracker(), 'pipelines/n.js': nightly, 'pipelines/o.js': nightly };
  const found = await problems(both, env);
  expect(found).toContain('pipelines/n.js: pipelines: there is no pipeline “wep”; did you mean web?');
  expect(found).toContain('pipelines/o.js: there is a nightly in pipelines/n.js already');
});

test('several sites of one connector are apart, each with variables of its own', async () => {
  const of = (name: string) =>
    `${head}export default pipeline({ name: '${name}', source: jira.fromEnv('${name.toUpperCase()}') });`;
  const files = {
    'pipelines/berlin.ts': of('berlin'),
    'pipelines/paris.ts': of('paris'),
    'pipelines/_old.ts': 'no code',
  };
  const set = { BERLIN_BASE_URL: 'https://b.example', BERLIN_EMAIL: 'b@x.example', BERLIN_API_TOKEN: 'b' };
  const { pipelines, nightly, warnings } = await load(files, { ...set, BERLIN_JQLL: 'x', TRACKER_JQL: 'y' });
  expect(pipelines.map(({ name, values }) => [name, values?.baseUrl])).toEqual([
    ['berlin', 'https://b.example'],
    ['paris', undefined],
  ]);
  expect(nightly.pipelines).toEqual(['berlin', 'paris']);
  expect(warnings.map((line) => line.split(':')[0])).toEqual(['BERLIN_JQLL', 'TRACKER_JQL']);
});

test('a pipeline with a schedule of its own is not a part of nightly, unless nightly names it', async () => {
  const own = tracker(`schedule: { sync: '0 4 * * *', reconcile: false, timeZone: 'Europe/Berlin' }`);
  const other = `${head}export default pipeline({ name: 'flow', source: dagu({ baseUrl: 'http://127.0.0.1:1' }) });`;
  const files = { 'pipelines/web.ts': own, 'pipelines/flow.ts': other };
  const set = { ...env, TIDEMARK_SCHEDULE: '30 1 * * *', TIDEMARK_TIME_ZONE: 'Asia/Tokyo' };
  const { pipelines, nightly } = await load(files, set);
  expect(nightly).toMatchObject({
    pipelines: ['flow'],
    jobs: [{ on: { cron: '30 1 * * *', timeZone: 'Asia/Tokyo' } }],
  });
  expect(Object.fromEntries(pipelines.map(({ name, jobs }) => [name, jobs]))).toEqual({
    flow: [{ does: 'sync', on: { cron: '30 1 * * *', timeZone: 'Asia/Tokyo' }, within: 'nightly' }],
    web: [{ does: 'sync', on: { cron: '0 4 * * *', timeZone: 'Europe/Berlin' } }],
  });
});

test('a part of nightly has the time that the file of nightly says', async () => {
  const flow = `${head}export default pipeline({ name: 'flow', source: dagu({ baseUrl: 'http://127.0.0.1:1' }) });`;
  const late = `${head}export default nightly({ schedule: '45 3 * * *', timeZone: 'Europe/Berlin' });`;
  const { pipelines } = await load({ 'pipelines/flow.ts': flow, 'pipelines/nightly.ts': late });
  const on = { cron: '45 3 * * *', timeZone: 'Europe/Berlin' };
  expect(pipelines[0]?.jobs).toEqual([{ does: 'sync', on, within: 'nightly' }]);
});

test('TIDEMARK_PIPELINES names the folder, and an empty one is refused', async () => {
  const { pipelines } = await load({ 'deploy/web.ts': tracker() }, { ...env, TIDEMARK_PIPELINES: 'deploy' });
  expect(pipelines.map(({ file }) => file)).toEqual(['deploy/web.ts']);
  expect(await problems({}, { TIDEMARK_PIPELINES: 'deploy' })).toContain(
    'TIDEMARK_PIPELINES: there are no files',
  );
});
