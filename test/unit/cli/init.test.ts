import fs from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inhabit } from '../../../simulators/dagu/company.ts';
import { startWorkflow, type WorkflowSimulator } from '../../../simulators/dagu/server.ts';
import { startTracker, type TrackerSimulator } from '../../../simulators/jira/server.ts';
import { withVariable } from '../../../src/config/variables.ts';
import { Misconfigured } from '../../../src/core/errors.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';
import { type Around, begin, type Ended, nowhere } from './command.ts';

let database: TestDatabase;
let tracker: TrackerSimulator;
let workflow: WorkflowSimulator;

beforeAll(async () => {
  database = await testDatabase();
  tracker = await startTracker({ seed: 5, issues: 20, projects: 1, users: 5, years: 1 });
  workflow = await startWorkflow({ dialect: 'dagu-v2', token: 'engine-t0ken' });
  inhabit(workflow, { seed: 5 });
});
afterAll(async () => {
  await Promise.all([tracker.close(), workflow.close()]);
  await database.drop();
});

const example = fs.readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');

/** An empty working directory, and the command in it. */
function folder(files: Readonly<Record<string, string>> = {}) {
  const cwd = fs.mkdtempSync(path.join(nowhere, 'init-'));
  const at = (name: string) => path.join(cwd, name);
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(at(name)), { recursive: true });
    fs.writeFileSync(at(name), text);
  }
  const around = { cwd, env: { DATABASE_URL: database.url } };
  return {
    at,
    read: (name: string) => fs.readFileSync(at(name), 'utf8'),
    has: (name: string) => fs.existsSync(at(name)),
    run: (words: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> =>
      begin(words, { ...around, env: { ...around.env, ...more } }).ended,
    begin: (words: readonly string[], more: Around = {}) => begin(words, { ...around, ...more }),
  };
}

/** The flags of the simulated tracker. */
const flags = (token = tracker.token) => [
  '--set',
  `baseUrl=${tracker.url}`,
  '--set',
  `email=${tracker.email}`,
  '--set',
  `apiToken=${token}`,
];
const modeOf = (file: string) => (fs.statSync(file).mode & 0o777).toString(8);

const file = `import { env, jira, pipeline, secret } from 'tidemark';

export default pipeline({
  name: 'tracker',
  source: jira({
    baseUrl: env('TRACKER_BASE_URL'),
    email: env('TRACKER_EMAIL'),
    apiToken: secret('TRACKER_API_TOKEN'),
  }),
});
`;

test('flags give .env and a pipeline file, the connection is tested, and sync works with both', async () => {
  const at = folder();
  const { code, out, err } = await at.run(['init', 'jira', ...flags()]);
  expect({ code, err }).toEqual({ code: 0, err: 'checking tracker\n' });
  expect(out).toMatch(/tracker +ok .*signed in as/);
  expect(out).toMatch(/Next: `tidemark sync tracker`\n$/);
  expect(out).not.toContain(tracker.token);
  expect(at.read('pipelines/tracker.ts')).toBe(file);
  expect(modeOf(at.at('.env'))).toBe('600');
  expect(parseEnv(at.read('.env'))).toEqual({
    TRACKER_BASE_URL: tracker.url,
    TRACKER_EMAIL: tracker.email,
    TRACKER_API_TOKEN: tracker.token,
  });
  // Everything else of the example stays as it is.
  const comment = (text: string) => text.replace(/^#?(TRACKER_(BASE_URL|EMAIL|API_TOKEN)=).*$/gm, '$1');
  expect(comment(at.read('.env'))).toBe(comment(example));
  expect((await at.run(['sync', 'tracker'])).code).toBe(0);
});

test.each([
  ['a file', ['--set', 'apiToken=@token'], {}, true],
  ['the environment', [], { TRACKER_API_TOKEN: '' }, false],
])('a secret comes from %s', async (_, more, env, isWritten) => {
  const at = folder({ token: `${tracker.token}\n` });
  const given = Object.fromEntries(Object.keys(env).map((name) => [name, tracker.token]));
  const { code, out, err } = await at.run(['init', 'jira', ...flags().slice(0, 4), ...more], given);
  expect({ code, err }).toEqual({ code: 0, err: expect.not.stringContaining(tracker.token) });
  expect(out).not.toContain(tracker.token);
  expect(at.read('pipelines/tracker.ts')).toBe(file);
  expect(at.read('.env').includes(tracker.token)).toBe(isWritten);
});

test('a Jira Data Center is set up with its address and a personal access token alone', async () => {
  const dataCenter = await startTracker({ dialect: 'data-center', issues: 1, projects: 1, users: 5 });
  try {
    const at = folder();
    const set = [`baseUrl=${dataCenter.url}`, `apiToken=${dataCenter.token}`];
    const words = ['init', 'jira-data-center', ...set.flatMap((each) => ['--set', each])];
    const { code, out } = await at.run(words);
    expect(code).toBe(0);
    expect(out).toMatch(/signed in as .*server: Jira Data Center 9\.12\.4/s);
    expect(parseEnv(at.read('.env'))).toMatchObject({ TRACKER_AUTH: 'bearer' });
  } finally {
    await dataCenter.close();
  }
});

test('a wrong token ends with 4, and what was written stays', async () => {
  const at = folder();
  const { code, out, err } = await at.run(['init', 'jira', '--json', ...flags('wr0ng-token')]);
  expect({ code, err }).toEqual({ code: 4, err: '' });
  expect(out).not.toContain('wr0ng-token');
  expect(JSON.parse(out)).toMatchObject({
    file: at.at('.env'),
    created: true,
    pipeline: 'tracker',
    next: 'tidemark check',
    files: [at.at('pipelines/tracker.ts')],
    check: { state: 'failed', error: { code: 'auth' } },
  });
  expect(parseEnv(at.read('.env')).TRACKER_API_TOKEN).toBe('wr0ng-token');
});

test('what is missing is refused with the flags that give it, and no pipeline file is written', async () => {
  const at = folder();
  const { code, out, err } = await at.run(['init', 'jira']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err.split('\n')).toEqual([
    expect.stringContaining('3 problems'),
    expect.stringMatching(/^ {4}--set baseUrl=…: is missing: the address of the site/),
    expect.stringMatching(/^ {4}--set email=…: is missing: the e-mail .*; or --set auth=…$/),
    expect.stringMatching(/^ {4}--set apiToken=…: is missing: an API token/),
    expect.stringMatching(/^ {2}· correct that/),
    '',
  ]);
  expect({ made: at.has('pipelines'), env: at.read('.env') }).toEqual({ made: false, env: example });
  const ads = await at.run(['init', 'spotify-ads', '--set', 'baseUrl=https://x.example/ads/v3']);
  expect(ads.err).toContain(
    '--set clientId=…: is missing: the id of the registered app; or --set accessToken=…',
  );
});

test.each([
  [
    'an unknown source',
    ['jria'],
    'there is no source “jria” · there are spotifyAds, jira, jira-cloud, jira-data-center, dagu',
  ],
  [
    'an unknown setting',
    ['jira', '--set', 'apitoken=t0p-s3cret'],
    'there is no setting “apitoken” · there are baseUrl',
  ],
  ['a setting without a key', ['jira', '--set', 't0p-s3cret'], 'there is no setting “”'],
  [
    'a wrong value',
    ['jira', '--set', 'baseUrl=site', '--set', 'email=me', '--set', 'apiToken=x'],
    '--set baseUrl=…:',
  ],
  ['a file that is not there', ['jira', '--set', 'apiToken=@none'], 'cannot read'],
  ['a wrong name', ['dagu', '--name', '../x', '--set', 'baseUrl=http://127.0.0.1:9'], 'name: “../x” is not'],
  [
    'a name that a file has',
    ['dagu', '--name', 'web', '--set', 'baseUrl=http://127.0.0.1:9'],
    'pipelines/other.ts has a pipeline “web”',
  ],
])('%s is refused, and nothing is written', async (_, words, message) => {
  const other = file.replace(`'tracker'`, `'web'`).replaceAll('TRACKER', 'OTHER');
  const env = 'OTHER_BASE_URL=https://x.example\nOTHER_EMAIL=me\nOTHER_API_TOKEN=x\n';
  const at = folder({ '.env': env, 'pipelines/other.ts': other });
  const { code, out, err } = await at.run(['init', ...words]);
  expect({ code, out, err }).toEqual({ code: 2, out: '', err: expect.stringContaining(message) });
  expect(err).not.toContain('t0p-s3cret');
  expect(at.read('.env')).toBe(env);
  expect(fs.readdirSync(at.at('pipelines'))).toEqual(['other.ts']);
});

test.each([
  ['.env', { '.env': 'TRACKER_EMAIL=you@x.example\n' }, {}],
  ['environment', { '.env': '' }, { TRACKER_EMAIL: 'you@x.example' }],
  [
    '.env, the file of TRACKER_API_TOKEN_FILE',
    { '.env': 'TRACKER_API_TOKEN_FILE=token\n', token: 'another' },
    {},
  ],
])('another value in %s is never overwritten', async (where, files: Record<string, string>, env) => {
  const at = folder(files);
  const { code, err } = await at.run(['init', 'jira', ...flags()], env);
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringContaining(`has another value in ${where}; change`),
  });
  expect(err).not.toContain('another\n');
  expect({ env: at.read('.env'), made: at.has('pipelines') }).toEqual({ env: files['.env'], made: false });
});

test('a second time finds everything there, and changes nothing', async () => {
  const at = folder();
  await at.run(['init', 'jira', ...flags()]);
  const own = file.replace('export', '// mine\nexport');
  fs.writeFileSync(at.at('pipelines/tracker.ts'), own);
  const before = at.read('.env');
  const { code, out } = await at.run(['init', 'jira', '--json', ...flags()]);
  expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, files: [], added: [] });
  const { out: said } = await at.run(['init', 'jira', ...flags()]);
  expect(said).toContain(`Nothing was missing in ${at.at('.env')}`);
  expect(said).toContain('There is a file of tracker already: it was not changed.');
  expect([at.read('.env'), at.read('pipelines/tracker.ts')]).toEqual([before, own]);
});

test('the other pipelines whose variables are set get files, too, so that none stops being synced', async () => {
  const at = folder({ '.env': `WORKFLOW_BASE_URL=${workflow.url}\nWORKFLOW_TOKEN=engine-t0ken\n` });
  const berlin = ['init', 'Jira', '--name', 'berlin-2', ...flags()];
  const half = await at.run(berlin, { TRACKER_EMAIL: 'me@x.example' });
  expect(half).toMatchObject({ code: 2, err: expect.stringContaining('TRACKER_BASE_URL: is missing') });
  const first = await at.run(berlin);
  expect(first.code).toBe(0);
  expect(first.out).toContain(
    `Added BERLIN_2_BASE_URL, BERLIN_2_EMAIL, BERLIN_2_API_TOKEN to ${at.at('.env')}`,
  );
  expect(first.out).toContain(`Wrote ${at.at('pipelines/workflow.ts')}, ${at.at('pipelines/berlin-2.ts')}`);
  expect(fs.readdirSync(at.at('pipelines'))).toEqual(['berlin-2.ts', 'workflow.ts']);
  expect(parseEnv(at.read('.env'))).toMatchObject({ BERLIN_2_EMAIL: tracker.email });
  const { out } = await at.run(['check', '--json']);
  expect(JSON.parse(out).checks.map(({ what, state }: Record<string, string>) => `${what} ${state}`)).toEqual(
    ['berlin-2 ok', 'workflow ok', 'warehouse ok', 'notifications not configured'],
  );
  // With files of the user's own there, the folder is theirs.
  await at.run([
    'init',
    'dagu',
    '--name',
    'jobs',
    '--set',
    `baseUrl=${workflow.url}`,
    '--set',
    'token=engine-t0ken',
  ]);
  expect(fs.readdirSync(at.at('pipelines'))).toEqual(['berlin-2.ts', 'jobs.ts', 'workflow.ts']);
});

test('it says where a nightly that names its pipelines does not name the new one', async () => {
  const nightly = `import { nightly } from 'tidemark';\n\nexport default nightly({ pipelines: [] });\n`;
  const at = folder({ 'pipelines/nightly.ts': nightly });
  const { code, out } = await at.run(['init', 'jira', ...flags()]);
  expect({ code, out }).toEqual({
    code: 0,
    out: expect.stringContaining('names its pipelines: add tracker there'),
  });
});

test('settings that are set already are in the file: nothing that is left out is read', async () => {
  const at = folder({ '.env': `TRACKER_EXCLUDE=groups\n` });
  expect((await at.run(['init', 'jira', ...flags()])).code).toBe(0);
  expect(at.read('pipelines/tracker.ts')).toContain(`    exclude: env('TRACKER_EXCLUDE'),\n`);
});

/** Types each answer when its question has been asked; ends the input after the last one where a question is left. */
async function answer(
  command: ReturnType<typeof begin>,
  stdin: PassThrough,
  answers: readonly (readonly [string, string])[],
) {
  let seen = 0;
  for (const [key, text] of answers) {
    await until(`the question ${key}`, () => command.err().indexOf(`\n${key}: `, seen) >= 0);
    seen = command.err().indexOf(`\n${key}: `, seen) + 1;
    stdin.write(`${text}\r\n`);
  }
}
const terminal = () => Object.assign(new PassThrough(), { isTTY: true });

test('at a terminal it asks for the source and what that needs, and again where an answer is wrong', async () => {
  const at = folder();
  const stdin = terminal();
  const command = at.begin(['init'], { stdin });
  await answer(command, stdin, [
    ...([
      ['source', 'jira'],
      ['baseUrl', ''],
      ['baseUrl', 'site'],
      ['baseUrl', tracker.url],
    ] as const),
    ...([
      ['auth', ''],
      ['email', tracker.email],
      ['apiToken', tracker.token],
    ] as const),
  ]);
  const { code, out, err } = await command.ended;
  expect(code).toBe(0);
  expect(err).toContain('It must be given.');
  expect(err).toContain('is not a URL');
  expect(out + err).not.toContain(tracker.token);
  expect(at.read('pipelines/tracker.ts')).toBe(file);
});

test('it asks for what the way to sign in needs, and a secret that may be needed', async () => {
  const at = folder();
  const stdin = terminal();
  const bearer = at.begin(['init', 'jira', '--set', `baseUrl=${tracker.url}`], { stdin });
  await answer(bearer, stdin, [
    ['auth', 'bearer'],
    ['apiToken', 'wr0ng-token'],
  ]);
  expect((await bearer.ended).code).toBe(4);
  expect(at.read('pipelines/tracker.ts')).not.toContain('email');
  const typed = terminal();
  const dagu = at.begin(['init', 'dagu'], { stdin: typed });
  await answer(dagu, typed, [
    ['baseUrl', workflow.url],
    ['token', 'engine-t0ken'],
  ]);
  expect(await dagu.ended).toMatchObject({ code: 0, err: expect.not.stringContaining('engine-t0ken') });
});

test.each([
  ['right', 'pass:wörd €', 0],
  ['wrong', 'guessed', 4],
])('without a token it asks Dagu’s user name and password (%s)', async (_, password, exit) => {
  const login = { username: 'ops', password: 'pass:wörd €' };
  const engine = await startWorkflow({ dialect: 'dagu-v2', login });
  try {
    const at = folder();
    const stdin = terminal();
    const dagu = at.begin(['init', 'dagu'], { stdin });
    await answer(dagu, stdin, [
      ['baseUrl', engine.url],
      ['token', ''],
      ['username', login.username],
      ['password', password],
    ]);
    const { code, out, err } = await dagu.ended;
    expect({ code, err }).toEqual({ code: exit, err: expect.not.stringContaining(password) });
    if (exit === 4) expect(out).toMatch(/asking for Basic.*WORKFLOW_USERNAME and WORKFLOW_PASSWORD/s);
    expect(at.read('pipelines/workflow.ts')).toContain(`password: secret('WORKFLOW_PASSWORD')`);
    expect(parseEnv(at.read('.env'))).toMatchObject({ WORKFLOW_PASSWORD: password });
  } finally {
    await engine.close();
  }
});

test('an end of the input instead of an answer writes nothing of the source', async () => {
  const at = folder();
  const stdin = terminal();
  const command = at.begin(['init', 'jira'], { stdin });
  await until('the question', () => command.err().includes('baseUrl: '));
  stdin.end();
  expect(await command.ended).toMatchObject({ code: 130, out: '' });
  expect({ made: at.has('pipelines'), env: at.read('.env') }).toEqual({ made: false, env: example });
});

test('without a source and a terminal it makes .env alone, and leaves one that is there', async () => {
  const at = folder();
  expect((await at.run(['init'])).out).toMatch(/^Wrote .*\.env\.\nFill in the credentials of a source/);
  expect([at.read('.env'), modeOf(at.at('.env')), at.has('pipelines')]).toEqual([example, '600', false]);
  fs.writeFileSync(at.at('.env'), 'A=1');
  expect(JSON.parse((await at.run(['init', '--json'])).out)).toEqual({ file: at.at('.env'), created: false });
  expect(at.read('.env')).toBe('A=1');
});

test('.env gives back exactly what was written, and every other line as it was', () => {
  const text = fc.string({ unit: fc.constantFrom(...`ab '"\`#=$\\n{}é😀\n%&`), minLength: 1, maxLength: 12 });
  const before = fc.constantFrom(
    '',
    'B=1',
    `B='x'\n#A=old\nC="y"\n`,
    'A=\nB=2\n',
    '#A=1\n# A = 2 \nexport A=\nC=3',
    '\ufeffB=1\r\n#A=2\r\nC=3\r\n',
    example,
  );
  let written = 0;
  fc.assert(
    fc.property(text, before, (value, old) => {
      // In double quotes \\n is a line end.
      const isHard = value.includes(`'`) && value.includes('`') && /"|\\n/.test(value);
      let made = '';
      try {
        made = withVariable(old, 'A', value);
      } catch (error) {
        // Only what no kind of quotes can hold.
        if (!(error instanceof Misconfigured && isHard)) throw error;
        return;
      }
      written += 1;
      expect({ ...parseEnv(made) }).toEqual({ ...parseEnv(old), A: value });
      const others = (lines: string) =>
        lines
          .replace(/^[ \t]*(#[ \t]*|export )?A[ \t]*=.*$/gm, '')
          .split('\n')
          .filter(Boolean);
      if (!value.includes('\n')) expect(others(made)).toEqual(others(old));
    }),
    { numRuns: 2000 },
  );
  expect(written).toBeGreaterThan(1500);
});

test.each([
  ['an open quote', `B='x\n#A=1\nC=y'\n`],
  ['bytes that are no UTF-8', Buffer.from([66, 61, 0xe9, 10]).toString()],
])('an .env with %s is left as it is', (_, text) => {
  expect(() => withVariable(text, 'A', 'z')).toThrow(Misconfigured);
});
