/** Bearer tokens, compared in constant time, and a limit for addresses that guess them. */

import crypto from 'node:crypto';
import { seconds } from '../../core/time.ts';

/**
 * operate: may start and stop · read: may look · local: no token is configured, and only this machine can
 * reach us.
 */
export type Role = 'operate' | 'read' | 'local';

export interface Tokens {
  readonly operate?: string | undefined;
  readonly read?: string | undefined;
}

/** Whether two texts are the same, in constant time: digests of both have the same length. */
export const isSame = (a: string, b: string): boolean => crypto.timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => crypto.createHash('sha256').update(text).digest();

/** The role that a token gives; undefined: none. */
export function roleOfToken({ operate, read }: Tokens, token: string): 'operate' | 'read' | undefined {
  // Always compare with both: the time must not tell which one was meant.
  const isOperate = operate !== undefined && isSame(token, operate);
  const isRead = read !== undefined && isSame(token, read);
  return isOperate ? 'operate' : isRead ? 'read' : undefined;
}

/**
 * The role of a request by its one `Authorization` header; undefined: none. A token anywhere else does not
 * count.
 */
export function roleOf(tokens: Tokens, rawHeaders: readonly string[]): Role | undefined {
  if (tokens.operate === undefined && tokens.read === undefined) return 'local';
  const [header = '', ...more] = rawHeaders.filter(
    (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'authorization',
  );
  if (more.length > 0) return undefined;
  // The scheme is not case-sensitive (RFC 7235).
  return roleOfToken(tokens, /^bearer +(?<token>[\x21-\x7e]+) *$/i.exec(header)?.groups?.token ?? '');
}

/** This many failures in a row are forgiven, and one more each few seconds. */
const forgiven = 20;
const forgivenEvery = seconds(3);

/** How many addresses are remembered. */
const remembered = 1000;

/** Slows down addresses that keep failing. `now`: milliseconds that only grow. */
export function attemptLimit(now: () => number = () => performance.now()) {
  const counts = new Map<string, { readonly failures: number; readonly at: number }>();
  const failuresOf = (address: string): number => {
    const { failures = 0, at = 0 } = counts.get(address) ?? {};
    return Math.max(0, failures - (now() - at) / forgivenEvery);
  };
  return {
    /** Seconds that the address has to wait before its next attempt; 0: none. */
    waitOf(address: string): number {
      const over = failuresOf(address) - forgiven + 1;
      return over <= 0 ? 0 : Math.ceil((over * forgivenEvery) / 1000);
    },
    /** Counts a failed attempt. True if the address has to wait from now on. */
    failed(address: string): boolean {
      const failures = failuresOf(address) + 1;
      counts.delete(address);
      counts.set(address, { failures, at: now() });
      // The address whose last attempt is longest ago is forgotten first.
      if (counts.size > remembered) counts.delete(counts.keys().next().value ?? '');
      return failures > forgiven - 1;
    },
  };
}
