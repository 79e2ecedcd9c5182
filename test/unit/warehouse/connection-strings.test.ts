/**
 * What a connection string means, as a table. Each row is tried by Tidemark and, where psql is installed, by psql with the same text, the same
 * variables and the same home; both must end on the same server, as the same user, with or without TLS, or both must refuse.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { freePort } from '../../../src/embedded/embedded.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { targetOf, urlFor } from '../../../src/warehouse/routes.ts';
import * as certificates from '../../support/certificates.ts';
import { type OpenServer, openServer } from '../../support/open-server.ts';
import { tidemark } from '../cli/command.ts';

const hasPsql = spawnSync('psql', ['--version']).status === 0;
if (!hasPsql) console.warn('psql is not installed: connection strings are compared with the table alone');

let server: OpenServer;
let down: number;
let home: string;
let places: Readonly<Record<string, string>>;

beforeAll(async () => {
  server = await openServer({
    tls: { certificate: certificates.good, key: certificates.key },
    rules: [
      'local all all scram-sha-256',
      'hostnossl tls_only all all reject',
      'hostssl plain_only all all reject',
      'host all all 127.0.0.1/32 scram-sha-256',
    ],
    statements: [
      `create role "ödd" login password 'p%a:s/s@w#?d'`,
      'create database tls_only',
      'create database plain_only',
      `create database "ödd" owner "ödd"`,
    ],
  });
  down = await freePort();
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'tm-home-'));
  const { port, replica, directory } = server;
  const socket = encodeURIComponent(directory);
  places = { port: String(port), replica: String(replica), down: String(down), directory, socket, home };
  const file = (name: string, text: string, mode = 0o600) =>
    fs.writeFileSync(path.join(home, name), text, { mode });
  file(
    'passwords',
    `# for the tests\n*:1:*:*:another\n127.0.0.1:${port}:*:tidemark:t\\est\n127.0.0.1:*:ödd:*:p%a\\:s/s@w#?d\n`,
  );
  file('open-passwords', '*:*:*:*:test\n', 0o644);
  file('other.crt', certificates.other);
  file(
    'services',
    `[other]\nport=1\n[main]\n# a comment\nhost=127.0.0.1\nport=${port}\nuser=tidemark\n\npassword=test\n[last]\nport=2\n`,
  );
});
afterAll(async () => {
  fs.rmSync(home, { recursive: true, force: true });
  await server.remove();
});
afterEach(() => void vi.unstubAllEnvs());

/** The text with {port} and the like replaced. */
const filled = (text: string): string => text.replace(/\{(\w+)\}/g, (_, name) => places[name] ?? `{${name}}`);

type Env = Readonly<Record<string, string>>;
/** `user@database`, then how: `tls`, `plain` or `socket`, then what is not as usual: the name of the application, the memory for sorting. */
type Row = readonly [text: string, meant: string, env?: Env];

const good: readonly Row[] = [
  // Hosts.
  ['postgres://tidemark:test@127.0.0.1:{port}/tidemark', 'tidemark@tidemark tls'],
  ['postgresql://tidemark:test@127.0.0.1:{port}', 'tidemark@tidemark tls'],
  ['postgres://tidemark:test@{socket}:{port}/postgres', 'tidemark@postgres socket'],
  ['postgres://tidemark:test@/postgres?host={directory}&port={port}', 'tidemark@postgres socket'],
  [
    'postgres:///postgres?host={directory}&port={port}&user=tidemark&password=test',
    'tidemark@postgres socket',
  ],
  ['postgres://?user=tidemark&password=test&host=127.0.0.1&port={port}', 'tidemark@tidemark tls'],
  ['postgres://tidemark:test@:{port}/', 'tidemark@tidemark socket', { PGHOST: '{directory}' }],
  ['postgres://tidemark:test@127.0.0.1:{down},127.0.0.1:{port}/postgres', 'tidemark@postgres tls'],
  ['postgres://tidemark:test@{socket}:{down},{socket}:{port}/postgres', 'tidemark@postgres socket'],
  ['postgres://tidemark:test@127.0.0.2,127.0.0.1/postgres?port={port}', 'tidemark@postgres tls'],
  ['postgres://tidemark:test@localhost:{port}/postgres?sslmode=disable', 'tidemark@postgres plain'],
  // Names and passwords.
  ['postgres://%C3%B6dd:p%25a%3As%2Fs%40w%23%3Fd@127.0.0.1:{port}/%C3%B6dd', 'ödd@ödd tls'],
  ['postgres://%C3%B6dd:p%25a:s%2Fs%40w#?d@127.0.0.1:{port}/%C3%B6dd', 'ödd@ödd tls'],
  ['postgres://127.0.0.1:{port}/?user=%C3%B6dd&password=p%25a:s/s@w#?d', 'ödd@ödd tls'],
  // Words.
  ['host=127.0.0.1 port={port} user=tidemark password=test', 'tidemark@tidemark tls'],
  [
    `  host = '{directory}'  port={port} dbname = postgres user='tidemark' password=t\\est`,
    'tidemark@postgres socket',
  ],
  [
    `host=127.0.0.1 port={port} user=ödd password='p%a:s/s@w#?d' application_name='it\\'s me'`,
    `ödd@ödd tls it's me`,
  ],
  // TLS.
  ['postgres://tidemark:test@127.0.0.1:{port}/tls_only', 'tidemark@tls_only tls'],
  ['postgres://tidemark:test@127.0.0.1:{port}/plain_only', 'tidemark@plain_only plain'],
  ['postgres://tidemark:test@127.0.0.1:{port}/tls_only?sslmode=allow', 'tidemark@tls_only tls'],
  ['postgres://tidemark:test@127.0.0.1:{port}/postgres?sslmode=allow', 'tidemark@postgres plain'],
  ['postgres://tidemark:test@127.0.0.1:{port}/postgres?sslmode=prefer', 'tidemark@postgres tls'],
  ['postgres://tidemark:test@127.0.0.1:{port}/postgres?ssl=true', 'tidemark@postgres tls'],
  ['postgres://tidemark:test@{socket}:{port}/postgres?sslmode=require', 'tidemark@postgres socket'],
  [
    'postgres://tidemark:test@127.0.0.1:{port}/postgres?sslmode=verify-full&sslrootcert={directory}/root.crt',
    'tidemark@postgres tls',
  ],
  [
    'postgres://tidemark:test@localhost:{port}/postgres?sslmode=verify-ca&sslrootcert={directory}/root.crt',
    'tidemark@postgres tls',
  ],
  [
    'postgres://tidemark:test@localhost:{port}/postgres?sslmode=require&sslrootcert={directory}/root.crt',
    'tidemark@postgres tls',
  ],
  [
    'postgres://tidemark:test@127.0.0.1:{port}/postgres?sslrootcert={home}/other.crt',
    'tidemark@postgres plain',
  ],
  // Several servers.
  [
    'postgres://tidemark:test@127.0.0.1:{replica},127.0.0.1:{port}/postgres?target_session_attrs=read-write',
    'tidemark@postgres tls',
  ],
  [
    'postgres://tidemark:test@127.0.0.1:{replica},127.0.0.1:{port}/postgres',
    'tidemark@postgres tls',
    { PGTARGETSESSIONATTRS: 'primary' },
  ],
  [
    'host=127.0.0.1,127.0.0.1 port={replica},{port} user=tidemark password=test target_session_attrs=primary sslmode=disable',
    'tidemark@tidemark plain',
  ],
  // Options, variables and files.
  [
    'postgres://tidemark:test@127.0.0.1:{port}/postgres?options=-c%20work_mem%3D5MB',
    'tidemark@postgres tls work_mem 5MB',
  ],
  [
    'postgres://tidemark:test@127.0.0.1:{port}/postgres?application_name=mine',
    'tidemark@postgres tls mine',
    { PGAPPNAME: 'other' },
  ],
  [
    'postgres://tidemark:test@127.0.0.1:{port}/postgres',
    'tidemark@postgres tls other',
    { PGAPPNAME: 'other' },
  ],
  [
    'postgres://',
    'tidemark@postgres plain',
    {
      PGHOST: '127.0.0.1',
      PGPORT: '{port}',
      PGUSER: 'tidemark',
      PGPASSWORD: 'test',
      PGDATABASE: 'postgres',
      PGSSLMODE: 'disable',
    },
  ],
  ['postgres://tidemark@127.0.0.1:{port}', 'tidemark@tidemark tls', { PGPASSFILE: '{home}/passwords' }],
  [
    'postgres://%C3%B6dd@127.0.0.1:{port}?passfile={home}/passwords',
    'ödd@ödd tls',
    { PGPASSFILE: '/nowhere' },
  ],
  [
    'postgres:///postgres?service=main',
    'tidemark@postgres tls',
    { PGSERVICEFILE: '{home}/services', PGUSER: 'nobody', PGPORT: '1' },
  ],
  [
    'postgres:///?dbname=postgres',
    'tidemark@postgres tls',
    { PGSERVICE: 'main', PGSERVICEFILE: '{home}/services' },
  ],
  [
    'postgres://tidemark:test@127.0.0.1:{port}/postgres?connect_timeout=5&keepalives=1&gssencmode=disable&channel_binding=prefer',
    'tidemark@postgres tls',
  ],
];

/** Rows that must end in an error with these words. */
const bad: readonly Row[] = [
  ['postgres://tidemark:test@127.0.0.1:{replica}/postgres', 'replica'],
  [
    'postgres://tidemark:test@127.0.0.1:{port},127.0.0.1:{replica}/postgres?target_session_attrs=standby',
    'replica',
  ],
  [
    'postgres://tidemark:test@127.0.0.1:{port},127.0.0.1:{replica}/postgres?target_session_attrs=read-only',
    'replica',
  ],
  [
    'postgres://tidemark:test@127.0.0.1:{port},127.0.0.1:{replica}/postgres?target_session_attrs=prefer-standby',
    'replica',
  ],
  [
    'postgres://tidemark:test@127.0.0.1:{replica}/postgres?target_session_attrs=read-write',
    'target_session_attrs',
  ],
  ['postgres://tidemark:test@127.0.0.1:{port}/tls_only?sslmode=disable', 'pg_hba'],
  ['postgres://tidemark:test@127.0.0.1:{port}/plain_only?sslmode=require', 'pg_hba'],
  ['postgres://tidemark:test@127.0.0.1:{replica}/postgres?sslmode=require', 'no TLS'],
  [
    'postgres://tidemark:test@localhost:{port}/postgres?sslmode=verify-full&sslrootcert={directory}/root.crt',
    'certificate',
  ],
  [
    'postgres://tidemark:test@127.0.0.1:{port}/postgres?sslmode=require&sslrootcert={home}/other.crt',
    'certificate',
  ],
  ['postgres://tidemark:test@127.0.0.1:{port}/postgres?sslmode=verify-ca', 'sslrootcert'],
  ['postgres://tidemark:test@127.0.0.1:{port}/postgres?sslmode=verify-full', 'certificate'],
  [
    'postgres://tidemark:test@127.0.0.1:{port}/postgres?sslmode=verify-full&sslrootcert=/no/such/file',
    'sslrootcert',
  ],
  ['postgres://tidemark:hunter2@127.0.0.1:{port}/postgres', 'password'],
  ['postgres://tidemark@127.0.0.1:{port}/postgres', 'PGPASSWORD'],
  ['postgres://tidemark@127.0.0.1:{port}/postgres', 'chmod 600', { PGPASSFILE: '{home}/open-passwords' }],
  ['postgres://tidemark:hunter2@{socket}:{down}/postgres', 'cannot be reached'],
  ['postgres://tidemark:hun/ter2@127.0.0.1:{port}/postgres', '%2F'],
  ['postgres://tidemark:hun@ter2@127.0.0.1:{port}/postgres', '%40'],
  ['postgres://tidemark:hunter2%@127.0.0.1:{port}/postgres', '%25'],
  ['postgres://tidemark:hunter2%00@127.0.0.1:{port}/postgres', '%'],
  ['postgres://tidemark:hunter2@127.0.0.1:0/postgres', 'port'],
  ['postgres://tidemark:hunter2@127.0.0.1:70000/postgres', 'port'],
  ['postgres://tidemark:hunter2@[::1/postgres', 'IPv6'],
  ['postgres://tidemark:hunter2@127.0.0.1,127.0.0.2/postgres?port=1,2,3', '3 ports'],
  ['postgres://tidemark:hunter2@127.0.0.1:{port}/postgres?sslmode=maybe', 'sslmode'],
  ['postgres://tidemark:hunter2@127.0.0.1:{port}/postgres?target_session_attrs=best', 'target_session_attrs'],
  ['postgres://tidemark:hunter2@127.0.0.1:{port}/postgres?ssslmode=require', 'ssslmode'],
  ['postgres://tidemark:hunter2@127.0.0.1:{port}/postgres?pgbouncer=true', 'pgbouncer'],
  ['postgres://tidemark:hunter2@127.0.0.1:{port}/postgres?sslmode', 'name=value'],
  ['postgres://tidemark:hunter2@127.0.0.1:{port}/postgres?sslmode=require=yes', 'name=value'],
  [
    'postgres://tidemark:hunter2@127.0.0.1:{port}/postgres?service=none',
    'service',
    { PGSERVICEFILE: '{home}/services' },
  ],
  ['host=127.0.0.1 port={port} user=tidemark password=hunter2 nonsense=1', 'nonsense'],
  [`host=127.0.0.1 port={port} user=tidemark password='hunter2`, "'"],
  ['host=127.0.0.1 port={port} hunter2', '='],
  ['mysql://tidemark:hunter2@127.0.0.1:{port}/postgres', 'postgres://'],
];

/** Rows that psql accepts, and why Tidemark does not. */
const stricter: readonly Row[] = [
  ['postgres://tidemark:test@127.0.0.1:{port}/postgres?channel_binding=require', 'channel_binding'],
  ['postgres://tidemark:test@127.0.0.1:{port}/postgres?hostaddr=127.0.0.1', 'hostaddr'],
  [
    'postgres://tidemark:test@127.0.0.1:{port}/postgres?ssl_min_protocol_version=TLSv1.3',
    'ssl_min_protocol_version',
  ],
];

const question = `select current_user || '@' || current_database() || ' '
  || case when inet_server_port() is null then 'socket' when ssl then 'tls' else 'plain' end
  || case when current_setting('application_name') in ('tidemark', 'psql') then '' else ' ' || current_setting('application_name') end
  || replace(' work_mem ' || current_setting('work_mem'), ' work_mem 4MB', '')
  as answer from pg_stat_ssl where pid = pg_backend_pid()`;

/** What psql answers; undefined where it refuses. */
function byPsql(text: string, env: Env): string | undefined {
  const whole = { PATH: process.env.PATH, HOME: home, LC_ALL: 'C.UTF-8', ...env };
  const replica = `select 'replica' where pg_is_in_recovery()`;
  const words = ['-X', '-w', '-At', '-d', text, '-c', replica, '-c', question];
  const { status, stdout } = spawnSync('psql', words, { env: whole, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

async function byTidemark(text: string, env: Env): Promise<string> {
  for (const [name, value] of Object.entries({ HOME: home, ...env })) vi.stubEnv(name, value);
  const warehouse = await connect(text, { max: 2, retryMs: 0 });
  const { rows } = await warehouse.pool.query<{ answer: string }>(question);
  await warehouse.close();
  return rows[0]?.answer ?? '';
}

const filledEnv = (env: Env = {}): Env =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)]));

for (const [text, meant, env] of good)
  test(`${text} is ${meant}`, async () => {
    const given = filled(text);
    const variables = filledEnv(env);
    expect(await byTidemark(given, variables)).toBe(meant);
    if (hasPsql) expect(byPsql(given, variables)).toBe(meant);
  });

for (const [text, words, env] of bad)
  test(`${text} is refused with “${words}”`, async () => {
    const given = filled(text);
    const variables = filledEnv(env);
    const error = await byTidemark(given, variables).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toContain(words);
    expect(String(error)).not.toMatch(/hunter2|ter2/);
    // psql reads a replica, which Tidemark cannot write to.
    if (hasPsql) expect(byPsql(given, variables) ?? '').toMatch(words === 'replica' ? /^replica/ : /^$/);
  });

for (const [text, words] of stricter)
  test(`${text}, which psql accepts, is refused with “${words}”`, async () => {
    await expect(byTidemark(filled(text), {})).rejects.toThrow(words);
  });

test.each([
  ['127.0.0.1:{port}/postgres', 'primary, encrypted, certificate not verified'],
  [
    '127.0.0.1:{port}/postgres?sslmode=verify-full&sslrootcert={directory}/root.crt',
    'primary, encrypted, certificate verified',
  ],
  ['127.0.0.1:{port}/plain_only', 'primary, not encrypted'],
  ['{socket}:{port}/postgres', 'primary, a socket of this machine'],
])('check says of %s: %s', async (rest, fact) => {
  const env = { HOME: home, DATABASE_URL: filled(`postgres://tidemark:test@${rest}`) };
  const { code, out } = await tidemark('check --json', { env });
  expect(code).toBe(0);
  const { checks } = JSON.parse(out);
  const warehouse = checks.find(({ what }: { readonly what: string }) => what === 'warehouse');
  expect(warehouse.facts).toContain(fact);
});

test('the roots of the system are asked for with verify-full alone', () => {
  const ofSystem = (more: string) => () =>
    targetOf(`postgres://u@h/d?sslrootcert=system${more}`, {}).routes[0].line;
  expect(ofSystem('')()).toBe('encrypted, certificate verified');
  expect(ofSystem('&sslmode=verify-full')()).toBe('encrypted, certificate verified');
  expect(ofSystem('&sslmode=require')).toThrow('verify-full');
});

test('an empty service keeps every variable of the environment out', () => {
  const env = { PGHOST: 'elsewhere', PGSERVICE: 'none', PGREQUIREAUTH: 'md5', PGSSLMODE: 'require' };
  expect(
    targetOf('postgres://u@h/d?service=', env).routes.map(({ address, line }) => [address, line]),
  ).toEqual([
    ['h:5432/d', 'encrypted, certificate not verified'],
    ['h:5432/d', 'not encrypted'],
  ]);
});

test('the connection string of a reader has the same hosts and another user', () => {
  const text =
    'postgres://o:secret@%2Frun%2Fpg,[::1]:6432/a%20b?target_session_attrs=primary&sslmode=disable&options=-cx=y';
  const url = urlFor(targetOf(text.replace('=y', ''), {}), 'bi reader', 'p/w');
  expect(url).toBe(
    'postgres://bi%20reader:p%2Fw@%2Frun%2Fpg:5432,[::1]:6432/a%20b?sslmode=disable&target_session_attrs=primary',
  );
});
