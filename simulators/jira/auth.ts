import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Answer } from '../shared/http.ts';
import type { Dialect } from './dialect.ts';

/** Who asks: the account, nobody known, or somebody who is sent away with an answer. */
export type Caller =
  | { readonly who: 'account' }
  | { readonly who: 'nobody'; readonly headers: Readonly<Record<string, string>> }
  | { readonly who: 'refused'; readonly answer: Answer };

const same = (a: string, b: string): boolean => {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
};

/**
 * Checks HTTP Basic credentials; the contract's server also takes the token alone, as Data Center takes a personal access token (Bearer). It
 * answers 401 to wrong ones; the vendor's cloud answers as to an anonymous user and says so in `X-Seraph-LoginReason` only (vendor-facts 1.5).
 */
export const callerOf = (
  dialect: Dialect,
  headers: IncomingHttpHeaders,
  email: string,
  token: string,
): Caller => {
  const sent = headers.authorization ?? '';
  const [scheme = '', value = ''] = sent.split(' ', 2);
  if (scheme.toLowerCase() === 'basic' && same(Buffer.from(value, 'base64').toString(), `${email}:${token}`))
    return { who: 'account' };
  if (!dialect.vendor && scheme.toLowerCase() === 'bearer' && same(value, token)) return { who: 'account' };
  if (dialect.vendor && scheme.toLowerCase() === 'bearer')
    return {
      who: 'refused',
      answer: dialect.json({ error: 'Failed to parse Connect Session Auth Token' }, 403),
    };
  if (dialect.vendor)
    return { who: 'nobody', headers: sent === '' ? {} : { 'x-seraph-loginreason': 'AUTHENTICATED_FAILED' } };
  const refused = dialect.refused(401, 'Client must be authenticated to access this resource.').answer;
  return {
    who: 'refused',
    answer: {
      ...refused,
      headers: {
        ...refused.headers,
        'www-authenticate': 'Basic realm="tracker"',
        ...(dialect.name === 'data-center' && { 'x-seraph-loginreason': 'AUTHENTICATED_FAILED' }),
      },
    },
  };
};
