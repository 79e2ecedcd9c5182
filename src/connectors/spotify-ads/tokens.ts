/** Access tokens: a configured one, or those that a refresh token obtains (OAuth 2.0, RFC 6749 section 6). */

import { orStopped } from '../../core/abort.ts';
import {
  AuthFailed,
  Forbidden,
  Interrupted,
  Missing,
  RateLimited,
  Refused,
  saidBy,
  Transient,
  UnexpectedContent,
  Unreachable,
} from '../../core/errors.ts';
import type { Secret } from '../../core/secret.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import { at, textAt } from '../../reading/offset-list.ts';
import type { TokenStore } from './token-store.ts';

type Hidden = Pick<Secret, 'reveal'>;

interface Refresh {
  readonly kind: 'refresh';
  readonly clientId: string;
  readonly clientSecret: Hidden;
  readonly refreshToken: Hidden;
  readonly tokenUrl: string;
}
export type Credentials = Refresh | { readonly kind: 'token'; readonly accessToken: Hidden };

/** The access token in use. */
interface Tokens {
  /** The header of the next request; only after `ready`. */
  authorize(): Readonly<Record<string, string>>;
  /** Resolves when there is a token that does not expire at once. Throws as `renew`. */
  ready(signal: AbortSignal): Promise<void>;
  /**
   * Obtains another token, shared by all callers; true if there is one. Absent for a configured token. Throws `AuthFailed`
   * where the token endpoint refuses or gives no token, `Unreachable` where it does not answer, `RateLimited`.
   */
  readonly renew?: (signal: AbortSignal) => Promise<boolean>;
  /** Waits a little for a renewal that is under way, so that the new refresh token is kept. */
  close(): Promise<void>;
}

/** Of requests to the token endpoint. */
type Options = Partial<Omit<HttpOptions, 'baseUrl' | 'authorize'>>;

/** A token is renewed this long before it expires, or in the last tenth of its life if that is shorter. */
const marginMs = 60_000;

/** `close` waits at most this long for a renewal: a quarter of the grace time (guarantee G9). */
const lastAnswerMs = 5_000;

const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

/** Without a store, a renewed refresh token lives as long as the process. */
export const tokensFor = (
  credentials: Credentials,
  store: TokenStore | undefined,
  options: Options,
): Tokens =>
  credentials.kind === 'refresh'
    ? renewed(credentials, store, options)
    : {
        authorize: () => bearer(credentials.accessToken.reveal()),
        ready: async () => {},
        close: async () => {},
      };

const renewed = (
  { clientId, clientSecret, refreshToken, tokenUrl }: Refresh,
  store: TokenStore | undefined,
  options: Options,
): Tokens => {
  const now = options.now ?? (() => performance.now());
  const closing = new AbortController();
  const cutOff = new AbortController();
  let access = { token: '', until: Number.NEGATIVE_INFINITY };
  let current = refreshToken.reveal();
  let renewal: Promise<void> | undefined;
  const basic = () => Buffer.from(`${clientId}:${clientSecret.reveal()}`).toString('base64');
  const http = createHttp({
    ...options,
    baseUrl: tokenUrl,
    // Never the bearer: this may be another server.
    authorize: () => ({ authorization: `Basic ${basic()}` }),
    secrets: () => [refreshToken.reveal(), current],
    bodies: 'form',
    concurrency: 1,
  });

  const obtain = async (): Promise<void> => {
    // Another process may have used the token that this one has.
    current = (await store?.read()) ?? current;
    closing.signal.throwIfAborted();
    const sentAt = now();
    const body = { grant_type: 'refresh_token', refresh_token: current };
    const request = { method: 'POST', path: '', endpoint: new URL(tokenUrl).pathname, body } as const;
    const answer = await http.send(request, cutOff.signal).catch((cause: unknown) => {
      throw refreshError(cause, http.origin);
    });
    const token = textAt(answer.body, 'access_token');
    if (!token) throw new AuthFailed(`${tokenUrl} gave no access token`);
    const next = textAt(answer.body, 'refresh_token');
    // Refresh tokens are single-use: keep the new one before anything else can fail.
    if (next && next !== current) {
      await store?.write(next);
      current = next;
    }
    const seconds = at(answer.body, 'expires_in');
    // Without `expires_in`, a token is renewed only after a 401.
    const life = typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY;
    access = { token, until: sentAt + life - Math.min(marginMs, life / 10) };
  };

  /** One renewal for all callers; a caller that is aborted does not end it for the others. */
  const share = (signal: AbortSignal): Promise<void> => {
    if (renewal === undefined) {
      const begun = store === undefined ? obtain() : store.alone(obtain, closing.signal);
      renewal = begun.finally(() => {
        renewal = undefined;
      });
      // All callers may have left.
      renewal.catch(() => {});
    }
    return orStopped(renewal, signal);
  };

  return {
    authorize: () => bearer(access.token),
    ready: async (signal) => {
      if (now() >= access.until) await share(signal);
    },
    renew: (signal) => share(signal).then(() => true),
    async close() {
      closing.abort(new Interrupted('the connection to the source was closed'));
      // Do not abort at once: refresh tokens are single-use, and the new one is in the response that is under way.
      const late = setTimeout(() => cutOff.abort(closing.signal.reason), lastAnswerMs);
      await renewal?.catch(() => {});
      clearTimeout(late);
      await http.close();
    },
  };
};

const refreshError = (cause: unknown, origin: string): unknown => {
  const what = `${origin}: ${saidBy(cause)}`;
  if (cause instanceof Refused || cause instanceof AuthFailed)
    return new AuthFailed(
      `${what}; the refresh token or the client's id and secret are not accepted: log in again and set ADS_REFRESH_TOKEN`,
      { cause },
    );
  if (cause instanceof Forbidden || cause instanceof Missing || cause instanceof UnexpectedContent)
    return new AuthFailed(`${what}; is ADS_TOKEN_URL the address at which tokens are renewed?`, { cause });
  if (cause instanceof Transient && !(cause instanceof RateLimited))
    return new Unreachable(`no access token could be had: ${what}`, { cause });
  return cause;
};
