/** Who may do what: bearer tokens, compared in constant time, and patience for those who guess. */

import crypto from 'node:crypto';
import { seconds } from '../../core/time.ts';

/** operate: may start and stop · read: may look · local: no token is configured, and only this machine can reach us. */
export type Role = 'operate' | 'read' | 'local';

export interface Tokens {
  readonly operate?: string | undefined;
  readonly read?: string | undefined;
}

/** Whether two texts are the same, in a time that tells nothing of them: their digests are as long as each other. */
export const isSame = (a: string, b: string): boolean => crypto.timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => crypto.createHash('sha256').update(text).digest();

/** The role of a request by its `Authorization` headers; undefined: none. A token anywhere else does not count. */
export function roleOf({ operate, read }: Tokens, rawHeaders: readonly string[]): Role | undefined {
  if (operate === undefined && read === undefined) return 'local';
  const given = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization',
  );
  const [header = '', ...more] = given;
  // Not case-sensitive, says RFC 7235.
  const token = /^bearer +(?<token>[\x21-\x7e]+) *$/i.exec(header)?.groups?.token ?? '';
  // Both are always compared: the time says nothing of which one was meant.
  const operates = operate !== undefined && isSame(token, operate);
  const reads = read !== undefined && isSame(token, read);
  if (token === '' || more.length > 0) return undefined;
  return operates ? 'operate' : reads ? 'read' : undefined;
}

/** Holds back addresses that showed wrong tokens. */
export interface Patience {
  /** Seconds that the address has to wait before anything it says is looked at; 0: none. */
  waits(address: string): number;
  /** A wrong token was shown. True if the address has to wait from now on. */
  failed(address: string): boolean;
}

/** So many wrong tokens in a row are forgiven, and one more each few seconds. */
const forgiven = 20;
const forgivenEvery = seconds(3);

/** Addresses that are remembered at most; beyond them all share one count. */
const remembered = 1000;

/** `now`: milliseconds that only grow. */
export function patience(now: () => number): Patience {
  const counts = new Map<string, { readonly wrong: number; readonly at: number }>();
  const wrongOf = (key: string): number => {
    const known = counts.get(key);
    return known === undefined ? 0 : Math.max(0, known.wrong - (now() - known.at) / forgivenEvery);
  };
  const keyOf = (address: string): string =>
    counts.has(address) || counts.size < remembered ? address : 'others';
  return {
    waits(address) {
      const over = wrongOf(keyOf(address)) - forgiven + 1;
      return over <= 0 ? 0 : Math.ceil((over * forgivenEvery) / 1000);
    },
    failed(address) {
      if (counts.size >= remembered)
        for (const key of counts.keys()) if (wrongOf(key) === 0) counts.delete(key);
      const key = keyOf(address);
      const wrong = wrongOf(key) + 1;
      counts.set(key, { wrong, at: now() });
      return wrong > forgiven - 1;
    },
  };
}
