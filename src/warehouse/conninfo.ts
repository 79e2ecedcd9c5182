/**
 * Reads a connection string as libpq does (manual of Postgres, chapter "libpq": Connection Strings, Environment Variables, The Connection
 * Service File). No message quotes a value: a password that is not percent-encoded may have ended up in it.
 */
import fs from 'node:fs';
import path from 'node:path';
import { Misconfigured } from '../core/errors.ts';

/** Parameters of a connection by libpq's names; one that is not given is undefined. */
export type Conninfo = Readonly<Record<string, string | undefined>>;

type Pairs = readonly (readonly [name: string, value: string])[];

/** Parameters that count here. */
const used =
  'host port dbname user password passfile service options application_name connect_timeout target_session_attrs ' +
  'sslmode sslrootcert sslcert sslkey sslpassword';

/** Parameters that change nothing here. */
const ignored =
  'client_encoding fallback_application_name gsslib gssdelegation keepalives keepalives_idle keepalives_interval keepalives_count ' +
  'krbsrvname load_balance_hosts max_protocol_version min_protocol_version sslcompression sslsni tcp_user_timeout';

/** Parameters that ask for what Tidemark cannot do, unless they have one of the harmless values. */
const unsupported =
  'channel_binding gssencmode hostaddr replication require_auth requirepeer ssl_max_protocol_version ssl_min_protocol_version ' +
  'sslcertmode sslcrl sslcrldir sslnegotiation';
const harmless = /^(|allow|disable|prefer|false|off|no|0|postgres|TLSv1(\.[12])?)$/;

const known = `${used} ${ignored} ${unsupported}`.split(' ');

/** The error for a part of the connection string. */
export const wrong = (what: string): Misconfigured => new Misconfigured(`DATABASE_URL: ${what}`);

/**
 * What the text gives, else the service that it or PGSERVICE names, else the variables PG…; an empty `service=` leaves the environment out.
 * Throws `Misconfigured`, which names the part, where libpq refuses the text or Tidemark cannot do what it asks for.
 */
export function conninfoOf(text: string, env: NodeJS.ProcessEnv): Conninfo {
  const given = new Map(/^postgres(ql)?:\/\//.test(text) ? ofUri(text) : ofWords(text));
  const service = given.get('service') ?? env.PGSERVICE;
  const variables = given.get('service') === '' ? [] : ofVariables(env);
  const all = new Map([...variables, ...(service ? ofService(service, env) : []), ...given]);
  for (const [name, value] of all) {
    if (!known.includes(name)) throw wrong(`libpq has no parameter “${name}”`);
    if (unsupported.split(' ').includes(name) && !harmless.test(value))
      throw wrong(`Tidemark cannot do what ${name} asks for; leave it out`);
  }
  return Object.fromEntries([...all].filter(([, value]) => value !== ''));
}

const irregular: Conninfo = {
  application_name: 'PGAPPNAME',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  dbname: 'PGDATABASE',
};

const ofVariables = (env: NodeJS.ProcessEnv): Pairs =>
  known.map((name) => [name, env[irregular[name] ?? `PG${name.replaceAll('_', '').toUpperCase()}`] ?? '']);

/** Ends a message: a name or password may hold what separates the parts. */
export const encode =
  'write special characters of names and passwords percent-encoded (% as %25, / as %2F, : as %3A, @ as %40)';

/** The first colon ends the user, the first @ the password, a slash before it the host. */
const uri =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^/?]*)(?:\/(?<dbname>[^?]*))?(?:\?(?<query>.*))?$/s;

function ofUri(text: string): Pairs {
  const { hosts = '', query = '', ...names } = uri.exec(text)?.groups ?? {};
  // libpq would go on, and show in its messages what may be half of a password.
  if (`${hosts}${names.dbname}`.includes('@'))
    throw wrong(`there is an @ behind that of the user: ${encode}`);
  const places = hosts.split(',').map((place) => {
    const [, v6, host = v6, port = ''] = /^(?:\[([^\]]+)\]|([^:[]*))(?::(\d*))?$/.exec(place) ?? [];
    if (host !== undefined) return { host, port };
    throw wrong(`a host is written as name:port, an IPv6 address as [::1]:port; ${encode}`);
  });
  const params = query.split('&').filter(Boolean);
  if (params.some((param) => param.split('=').length !== 2))
    throw wrong(`each parameter behind the ? is written name=value: ${encode}`);
  const pairs: Pairs = [
    ['host', places.map(({ host }) => host).join(',')],
    ['port', places.map(({ port }) => port).join(',')],
    ...Object.entries(names).map(([name, value]) => [name, value ?? ''] as const),
  ];
  const stated = pairs.filter(([, value]) => /[^,]/.test(value));
  const more = params.map((param) => (param === 'ssl=true' ? 'sslmode=require' : param).split('='));
  return [...stated, ...more].map(([name = '', value = '']) => [decoded(name), decoded(value)]);
}

function decoded(text: string): string {
  try {
    const plain = decodeURIComponent(text);
    if (!plain.includes('\0')) return plain;
  } catch {
    // Without the cause: it may quote a password.
  }
  throw wrong(`there is a % that is no percent-encoding: ${encode}`);
}

function ofWords(text: string): Pairs {
  if (!/^\s*\w+\s*=/.test(text))
    throw wrong(`write it as postgres://user:password@host:5432/database, or as host=… dbname=…; ${encode}`);
  const word = /\s*([^\s=]+)\s*=\s*(?:'((?:\\.|[^'\\])*)'|(?!')((?:\\.|[^\s\\])*))\s*/gsy;
  const words = [...text.matchAll(word)];
  if (words.map(([all]) => all).join('') !== text)
    throw wrong("a name has no =, or a value has no closing '");
  return words.map(([, name = '', quoted, bare = '']) => [name, (quoted ?? bare).replace(/\\(.)/gs, '$1')]);
}

function ofService(name: string, env: NodeJS.ProcessEnv): Pairs {
  const {
    PGSERVICEFILE: own = path.join(env.HOME ?? '', '.pg_service.conf'),
    PGSYSCONFDIR: system = '/etc',
  } = env;
  for (const file of [own, path.join(system, 'pg_service.conf')]) {
    const sections = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split(/^\s*\[/m) : [];
    const section = sections.find((each) => each.startsWith(`${name}]`));
    const lines = section?.matchAll(/^\s*([^\s#=]+)=(.*?)\s*$/gm);
    if (lines) return [...lines].map(([, key = '', value = '']) => [key, value]);
  }
  throw wrong(`there is no service “${name}” in ${own}`);
}
