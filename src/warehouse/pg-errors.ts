/** What an error of Postgres or of the way to it means to the person who must do something about it. */
import pg from 'pg';
import * as errors from '../core/errors.ts';

/**
 * Codes of a server that is down, starting or full, and of a network with a bad moment. SQLSTATEs (manual of Postgres, appendix A):
 * admin_shutdown, crash_shutdown, cannot_connect_now, too_many_connections, configuration_limit_exceeded, connection exceptions (also of
 * poolers). ENOTFOUND: in a container world names appear late.
 */
const passing =
  '57P01 57P02 57P03 53300 53400 08000 08001 08003 08004 08006 ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ' +
  'ETIMEDOUT EHOSTUNREACH ENETUNREACH EHOSTDOWN ENETDOWN ENOTFOUND EAI_AGAIN';
const passingCodes: ReadonlySet<string> = new Set(passing.split(' '));
const passingMessage = /^Connection terminated|^timeout exceeded when trying to connect|^timeout expired/;

/** What was said; of a server's error with its SQLSTATE, by which it is known in every language. */
export const wordsOf = (error: unknown): string =>
  error instanceof pg.DatabaseError ? `${error.message}, SQLSTATE ${error.code}` : errors.saidBy(error);

/** True if trying again may help. */
export function isPassing(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isPassing);
  if (!(error instanceof Error)) return false;
  const code = errors.codeOf(error) ?? '';
  // ENOENT: the unix socket of a server that has not started yet.
  const hasNoSocket = code === 'ENOENT' && Reflect.get(error, 'syscall') === 'connect';
  return passingCodes.has(code) || hasNoSocket || passingMessage.test(error.message);
}

/** SQLSTATE of a lock that another session kept for longer than we wait. */
export const lockNotAvailable = '55P03';

/** SQLSTATEs of a server that answers and takes no writes. */
export const readOnly = '25006';
export const diskFull = '53100';

/** True if the server answers and nothing can be written there. */
export const isUnwritable = (error: unknown): boolean =>
  [readOnly, diskFull].includes(errors.codeOf(error) ?? '');

/** Codes of Node and OpenSSL. */
const certificate = /^\S*(CERT|SELF_SIGNED|UNABLE_TO_VERIFY|TLS|SSL)/;

/** True if the same server may be reached with TLS, or without it: it has none, its certificate is not accepted, or it refuses such a line. */
export const isOfLine = (error: unknown): boolean =>
  /^(28000|EPROTO)/.test(errors.codeOf(error) ?? '') ||
  certificate.test(errors.codeOf(error) ?? '') ||
  /SSL connection/.test(errors.saidBy(error));

const { AuthFailed, Misconfigured } = errors;
type LoginErrorClass = typeof AuthFailed | typeof Misconfigured;

/** What to do about a refused login, by its code or by pg's own words; the first that matches counts. */
const refusals: readonly (readonly [match: RegExp, kind: LoginErrorClass, what: string])[] = [
  [/^28P01/, AuthFailed, 'the user or the password is wrong: correct DATABASE_URL'],
  [/^28000/, AuthFailed, "this user is not let in: correct DATABASE_URL, or the server's pg_hba.conf"],
  [/^3D000/, Misconfigured, 'there is no such database: create it (createdb) or correct DATABASE_URL'],
  [
    /^42501/,
    Misconfigured,
    'grant this user CONNECT on the database and reset settings that it may not change (alter role … reset …), ' +
      'or take another user in DATABASE_URL',
  ],
  [/does not support SSL/, Misconfigured, 'it has no TLS: use sslmode=disable or prefer in DATABASE_URL'],
  [
    certificate,
    Misconfigured,
    "the server's certificate is not accepted: add sslrootcert=FILE to DATABASE_URL, or sslmode=require to encrypt without verifying",
  ],
  [/^/, Misconfigured, 'it cannot be used'],
];

/** The error for what trying again does not help. */
export function refusal(error: unknown, address: string): unknown {
  if (error instanceof errors.TidemarkError) return error;
  const facts = { cause: error };
  const said = wordsOf(error);
  if (errors.codeOf(error) === diskFull) return full(said, facts);
  const [, Kind, what] =
    refusals.find(([match]) => match.test(`${errors.codeOf(error) ?? ''} ${said}`)) ?? [];
  return Kind ? new Kind(`${address}: ${what} (${said})`, facts) : error;
}

/** The error for a server whose disk is full, by its own words. */
export const full = (said: string, facts: ErrorOptions): errors.WarehouseFull =>
  new errors.WarehouseFull(
    `the disk of the warehouse is full (${said}): make room there; what was committed stays, and the next run goes on`,
    facts,
  );

/** The error for what did not come up in time. */
export const unreachable = (error: unknown, address: string): errors.Unreachable => {
  const said = wordsOf(error instanceof AggregateError ? error.errors[0] : error);
  return new errors.Unreachable(
    `the warehouse at ${address} cannot be reached (${said}): is it running, and is DATABASE_URL right?`,
    { cause: error },
  );
};
