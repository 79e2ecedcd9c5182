/** DATABASE_URL: checked, read as psql reads it, and shown without its password. */
import { Misconfigured } from '../core/errors.ts';

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/**
 * The connection string as pg shall read it. `sslmode` means what it means to libpq and psql (pg's own reading differs).
 * Throws `Misconfigured` for anything else than a postgres URL, without quoting it: it may hold a password.
 */
export function connectionString(url: string): string {
  const parsed = parse(url);
  const mode = parsed.searchParams.get('sslmode');
  if (mode === null) return parsed.href;
  if (!modes.includes(mode))
    throw new Misconfigured(`DATABASE_URL has sslmode=${mode}; it may be ${modes.join(', ')}`);
  if (mode === 'allow') parsed.searchParams.set('sslmode', 'prefer');
  if (mode !== 'no-verify') parsed.searchParams.set('uselibpqcompat', 'true');
  return parsed.href;
}

/** The same without encryption, if it was only preferred and the server has none; else undefined. */
export function withoutTls(target: string, error: unknown): string | undefined {
  const parsed = parse(target);
  const hasNoTls = error instanceof Error && error.message === 'The server does not support SSL connections';
  if (!hasNoTls || parsed.searchParams.get('sslmode') !== 'prefer') return undefined;
  parsed.searchParams.set('sslmode', 'disable');
  parsed.searchParams.delete('uselibpqcompat');
  return parsed.href;
}

/** `host:port/database` as the URL has them, without user and password. */
export function address(url: string): string {
  const { hostname, port, pathname, username, searchParams } = parse(url);
  const host = hostname || searchParams.get('host') || 'localhost';
  return `${host}:${port || searchParams.get('port') || '5432'}/${pathname.slice(1) || username}`;
}

function parse(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && /^postgres(ql)?:$/.test(parsed.protocol) && !isTorn(parsed)) return parsed;
  throw new Misconfigured(
    'DATABASE_URL is not a Postgres URL; write postgres://user:password@host:5432/database (with ?sslmode=… if need be), ' +
      'special characters in it percent-encoded',
  );
}

/** A password with a bare `/`, `?` or `#` ends the host early: what follows, up to the real host, would be taken for a database and be shown. */
const isTorn = ({ username, pathname, search, hash }: URL): boolean =>
  /@/.test(pathname + hash) || (username === '' && /^[^=]*@/.test(search));
