import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { parseInstant } from '../../../src/config/values.ts';
import { type AdsConfig, credentialsOf, sdkHeaderFor } from '../../../src/connectors/spotify-ads/config.ts';
import { Misconfigured } from '../../../src/core/errors.ts';
import { Secret } from '../../../src/core/secret.ts';
import { configOf, shippedVariables } from '../../support/config.ts';

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

const variables = shippedVariables.map(({ name }) => name);
const secrets = shippedVariables.flatMap(({ name, isSecret }) => (isSecret ? [name] : []));
const read = (env: NodeJS.ProcessEnv, cwd = directory()) => {
  const { pipelines, nightly, shown, ...config } = configOf(env, cwd);
  // The values of each pipeline that is configured.
  const configured = pipelines.flatMap(({ name, values }) => (values ? [[name, values] as const] : []));
  type Values = Partial<Readonly<Record<'tracker' | 'ads' | 'workflow', Readonly<Record<string, unknown>>>>>;
  return { ...config, sources: Object.fromEntries(configured) as Values };
};

const tokenOf = ({ tracker }: ReturnType<typeof read>['sources']) => {
  const token = tracker?.apiToken;
  return token instanceof Secret ? token.reveal() : undefined;
};

function problems(env: NodeJS.ProcessEnv, cwd = directory()): string {
  try {
    read(env, cwd);
  } catch (error) {
    if (error instanceof Misconfigured) return error.message;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

const tracker = {
  TRACKER_BASE_URL: 'https://x.example/',
  TRACKER_EMAIL: 'a@x.example',
  TRACKER_API_TOKEN: 't0p-s3cret',
};
const ads = { ADS_BASE_URL: 'https://a.example/ads/v3', ADS_ACCESS_TOKEN: 'x' };
const workflow = { WORKFLOW_BASE_URL: 'http://127.0.0.1:9' };

test('without variables no source is configured and the warehouse is embedded in the working directory', () => {
  const cwd = directory();
  expect(read({}, cwd)).toEqual({
    home: path.join(cwd, '.tidemark'),
    server: { host: '127.0.0.1', port: 8080, stuckMinutes: 15, jobs: expect.any(Number), jobsPerSite: 2 },
    notify: [],
    proxies: { except: [] },
    reporting: {
      timeZone: 'UTC',
      workingDays: [1, 2, 3, 4, 5],
      fiscalYearStart: 1,
      names: 'shown',
      restrictedIssues: 'hidden',
    },
    runHours: 20,
    sources: {},
    warnings: [],
  });
});

test('working days are shown as their variable takes them', () => {
  const { reporting, shown } = configOf({ TIDEMARK_WORKING_DAYS: 'Fri, MON' }, directory());
  expect(reporting.workingDays).toEqual([1, 5]);
  const value = shown.find(({ name }) => name === 'TIDEMARK_WORKING_DAYS')?.value;
  expect(value).toBe('mon,fri');
  expect(configOf({ TIDEMARK_WORKING_DAYS: value }, directory()).reporting.workingDays).toEqual([1, 5]);
});

test('a tracker needs a base URL, an e-mail and a token; the rest has defaults', () => {
  const { sources, warnings } = read(tracker);
  expect(sources.tracker).toMatchObject({
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
  expect(tokenOf(sources)).toBe('t0p-s3cret');
  expect(warnings).toEqual([]);
});

test('every problem is reported at once, each with its variable', () => {
  const wrong = {
    TRACKER_BASE_URL: 'x.example',
    TRACKER_START: '2024-02-30',
    TRACKER_CHANGES: 'sometimes',
    TRACKER_CONCURRENCY: '0',
    TRACKER_REQUESTS_PER_SECOND: '-1',
    TIDEMARK_PORT: '99999',
    LOG_LEVEL: 'loud',
    ADS_SDK_HEADER: 'two words',
  };
  const missing = ['TRACKER_EMAIL', 'TRACKER_API_TOKEN', 'WORKFLOW_BASE_URL'];
  const ofAds = ['ADS_CLIENT_ID', 'ADS_CLIENT_SECRET', 'ADS_REFRESH_TOKEN', 'ADS_TOKEN_URL'];
  const message = problems({ ...wrong, ADS_BASE_URL: 'https://ads.example/ads/v3', WORKFLOW_TOKEN: 'w' });
  for (const name of [...Object.keys(wrong), ...missing, ...ofAds])
    expect(message).toMatch(new RegExp(`^  ${name}: `, 'm'));
  expect(message).toContain('15 problems');
});

test('the environment wins over .env, and .env over the default', () => {
  const cwd = directory({ '.env': 'TIDEMARK_PORT=1111\nLOG_LEVEL=debug\nTIDEMARK_HOME="data dir"\n' });
  const config = read({ TIDEMARK_PORT: '2222', LOG_LEVEL: '' }, cwd);
  expect(config).toMatchObject({
    server: { port: 2222 },
    logLevel: 'debug',
    home: path.join(cwd, 'data dir'),
  });
});

test('the first line of an .env with a byte order mark counts, and UTF-16 is refused', () => {
  const text = 'TRACKER_JQL=project = WEB\r\nTIDEMARK_PORT=1111\r\n';
  const cwd = directory({ '.env': `\ufeff${text}` });
  expect(read(tracker, cwd).sources.tracker?.jql).toBe('project = WEB');
  fs.writeFileSync(path.join(cwd, '.env'), Buffer.from(`\ufeff${text}`, 'utf16le'));
  expect(problems(tracker, cwd)).toContain('save it as UTF-8');
});

test('every secret can be given as a file, but not both ways', () => {
  const cwd = directory({ token: 'from-file\n', '.env': 'TRACKER_API_TOKEN=from-dotenv' });
  for (const name of secrets)
    expect(problems({ [`${name}_FILE`]: 'missing' }, cwd)).toContain(
      `${name}_FILE: cannot read ${path.join(cwd, 'missing')} (ENOENT`,
    );
  const config = read({ ...tracker, TRACKER_API_TOKEN: '', TRACKER_API_TOKEN_FILE: 'token' }, cwd);
  expect(tokenOf(config.sources)).toBe('from-file');
  expect(config.warnings).toEqual([]);
  expect(problems({ ...tracker, TRACKER_API_TOKEN_FILE: 'token' }, cwd)).toContain('keep one');
});

test('a secret file that others can read gives a warning, an empty one is refused', () => {
  const cwd = directory({ open: 'x', empty: '\n' }, 0o644);
  expect(read({ TIDEMARK_API_TOKEN_FILE: 'open' }, cwd).warnings).toEqual([
    expect.stringContaining('chmod 600'),
  ]);
  expect(problems({ TIDEMARK_API_TOKEN_FILE: 'empty' }, cwd)).toContain('is empty');
});

test.runIf(process.getuid?.() === 0)('a secret of another user may be open to our group, not to all', () => {
  const cwd = directory({ token: 'x' }, 0o440);
  fs.chownSync(path.join(cwd, 'token'), 1000, 0);
  expect(read({ TIDEMARK_API_TOKEN_FILE: 'token' }, cwd).warnings).toEqual([]);
  fs.chmodSync(path.join(cwd, 'token'), 0o444);
  expect(read({ TIDEMARK_API_TOKEN_FILE: 'token' }, cwd).warnings).toEqual([
    expect.stringContaining('can be read by others (mode 444)'),
  ]);
});

test('no printed form of a configuration or of its problems shows a secret', () => {
  const secretOf = (name: string): string =>
    /WEBHOOK_URL$/.test(name) ? `https://hooks.example/s3cret-of-${name}` : `s3cret-of-${name}`;
  const formed = {
    ...mail,
    TIDEMARK_SECRET_KEY: 's3cret'.repeat(6),
    TIDEMARK_PAGERDUTY_ROUTING_KEY: 's3cret'.padEnd(32, 'x'),
    TIDEMARK_SMTP_URL: 'smtps://s3cret:s3cret@smtp.example',
  };
  const all = { ...Object.fromEntries(secrets.map((name) => [name, secretOf(name)])), ...formed };
  const { ADS_BASE_URL } = ads;
  const env = { ...all, ...tracker, TRACKER_API_TOKEN: 's3cret', ADS_BASE_URL, ...workflow };
  const config = read(env);
  const inspected = inspect(config, { depth: null, showHidden: true });
  expect([JSON.stringify(config), inspected, `${config.databaseUrl}`].join()).not.toContain('s3cret');
  expect(config.databaseUrl?.reveal()).toBe('s3cret-of-DATABASE_URL');
  expect(problems({ ...env, TRACKER_BASE_URL: 'https://u:s3cret@x.example' })).not.toContain('s3cret');
});

const reader = { TIDEMARK_READ_TOKEN: 'r' };
const hook = { TIDEMARK_WEBHOOK_SECRET: 'x' };
const mail = {
  TIDEMARK_SMTP_URL: 'smtp://x.example',
  TIDEMARK_EMAIL_FROM: 't@x.example',
  TIDEMARK_EMAIL_TO: 'a@x.example, b@x.example',
};
test.each<readonly [NodeJS.ProcessEnv, string]>([
  [{ ...tracker, TRACKER_BASE_URL: 'https://u:p@x.example' }, 'TRACKER_BASE_URL: must not hold credentials'],
  [{ ...tracker, TRACKER_BASE_URL: 'ftp://x.example' }, 'https://'],
  [{ ...tracker, TRACKER_BASE_URL: 'https://x.example/?a=1' }, 'query'],
  [{ ...tracker, TRACKER_BASE_URL: 'not a url' }, 'is not a URL'],
  [{ ...tracker, TRACKER_EMAIL: 'me@x.example:token' }, 'TRACKER_EMAIL: has a colon'],
  [{ TRACKER_START: '2206-01-01' }, "TRACKER_START: '2206-01-01' is no date, or lies in the future"],
  [{ ...workflow, WORKFLOW_USERNAME: 'ops' }, 'WORKFLOW_PASSWORD: is missing'],
  [{ ...workflow, WORKFLOW_PASSWORD: 'x' }, 'WORKFLOW_USERNAME: is missing'],
  [{ ...workflow, WORKFLOW_USERNAME: 'a:b', WORKFLOW_PASSWORD: 'x' }, 'WORKFLOW_USERNAME: has a colon'],
  [{ ...workflow, WORKFLOW_DAGS: ',' }, "WORKFLOW_DAGS: ',' names nothing"],
  [{ ...ads, ADS_REPORT_HOSTS: 'https://files.example/' }, 'ADS_REPORT_HOSTS'],
  [{ ...ads, ADS_RESTATE_DAYS: '3' }, 'ADS_RESTATE_DAYS'],
  [{ ...ads, ADS_RESTATE_DAYS: '14,3,90' }, 'ADS_RESTATE_DAYS'],
  [{ ...ads, ADS_SDK_HEADER: 'Authorization' }, "'Authorization' is a header that says something else"],
  [{ TIDEMARK_HOST: '0.0.0.0' }, 'TIDEMARK_API_TOKEN: is missing'],
  [reader, 'TIDEMARK_API_TOKEN: is missing'],
  [{ ...reader, TIDEMARK_API_TOKEN: 'r' }, 'TIDEMARK_READ_TOKEN: equals'],
  [{ ...hook, TIDEMARK_WEBHOOK_URL: 'http://hooks.example/t' }, 'is not an https address'],
  [{ ...hook, TIDEMARK_WEBHOOK_URL: 'https://me:pw@hooks.example/' }, 'without user and password'],
  [
    { TIDEMARK_PAGERDUTY_ROUTING_KEY: 'k'.repeat(31) },
    'TIDEMARK_PAGERDUTY_ROUTING_KEY: is no integration key',
  ],
  [{ TIDEMARK_PAGERDUTY_REGION: 'mars' }, "TIDEMARK_PAGERDUTY_REGION: 'mars' is none of us, eu"],
  [{ ...mail, TIDEMARK_EMAIL_FROM: '' }, 'TIDEMARK_EMAIL_FROM: is missing'],
  [{ ...mail, TIDEMARK_EMAIL_FROM: 'Tidemark <t@x.example>' }, 'TIDEMARK_EMAIL_FROM: '],
  [{ ...mail, TIDEMARK_EMAIL_TO: '' }, 'TIDEMARK_EMAIL_TO: is missing'],
  [{ ...mail, TIDEMARK_EMAIL_TO: 'a@x.example, b' }, 'is no list of e-mail addresses'],
  [{ ...mail, TIDEMARK_SMTP_URL: '' }, 'TIDEMARK_SMTP_URL: is missing'],
  [{ ...mail, TIDEMARK_SMTP_URL: 'smtp.example.com:587' }, 'TIDEMARK_SMTP_URL: is no address like smtps://'],
  [{ ...mail, TIDEMARK_SMTP_URL: 'https://smtp.example.com' }, 'is no address like smtps://'],
  [{ ...mail, TIDEMARK_SMTP_URL: 'smtp:///path' }, 'is no address like smtps://'],
  [{ ...mail, TIDEMARK_SMTP_URL: 'smtp://x.example/?tls.rejectUnauthorized=false' }, 'must not have a query'],
])('%o is refused', (env, message) => {
  expect(problems(env)).toContain(message);
});

test.each([
  ['TIDEMARK_API_TOKEN', ['two words', 'schlüssel', 'tab\tin it', 'naïve-✓'], 'blank'],
  ['TIDEMARK_READ_TOKEN', ['two words'], 'blank'],
  ['WORKFLOW_TOKEN', ['a\nb', 'a\tb', 'schlüssel', '…'], 'line break'],
  ['ADS_ACCESS_TOKEN', ['a\nb', 'schlüssel'], 'line break'],
])('%s that no header can carry is refused without being shown', (name, tokens, message) => {
  for (const token of tokens) {
    const found = problems({ ...workflow, ...ads, [name]: token });
    expect(found).toMatch(new RegExp(`${name}: .*${message}`));
    expect(found).not.toContain(token);
  }
});

test('http is accepted, with a warning unless the server is this machine', () => {
  for (const url of ['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:1', 'https://x.example'])
    expect(read({ ...tracker, TRACKER_BASE_URL: url }).warnings).toEqual([]);
  const config = read({ ...tracker, TRACKER_BASE_URL: 'http://127.0.0.1.evil.example/jira//' });
  expect(config.warnings).toEqual([expect.stringContaining('unencrypted')]);
  expect(config.sources.tracker?.baseUrl).toBe('http://127.0.0.1.evil.example/jira');
});

test('ads take an access token, or all that is needed to get one', () => {
  const base = { ADS_BASE_URL: 'https://a.example/ads/v3/', ADS_ACCOUNT_IDS: 'a, b,,' };
  expect(read({ ...base, ADS_ACCESS_TOKEN: 'x' }).sources.ads).toMatchObject({
    baseUrl: 'https://a.example/ads/v3',
    accountIds: ['a', 'b'],
  });
  const client = { ADS_CLIENT_ID: 'i', ADS_CLIENT_SECRET: 's', ADS_REFRESH_TOKEN: 'r' };
  const tokenUrl = 'https://t.example/token';
  const { ads } = read({ ...base, ...client, ADS_TOKEN_URL: tokenUrl }).sources;
  expect(credentialsOf(ads as AdsConfig)).toMatchObject({ kind: 'refresh', tokenUrl });
});

test('the header that names the client is the one that the host of the ads platform expects', () => {
  const vendor = ['https://api-partner.spotify.com/ads/v3', 'https://API-Partner.Spotify.com.:443/ads/v3'];
  for (const url of vendor) expect(sdkHeaderFor(url), url).toBe('X-Spotify-Ads-Sdk');
  // A proxy of one's own is another host, whatever its path says; ADS_SDK_HEADER names the header there.
  const others = ['https://proxy.example/api-partner.spotify.com/ads/v3', 'http://127.0.0.1:8080/ads/v3'];
  const alike = ['https://spotify.com.example/ads/v3', 'https://notspotify.com/ads/v3'];
  for (const url of [...others, ...alike]) expect(sdkHeaderFor(url), url).toBe('X-Service-Ads-Sdk');
  expect(read({ ...ads, ADS_SDK_HEADER: 'X-Own' }).sources.ads).toMatchObject({ sdkHeader: 'X-Own' });
});

test('ads keep to the vendor’s rates and restate 3, 14 and 90 days unless set otherwise', () => {
  expect(read(ads).sources.ads).toMatchObject({
    concurrency: 8,
    requestsPerSecond: 50,
    reportRequestsPerSecond: 5,
    reportHosts: ['storage.googleapis.com'],
    restateDays: [3, 14, 90],
  });
  const set = {
    ADS_CONCURRENCY: '2',
    ADS_REQUESTS_PER_SECOND: '0',
    ADS_REPORT_REQUESTS_PER_SECOND: '0.5',
    ADS_REPORT_HOSTS: 'Files.example, 127.0.0.1:8080,[::1]:1',
    ADS_RESTATE_DAYS: '1, 7,7',
  };
  expect(read({ ...ads, ...set }).sources.ads).toMatchObject({
    concurrency: 2,
    requestsPerSecond: 0,
    reportRequestsPerSecond: 0.5,
    reportHosts: ['files.example', '127.0.0.1:8080', '[::1]:1'],
    restateDays: [1, 7, 7],
  });
});

test('of two logins of the workflow engine the token is used, with a warning', () => {
  const both = { WORKFLOW_USERNAME: 'a', WORKFLOW_PASSWORD: 'x', WORKFLOW_TOKEN: 't' };
  expect(read({ ...workflow, ...both }).warnings).toEqual([
    'WORKFLOW_TOKEN: is used, so the user name and the password are not',
  ]);
});

test('the API path is not a part of the base URL of the workflow engine', () => {
  for (const end of ['/api/v1', '/api/v1/', '/api/v2']) {
    const config = read({ WORKFLOW_BASE_URL: `https://x.example/dagu${end}` });
    expect(config.sources.workflow?.baseUrl).toBe('https://x.example/dagu');
  }
});

test('a value that .env cuts off at its # gives a warning that does not show it; a comment does not', () => {
  const warnings = (line: string) => {
    const lines = ['TRACKER_EMAIL=me@x.example # me', line, 'TRACKER_BASE_URL=https://t.example'];
    return read({}, directory({ '.env': lines.join('\r\n') })).warnings;
  };
  for (const line of ['TRACKER_API_TOKEN=hunter#2', 'export TRACKER_API_TOKEN = hunter#2'])
    expect(warnings(line)).toEqual([
      'TRACKER_API_TOKEN: ends in .env before its #, where a comment begins; quotes keep it whole',
    ]);
  for (const line of [
    'TRACKER_API_TOKEN="hunter#2"',
    'TRACKER_API_TOKEN=hunter #2',
    '#A=b#c\r\nTRACKER_API_TOKEN=x',
  ])
    expect(warnings(line)).toEqual([]);
});

test('a misspelt variable gives a warning', () => {
  expect(read({ TRACKER_TOKEN: 'x' }).warnings).toEqual([expect.stringContaining('TRACKER_TOKEN')]);
});

test('.env.example names every variable, and no other', () => {
  const example = fs.readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');
  const named = [...example.matchAll(/^#?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
  expect([...named].sort()).toEqual([...variables].sort());
});

test('dates are days or instants in UTC, and real', () => {
  expect(parseInstant('2024-01-31')).toEqual(new Date('2024-01-31T00:00:00Z'));
  expect(parseInstant('2024-01-31T08:30Z')).toEqual(new Date('2024-01-31T08:30:00Z'));
  const wrong = [
    '2024-02-30',
    '2024-13-01',
    '31.01.2024',
    'now',
    '2024-01-31T08:30',
    '2024-01-31T24:00Z',
    '',
  ];
  expect([...wrong, '0000-01-01'].map(parseInstant).filter(Boolean)).toEqual([]);
});

test('notifications go over https, or in the clear to this machine', () => {
  const config = read({ ...hook, TIDEMARK_WEBHOOK_URL: 'http://127.0.0.1:9/x' });
  expect(config.notify.map(({ name, url }) => [name, url.reveal()])).toEqual([
    ['webhook', 'http://127.0.0.1:9/x'],
  ]);
});

test('PagerDuty is asked in the region of the account, and e-mail goes to each recipient', () => {
  const key = { TIDEMARK_PAGERDUTY_ROUTING_KEY: '0aB'.repeat(10).padEnd(32, 'z') };
  const urls = [{}, { TIDEMARK_PAGERDUTY_REGION: 'EU' }].map((region) =>
    read({ ...key, ...region }).notify.map(({ url }) => url.reveal()),
  );
  expect(urls).toEqual([
    ['https://events.pagerduty.com/v2/enqueue'],
    ['https://events.eu.pagerduty.com/v2/enqueue'],
  ]);
  expect(read(mail).notify).toMatchObject([
    { name: 'email', from: 't@x.example', to: ['a@x.example', 'b@x.example'] },
  ]);
});

test('proxies are named as other programs name them, in lower case first; the environment wins', () => {
  const env = {
    https_proxy: 'http://lower.corp:3128',
    HTTPS_PROXY: 'http://upper.corp:3128',
    HTTP_PROXY: 'plain.corp:8080',
    NO_PROXY: 'a.corp, .b.corp',
  };
  const { http, https, except } = read(env).proxies;
  expect([https?.reveal(), http?.reveal()]).toEqual(['http://lower.corp:3128/', 'http://plain.corp:8080/']);
  expect(except).toEqual(['a.corp', '.b.corp']);
  const cwd = directory({ '.env': 'https_proxy=http://file.corp:3128\nno_proxy=file.corp\n' });
  const set = read({ HTTPS_PROXY: 'http://set.corp:3128', NO_PROXY: 'set.corp' }, cwd).proxies;
  expect([set.https?.reveal(), set.except]).toEqual(['http://set.corp:3128/', ['set.corp']]);
});

test.each([
  'socks5://me:hunter2@proxy.corp:1080',
  'http://',
  'two words',
  'http://proxy.corp/proxy.pac',
  'me:50%hunter2@proxy.corp',
  'me:%E4hunter2@proxy.corp',
  'me:12/hunter2@proxy.corp',
  'me:12#hunter2@proxy.corp',
])('%s is no HTTP proxy: it is not used, with a warning that shows no password', (url) => {
  const { proxies, warnings } = read({ HTTPS_PROXY: url });
  expect(proxies).toEqual({ except: [] });
  expect(warnings).toEqual([expect.stringMatching(/^HTTPS_PROXY: .*no proxy is used/)]);
  expect(warnings.join()).not.toContain('hunter2');
});
