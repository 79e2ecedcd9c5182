import { Misconfigured } from '../core/errors.ts';

const forms =
  'postgres://user:password@host:5432/database, with ?sslmode=disable|prefer|require|verify-ca|verify-full|no-verify if need be';

/**
 * The connection string as pg shall read it. `sslmode` means what it means to libpq and psql (pg's own reading differs).
 * Throws `Misconfigured` for anything else than a postgres URL, without quoting it: it may hold a password.
 */
export function connectionString(url: string): string {
  const parsed = parse(url);
  const mode = parsed.searchParams.get('sslmode');
  const known = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
  if (mode !== null && !known.includes(mode)) {
    throw new Misconfigured(`DATABASE_URL has sslmode=${mode}; known are ${known.join(', ')}`);
  }
  if (mode === 'verify-ca' && !parsed.searchParams.has('sslrootcert')) {
    throw new Misconfigured('DATABASE_URL has sslmode=verify-ca and no sslrootcert=FILE; or use verify-full');
  }
  if (mode === 'allow') parsed.searchParams.set('sslmode', 'prefer');
  if (mode !== null && mode !== 'no-verify') parsed.searchParams.set('uselibpqcompat', 'true');
  return parsed.href;
}

/** The same without encryption, if it was only preferred and the server has none; else undefined. */
export function withoutTls(target: string, error: unknown): string | undefined {
  if (!(error instanceof Error) || error.message !== 'The server does not support SSL connections')
    return undefined;
  const parsed = parse(target);
  if (parsed.searchParams.get('sslmode') !== 'prefer') return undefined;
  parsed.searchParams.set('sslmode', 'disable');
  parsed.searchParams.delete('uselibpqcompat');
  return parsed.href;
}

/** `host:port/database`, without user and password. */
export function address(url: string): string {
  const parsed = parse(url);
  const host = parsed.hostname || parsed.searchParams.get('host') || 'localhost';
  const database = decoded(parsed.pathname.slice(1)) || decoded(parsed.username);
  return `${host}:${parsed.port || parsed.searchParams.get('port') || '5432'}/${database}`;
}

/** pg reads most texts that are no percent-encoding as they are. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parse(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if ((parsed?.protocol !== 'postgres:' && parsed?.protocol !== 'postgresql:') || isTorn(parsed)) {
    throw new Misconfigured(
      `DATABASE_URL is not a Postgres URL; write ${forms}; special characters in it percent-encoded`,
    );
  }
  return parsed;
}

/** A password with a bare `/`, `?` or `#` ends the host early: what follows, up to the real host, would be taken for a database and be shown. */
function isTorn({ username, pathname, search, hash }: URL): boolean {
  return /@/.test(pathname + hash) || (username === '' && /^[^=]*@/.test(search));
}
