import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { type Config, parseInstant, plain, readConfig, Secret, secrets } from '../../../src/config/config.ts';
import { Misconfigured } from '../../../src/core/errors.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-config-'));
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

/** A directory with these files. */
function directory(files: Readonly<Record<string, string>> = {}, mode = 0o600): string {
  const at = fs.mkdtempSync(path.join(root, 'cwd-'));
  for (const [name, text] of Object.entries(files)) {
    fs.writeFileSync(path.join(at, name), text);
    fs.chmodSync(path.join(at, name), mode);
  }
  return at;
}

const tracker = {
  TRACKER_BASE_URL: 'https://x.example/',
  TRACKER_EMAIL: 'a@x.example',
  TRACKER_API_TOKEN: 't0p-s3cret',
};

function problems(env: NodeJS.ProcessEnv, cwd = directory()): string {
  try {
    readConfig(env, cwd);
  } catch (error) {
    if (error instanceof Misconfigured) return error.message;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

test('with nothing set no source is configured, and the warehouse is the embedded one in the working directory', () => {
  const cwd = directory();
  const expected: Config = {
    home: path.join(cwd, '.tidemark'),
    server: { host: '127.0.0.1', port: 8080, stuckMinutes: 15 },
    notify: {},
    proxies: { except: [] },
    runHours: 20,
    logLevel: 'info',
    warnings: [],
  };
  expect(readConfig({}, cwd)).toEqual(expected);
});

test('a tracker needs a base URL, an e-mail and a token; the rest has defaults', () => {
  const config = readConfig(tracker, directory());
  expect(config.tracker).toMatchObject({
    baseUrl: 'https://x.example',
    email: 'a@x.example',
    start: new Date('2000-01-01T00:00:00Z'),
    changes: 'auto',
    createdWindowDays: 180,
    lookbackHours: 24,
    groups: [],
    concurrency: 8,
    requestsPerSecond: 0,
  });
  expect(config.tracker?.apiToken.reveal()).toBe('t0p-s3cret');
  expect(config.warnings).toEqual([]);
});

test('every problem is told at once, each with its variable and what to do', () => {
  const said = problems({
    TRACKER_BASE_URL: 'x.example',
    TRACKER_START: '2024-02-30',
    TRACKER_CHANGES: 'sometimes',
    TRACKER_CONCURRENCY: '0',
    TRACKER_REQUESTS_PER_SECOND: '-1',
    TIDEMARK_PORT: '99999',
    LOG_LEVEL: 'loud',
    ADS_BASE_URL: 'https://ads.example/ads/v3',
    ADS_SDK_HEADER: 'two words',
    WORKFLOW_TOKEN: 'w',
  });
  for (const name of [
    'TRACKER_BASE_URL',
    'TRACKER_EMAIL',
    'TRACKER_API_TOKEN',
    'TRACKER_START',
    'TRACKER_CHANGES',
    'TRACKER_CONCURRENCY',
    'TRACKER_REQUESTS_PER_SECOND',
    'TIDEMARK_PORT',
    'LOG_LEVEL',
    'ADS_CLIENT_ID',
    'ADS_CLIENT_SECRET',
    'ADS_REFRESH_TOKEN',
    'ADS_TOKEN_URL',
    'ADS_SDK_HEADER',
    'WORKFLOW_BASE_URL',
  ]) {
    expect(said).toMatch(new RegExp(`^  ${name}: `, 'm'));
  }
  expect(said).toContain('15 problems');
});

test('the environment wins over .env, and .env over the default', () => {
  const cwd = directory({ '.env': 'TIDEMARK_PORT=1111\nLOG_LEVEL=debug\nTIDEMARK_HOME="data dir"\n' });
  const config = readConfig({ TIDEMARK_PORT: '2222', LOG_LEVEL: '' }, cwd);
  expect(config.server.port).toBe(2222);
  expect(config.logLevel).toBe('debug');
  expect(config.home).toBe(path.join(cwd, 'data dir'));
});

test('the first line of an .env with a byte order mark counts, and UTF-16 is refused', () => {
  const text = 'TRACKER_JQL=project = WEB\r\nTIDEMARK_PORT=1111\r\n';
  const cwd = directory({ '.env': `\ufeff${text}` });
  expect(readConfig(tracker, cwd).tracker?.jql).toBe('project = WEB');
  fs.writeFileSync(path.join(cwd, '.env'), Buffer.from(`\ufeff${text}`, 'utf16le'));
  expect(problems(tracker, cwd)).toContain('save it as UTF-8');
});

test('every secret can be given as a file', () => {
  const cwd = directory({ token: 'from-file\n', '.env': 'TRACKER_API_TOKEN=from-dotenv' });
  for (const name of secrets) {
    expect(problems({ [`${name}_FILE`]: 'missing' }, cwd)).toContain(
      `${name}_FILE: cannot read ${path.join(cwd, 'missing')} (ENOENT)`,
    );
  }
  const { TRACKER_API_TOKEN: _, ...rest } = tracker;
  const config = readConfig({ ...rest, TRACKER_API_TOKEN_FILE: 'token' }, cwd);
  expect(config.tracker?.apiToken.reveal()).toBe('from-file');
  expect(config.warnings).toEqual([]);
  expect(problems({ ...tracker, TRACKER_API_TOKEN_FILE: 'token' }, cwd)).toContain('keep one');
});

test('a secret file that others can read is warned about, an empty one is refused', () => {
  const cwd = directory({ open: 'x', empty: '\n' }, 0o644);
  expect(readConfig({ TIDEMARK_API_TOKEN_FILE: 'open' }, cwd).warnings).toEqual([
    expect.stringContaining('chmod 600'),
  ]);
  expect(problems({ TIDEMARK_API_TOKEN_FILE: 'empty' }, cwd)).toContain('is empty');
});

test('no printed form of a configuration or of its problems shows a secret', () => {
  const secretOf = (name: string): string =>
    /WEBHOOK_URL$/.test(name) ? `https://hooks.example/s3cret-of-${name}` : `s3cret-of-${name}`;
  const all = Object.fromEntries(secrets.map((name) => [name, secretOf(name)]));
  const env = {
    ...all,
    ...tracker,
    TRACKER_API_TOKEN: 's3cret-of-t',
    ADS_BASE_URL: 'https://a.example/ads/v3',
    WORKFLOW_BASE_URL: 'http://127.0.0.1:1',
  };
  const config = readConfig(env, directory());
  const shown = [
    JSON.stringify(config),
    inspect(config, { depth: null, showHidden: true }),
    `${config.databaseUrl}`,
    `${{ ...config.tracker }.apiToken}`,
  ];
  expect(shown.join()).not.toContain('s3cret');
  expect(config.databaseUrl?.reveal()).toBe('s3cret-of-DATABASE_URL');
  expect(problems({ ...env, TRACKER_BASE_URL: 'https://u:s3cret@x.example' })).not.toContain('s3cret');
  expect(String(new Secret('a'))).toBe('***');
});

test.each([
  ['https://u:p@x.example', 'must not hold credentials'],
  ['ftp://x.example', 'https://'],
  ['https://x.example/?a=1', 'query'],
  ['not a url', 'is not a URL'],
])('the base URL %s is refused', (url, why) => {
  expect(problems({ ...tracker, TRACKER_BASE_URL: url })).toContain(why);
});

test('http is accepted, with a warning unless the server is this machine', () => {
  for (const url of ['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:1', 'https://x.example']) {
    expect(readConfig({ ...tracker, TRACKER_BASE_URL: url }, directory()).warnings).toEqual([]);
  }
  const { warnings, tracker: found } = readConfig(
    { ...tracker, TRACKER_BASE_URL: 'http://127.0.0.1.evil.example/jira//' },
    directory(),
  );
  expect(warnings).toEqual([expect.stringContaining('unencrypted')]);
  expect(found?.baseUrl).toBe('http://127.0.0.1.evil.example/jira');
});

test('a control API that others can reach needs a token', () => {
  expect(problems({ TIDEMARK_HOST: '0.0.0.0' })).toContain('TIDEMARK_API_TOKEN');
  expect(readConfig({ TIDEMARK_HOST: '0.0.0.0', TIDEMARK_API_TOKEN: 'x' }, directory()).server.host).toBe(
    '0.0.0.0',
  );
});

test('ads take an access token, or all that is needed to get one', () => {
  const base = { ADS_BASE_URL: 'https://a.example/ads/v3/', ADS_ACCOUNT_IDS: 'a, b,,' };
  const token = readConfig({ ...base, ADS_ACCESS_TOKEN: 'x' }, directory()).ads;
  expect(token).toMatchObject({
    baseUrl: 'https://a.example/ads/v3',
    credentials: { kind: 'token' },
    accountIds: ['a', 'b'],
    sdkHeader: 'X-Service-Ads-Sdk',
  });
  const refresh = {
    ADS_CLIENT_ID: 'i',
    ADS_CLIENT_SECRET: 's',
    ADS_REFRESH_TOKEN: 'r',
    ADS_TOKEN_URL: 'https://t.example/token',
  };
  expect(readConfig({ ...base, ...refresh }, directory()).ads?.credentials).toMatchObject({
    kind: 'refresh',
    tokenUrl: 'https://t.example/token',
  });
});

test('ads keep to the vendor’s rates and restate three, fourteen and ninety days unless told otherwise', () => {
  const base = { ADS_BASE_URL: 'https://a.example/ads/v3', ADS_ACCESS_TOKEN: 'x' };
  expect(readConfig(base, directory()).ads).toMatchObject({
    concurrency: 8,
    requestsPerSecond: 50,
    reportRequestsPerSecond: 5,
    reportHosts: ['storage.googleapis.com'],
    restateDays: [3, 14, 90],
  });
  const told = {
    ADS_CONCURRENCY: '2',
    ADS_REQUESTS_PER_SECOND: '0',
    ADS_REPORT_REQUESTS_PER_SECOND: '0.5',
    ADS_REPORT_HOSTS: 'Files.example, 127.0.0.1:8080,[::1]:1',
    ADS_RESTATE_DAYS: '1, 7,7',
  };
  expect(readConfig({ ...base, ...told }, directory()).ads).toMatchObject({
    concurrency: 2,
    requestsPerSecond: 0,
    reportRequestsPerSecond: 0.5,
    reportHosts: ['files.example', '127.0.0.1:8080', '[::1]:1'],
    restateDays: [1, 7, 7],
  });
});

test.each([
  ['ADS_REPORT_HOSTS', 'https://files.example/'],
  ['ADS_REPORT_HOSTS', 'a b'],
  ['ADS_RESTATE_DAYS', '3'],
  ['ADS_RESTATE_DAYS', '3,14,90,365'],
  ['ADS_RESTATE_DAYS', '14,3,90'],
  ['ADS_RESTATE_DAYS', '0,14,90'],
  ['ADS_RESTATE_DAYS', '3,14,often'],
])('%s does not take %s', (name, value) => {
  const base = { ADS_BASE_URL: 'https://a.example/ads/v3', ADS_ACCESS_TOKEN: 'x' };
  expect(problems({ ...base, [name]: value })).toContain(name);
});

test.each(['ADS_ACCOUNT_IDS', 'WORKFLOW_DAGS', 'TRACKER_GROUPS'])(
  'a list that names nothing is not one of all: %s',
  (name) => {
    expect(problems({ WORKFLOW_BASE_URL: 'http://127.0.0.1:9', [name]: ' , ' })).toContain(
      `${name}: ',' names nothing`,
    );
  },
);

test('a value that .env cuts off at its # is warned of, without being shown; a comment behind a blank is none', () => {
  const read = (line: string): readonly string[] =>
    readConfig(
      {},
      directory({
        '.env': `TRACKER_EMAIL=me@x.example # me\r\n${line}\r\nTRACKER_BASE_URL=https://t.example`,
      }),
    ).warnings;
  for (const line of ['TRACKER_API_TOKEN=hunter#2', 'export TRACKER_API_TOKEN = hunter#2'])
    expect(read(line)).toEqual([
      'TRACKER_API_TOKEN: ends in .env before its #, where a comment begins; quotes keep it whole',
    ]);
  for (const line of [
    'TRACKER_API_TOKEN="hunter#2"',
    "TRACKER_API_TOKEN='hunter#2'",
    'TRACKER_API_TOKEN=hunter #2',
    '#A=b#c\r\nTRACKER_API_TOKEN=x',
  ])
    expect(read(line)).toEqual([]);
});

test('a misspelt variable is warned about', () => {
  expect(readConfig({ TRACKER_TOKEN: 'x' }, directory()).warnings).toEqual([
    expect.stringContaining('TRACKER_TOKEN'),
  ]);
});

test('.env.example names every variable, and no other', () => {
  const example = fs.readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');
  const named = [...example.matchAll(/^#?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
  expect([...named].sort()).toEqual([...plain, ...secrets].sort());
});

test('dates are days or instants in UTC, and real', () => {
  expect(parseInstant('2024-01-31')).toEqual(new Date('2024-01-31T00:00:00Z'));
  expect(parseInstant('2024-01-31T08:30Z')).toEqual(new Date('2024-01-31T08:30:00Z'));
  for (const text of [
    '2024-02-30',
    '2024-13-01',
    '31.01.2024',
    'now',
    '2024-01-31T08:30',
    '2024-01-31T24:00Z',
    '0000-01-01',
    '',
  ]) {
    expect(parseInstant(text), text).toBeUndefined();
  }
});

test.each(['TRACKER_START', 'ADS_START'])('a history that begins in the future is refused: %s', (name) => {
  expect(problems({ ...tracker, [name]: '2206-01-01' })).toContain(
    `${name}: '2206-01-01' lies in the future`,
  );
});

test('a webhook is told by https, or in the clear to this machine itself', () => {
  const to = (url: string) => ({ TIDEMARK_WEBHOOK_URL: url, TIDEMARK_WEBHOOK_SECRET: 'x' });
  expect(problems(to('http://hooks.example/token'))).toContain(
    'TIDEMARK_WEBHOOK_URL: is not an https address',
  );
  expect(problems(to('file:///etc/passwd'))).not.toContain('passwd');
  expect(problems(to('https://me:hunter2@hooks.example/'))).toMatch(
    /TIDEMARK_WEBHOOK_URL: must not hold a user/,
  );
  expect(problems(to('https://me:hunter2@hooks.example/'))).not.toContain('hunter2');
  expect(readConfig(to('http://127.0.0.1:9/x'), directory()).notify.webhookUrl?.reveal()).toBe(
    'http://127.0.0.1:9/x',
  );
});

test('a token that no Authorization header can carry is refused, without being shown', () => {
  for (const token of ['two words', 'schlüssel', 'tab\tin it', 'naïve-✓']) {
    const told = problems({ TIDEMARK_API_TOKEN: token, TIDEMARK_READ_TOKEN: `${token}!` });
    expect(told).toMatch(/TIDEMARK_API_TOKEN: .*blank/);
    expect(told).toMatch(/TIDEMARK_READ_TOKEN: .*blank/);
    expect(told).not.toContain(token);
  }
  expect(problems({ TIDEMARK_API_TOKEN_FILE: 'token' }, directory({ token: 'first\nsecond\n' }))).toContain(
    'blank',
  );
  expect(readConfig({ TIDEMARK_API_TOKEN: '~!abc/+=-._:' }, directory()).server.apiToken?.reveal()).toBe(
    '~!abc/+=-._:',
  );
});

test('the path of the workflow engine’s API is not a part of its base URL', () => {
  for (const path of ['/api/v1', '/api/v1/', '/api/v2']) {
    const config = readConfig({ WORKFLOW_BASE_URL: `https://x.example/dagu${path}` }, directory());
    expect(config.workflow?.baseUrl).toBe('https://x.example/dagu');
    expect(config.warnings).toEqual([expect.stringContaining('WORKFLOW_BASE_URL')]);
  }
  expect(readConfig({ WORKFLOW_BASE_URL: 'https://x.example/dagu' }, directory()).warnings).toEqual([]);
});

test('proxies are named as all programs name them, in lower case first', () => {
  const { proxies } = readConfig(
    {
      https_proxy: 'http://lower.corp:3128',
      HTTPS_PROXY: 'http://upper.corp:3128',
      HTTP_PROXY: 'plain.corp:8080',
      NO_PROXY: 'a.corp, .b.corp',
    },
    directory(),
  );
  expect(proxies.https?.reveal()).toBe('http://lower.corp:3128/');
  expect(proxies.http?.reveal()).toBe('http://plain.corp:8080/');
  expect(proxies.except).toEqual(['a.corp', '.b.corp']);
});

test('a proxy of the environment wins over one of .env, in whatever case each is written', () => {
  const cwd = directory({ '.env': 'https_proxy=http://file.corp:3128\nno_proxy=file.corp\n' });
  const { proxies } = readConfig({ HTTPS_PROXY: 'http://set.corp:3128', NO_PROXY: 'set.corp' }, cwd);
  expect(proxies.https?.reveal()).toBe('http://set.corp:3128/');
  expect(proxies.except).toEqual(['set.corp']);
});

test('a proxy that is none of HTTP is not used, with a warning that shows no password', () => {
  const wrong = [
    'me:50%hunter2@proxy.corp',
    'me:%E4hunter2@proxy.corp',
    'me:12/hunter2@proxy.corp',
    'me:12#hunter2@proxy.corp',
  ];
  const others = [
    'socks5://me:hunter2@proxy.corp:1080',
    'http://',
    'two words',
    'http://proxy.corp/proxy.pac',
  ];
  for (const url of [...others, ...wrong]) {
    const { proxies, warnings } = readConfig({ HTTPS_PROXY: url }, directory());
    expect(proxies).toEqual({ except: [] });
    expect(warnings).toEqual([expect.stringMatching(/^HTTPS_PROXY: .*no proxy is used/)]);
    expect(warnings.join()).not.toContain('hunter2');
  }
});

test('a token of a source that no request could carry is refused in words, before anything is asked', () => {
  for (const token of ['a\nb', 'a\tb', 'schlüssel', '…']) {
    expect(problems({ WORKFLOW_BASE_URL: 'http://127.0.0.1:1', WORKFLOW_TOKEN: token })).toMatch(
      /WORKFLOW_TOKEN: has a line break or/,
    );
    expect(problems({ ADS_BASE_URL: 'http://127.0.0.1:1/ads/v3', ADS_ACCESS_TOKEN: token })).toMatch(
      /ADS_ACCESS_TOKEN: has a line break or/,
    );
  }
});

test('an account that Basic auth cannot name, and a header that says something else, are refused in words', () => {
  expect(problems({ ...tracker, TRACKER_EMAIL: 'me@x.example:token' })).toContain(
    'TRACKER_EMAIL: has a colon',
  );
  for (const header of ['Authorization', 'host', 'Content-Type'])
    expect(
      problems({ ADS_BASE_URL: 'http://127.0.0.1:1/ads/v3', ADS_ACCESS_TOKEN: 'a', ADS_SDK_HEADER: header }),
    ).toContain(`ADS_SDK_HEADER: '${header}' is a header that says something else`);
});
