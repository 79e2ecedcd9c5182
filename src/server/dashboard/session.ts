/**
 * Who is at the dashboard. A session is a cookie that only this server can make: `nonce.expiry.role.signature`. With an API token, signing in makes
 * it, and every process that has the token knows it; without one (loopback only) each visitor gets one, for the forms' sake.
 */

import crypto from 'node:crypto';
import { hours } from '../../core/time.ts';
import { isSame, type Role, type Tokens } from '../api/tokens.ts';

export interface Session {
  /** Names the session; in the cookie, readable by nobody but server and browser. */
  readonly nonce: string;
  readonly expiresAt: Date;
  readonly role: Role;
  /** What each form of this session must carry. */
  readonly csrf: string;
}

export interface Sessions {
  /** Without a token nobody has to sign in. */
  readonly needsToken: boolean;
  /** The cookie's name: processes with different keys on one host do not overwrite each other's. */
  readonly cookie: string;
  /** What a token allows; undefined: it is none of ours. Compared in constant time. */
  roleOf(given: string): Role | undefined;
  /** A new session and the cookie's value. */
  open(role: Role): { readonly session: Session; readonly value: string };
  /** The session of a `Cookie` header; undefined if there is none, or it is forged, over or closed. */
  read(header: string | undefined): Session | undefined;
  /** Ends a session before its time, in this process. */
  close(session: Session): void;
  isCsrf(session: Session, given: string): boolean;
}

const roles: readonly Role[] = ['operate', 'read', 'local'];

/** As long as a working day with overtime. */
const lasts = hours(12);

export function sessions({ operate, read }: Tokens, now: () => Date): Sessions {
  const token = operate ?? read;
  const key = crypto
    .createHmac(
      'sha256',
      token === undefined ? crypto.randomBytes(32) : `${operate?.length ?? 0} ${operate ?? ''}${read ?? ''}`,
    )
    .update('tidemark dashboard')
    .digest();
  const sign = (text: string): string => crypto.createHmac('sha256', key).update(text).digest('base64url');
  const cookie = `tidemark_${sign('name')
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(0, 8)}`;
  const closed = new Map<string, number>();
  const sessionOf = (nonce: string, expiresMs: number, role: Role): Session => ({
    nonce,
    role,
    expiresAt: new Date(expiresMs),
    csrf: sign(`csrf ${nonce}`),
  });
  return {
    needsToken: token !== undefined,
    cookie,
    roleOf(given) {
      // Both are always compared: the time says nothing of which one was meant.
      const operates = operate !== undefined && isSame(given, operate);
      const reads = read !== undefined && isSame(given, read);
      return operates ? 'operate' : reads ? 'read' : undefined;
    },
    open(role) {
      const nonce = crypto.randomBytes(18).toString('base64url');
      const expiresMs = now().getTime() + lasts;
      const body = `${nonce}.${expiresMs}.${role}`;
      return { session: sessionOf(nonce, expiresMs, role), value: `${body}.${sign(body)}` };
    },
    read(header) {
      const [nonce, expires, word, signature, ...more] = (cookieOf(header, cookie) ?? '').split('.');
      if (nonce === undefined || expires === undefined || signature === undefined || more.length > 0)
        return undefined;
      if (!isSame(signature, sign(`${nonce}.${expires}.${word}`))) return undefined;
      const role = roles.find((each) => each === word);
      const expiresMs = Number(expires);
      if (role === undefined || !(expiresMs > now().getTime()) || closed.has(nonce)) return undefined;
      return sessionOf(nonce, expiresMs, role);
    },
    close({ nonce, expiresAt }) {
      for (const [old, until] of closed) if (until < now().getTime()) closed.delete(old);
      closed.set(nonce, expiresAt.getTime());
    },
    isCsrf: (session, given) => isSame(given, session.csrf),
  };
}

/** The value of one cookie; undefined if it is not there. */
function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

/** A `Set-Cookie` that scripts cannot read and other sites cannot send. `seconds` 0 removes it. */
export const setCookie = (name: string, value: string, seconds: number, secure: boolean): string =>
  `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure ? '; Secure' : ''}`;
