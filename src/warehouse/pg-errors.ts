import {
  AuthFailed,
  type ErrorFacts,
  Misconfigured,
  saidBy,
  TidemarkError,
  Unreachable,
  WarehouseFull,
} from '../core/errors.ts';

/** What a failed connection means to the person who must do something about it. SQLSTATEs: Postgres manual, appendix A. */

const passingStates: ReadonlySet<string> = new Set([
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now: starting or recovering
  '53300', // too_many_connections
  '53400', // configuration_limit_exceeded
  '08000',
  '08001',
  '08003',
  '08004',
  '08006', // connection exceptions, also of poolers
]);

const passingCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'ENOTFOUND', // in a container world names appear late
  'EAI_AGAIN',
]);

/** The SQLSTATE of a server's error, the code of a network's, else undefined. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** True if trying again may help: the server is down, starting, full, or the network has a bad moment. */
export function isPassing(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isPassing);
  const code = codeOf(error);
  if (code !== undefined && (passingStates.has(code) || passingCodes.has(code))) return true;
  // A unix socket that is not there yet.
  if (code === 'ENOENT' && error instanceof Error && Reflect.get(error, 'syscall') === 'connect') return true;
  return (
    error instanceof Error &&
    /^Connection terminated|^timeout exceeded when trying to connect|^timeout expired/.test(error.message)
  );
}

/** SQLSTATEs of a server that answers and takes no writes. */
export const readOnly = '25006';
export const diskFull = '53100';

/** True if the server answers and nothing can be written there. */
export function isUnwritable(error: unknown): boolean {
  const code = codeOf(error);
  return code === readOnly || code === diskFull;
}

/** The error for what trying again does not help. */
export function refusal(error: unknown, address: string): unknown {
  if (error instanceof TidemarkError) return error;
  const facts = { cause: error };
  const said = saidBy(error);
  if (error instanceof URIError)
    return new Misconfigured('DATABASE_URL has a % that is no percent-encoding: write it as %25', facts);
  const code = codeOf(error);
  switch (code) {
    case '28P01':
      return new AuthFailed(`${address} refuses the user or the password: correct DATABASE_URL`, facts);
    case '28000':
      return new AuthFailed(
        `${address} does not let this user in (${said}): correct DATABASE_URL, or the server's pg_hba.conf`,
        facts,
      );
    case '3D000':
      return new Misconfigured(
        `${address}: there is no such database: create it (createdb) or correct DATABASE_URL`,
        facts,
      );
    case '42501':
      return new Misconfigured(
        `${address}: ${said}: grant this user CONNECT on the database, or take another user in DATABASE_URL`,
        facts,
      );
    case diskFull:
      return full(said, facts);
    case undefined:
      break;
    default:
      if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|TLS|SSL/.test(code)) {
        return new Misconfigured(
          `${address}: the server's certificate is not accepted (${said}): add sslrootcert=FILE to DATABASE_URL, or sslmode=require to encrypt without verifying`,
          facts,
        );
      }
  }
  if (/client password must be a string/.test(said)) {
    return new AuthFailed(`${address} asks for a password, and DATABASE_URL has none`, facts);
  }
  if (/does not support SSL/.test(said)) {
    return new Misconfigured(
      `${address} has no TLS, and sslmode in DATABASE_URL demands it: use sslmode=disable or prefer`,
      facts,
    );
  }
  return new Misconfigured(`${address} cannot be used: ${said}`, facts);
}

/** The error for a server whose disk is full, by its own words. */
export const full = (said: string, facts: ErrorFacts): WarehouseFull =>
  new WarehouseFull(
    `the disk of the warehouse is full (${said}): make room there; what was committed stays, and the next run goes on`,
    facts,
  );

/** The error for what did not come up in time. */
export function unreachable(error: unknown, address: string): Unreachable {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const said = saidBy(first);
  return new Unreachable(
    `the warehouse at ${address} cannot be reached (${said}): is it running, and is DATABASE_URL right?`,
    {
      cause: error,
    },
  );
}
