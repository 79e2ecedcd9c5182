/** Access tokens: a configured one, or those that a refresh token obtains (OAuth 2.0, RFC 6749 section 6). */

import { orStopped } from '../../core/abort.ts';
import {
  AuthFailed,
  Forbidden,
  Interrupted,
  Missing,
  RateLimited,
  Refused,
  Transient,
  UnexpectedContent,
  Unreachable,
} from '../../core/errors.ts';
import type { Json } from '../../core/request.ts';
import type { Secret } from '../../core/secret.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import { at, textAt } from '../../reading/offset-list.ts';
import type { TokenStore } from './token-store.ts';

type Hidden = Pick<Secret, 'reveal'>;

export type Credentials =
  | { readonly kind: 'token'; readonly accessToken: Hidden }
  | {
      readonly kind: 'refresh';
      readonly clientId: string;
      readonly clientSecret: Hidden;
      readonly refreshToken: Hidden;
      readonly tokenUrl: string;
    };

/** The access token in use. */
export interface Tokens {
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

interface TokensDeps {
  readonly store: TokenStore;
  /** Version, deadlines and retries of requests to the token endpoint. */
  readonly http?: Partial<Omit<HttpOptions, 'baseUrl' | 'authorize' | 'rate'>>;
}

/** A token is renewed this long before it expires, or in the last tenth of its life if that is shorter. */
const marginMs = 60_000;

/** `close` waits at most this long for a renewal: a quarter of the grace time (guarantee G9). */
const lastAnswerMs = 5_000;

export const tokensFor = (credentials: Credentials, deps: TokensDeps): Tokens =>
  credentials.kind === 'refresh'
    ? refreshed(credentials, deps)
    : {
        authorize: () => bearer(credentials.accessToken.reveal()),
        ready: async () => {},
        close: async () => {},
      };

const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

type Refreshable = Extract<Credentials, { readonly kind: 'refresh' }>;

const refreshed = (
  { clientId, clientSecret, refreshToken, tokenUrl }: Refreshable,
  { store, http: options = {} }: TokensDeps,
): Tokens => {
  const now = options.now ?? (() => performance.now());
  const closing = new AbortController();
  const cutOff = new AbortController();
  let access: { readonly token: string; readonly until: number } | undefined;
  let current = refreshToken.reveal();
  let renewal: Promise<void> | undefined;
  const http = createHttp({
    ...options,
    baseUrl: tokenUrl,
    // Never the bearer: this may be another server.
    authorize: () => ({
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret.reveal()}`).toString('base64')}`,
    }),
    secrets: () => [refreshToken.reveal(), current],
    bodies: 'form',
    concurrency: 1,
  });

  const obtain = (): Promise<void> =>
    store.alone(async () => {
      // Another process may have used the token that we know.
      current = (await store.read()) ?? refreshToken.reveal();
      closing.signal.throwIfAborted();
      const sentAt = now();
      const body = { grant_type: 'refresh_token', refresh_token: current };
      const endpoint = new URL(tokenUrl).pathname;
      const answer = await http
        .send({ method: 'POST', path: '', endpoint, body }, cutOff.signal)
        .catch((cause: unknown) => {
          throw refreshError(cause, http.origin);
        });
      const token = textAt(answer.body, 'access_token');
      if (!token) throw new AuthFailed(`${tokenUrl} gave no access token`);
      const next = textAt(answer.body, 'refresh_token');
      // Refresh tokens are single-use: keep the new one before anything else can fail.
      if (next && next !== current) {
        await store.write(next);
        current = next;
      }
      access = { token, until: sentAt + lifeMs(at(answer.body, 'expires_in')) };
    }, closing.signal);

  /** One renewal for all callers; a caller that is aborted does not end it for the others. */
  const share = (signal: AbortSignal): Promise<void> => {
    if (renewal === undefined) {
      renewal = obtain().finally(() => {
        renewal = undefined;
      });
      // All callers may have left.
      renewal.catch(() => {});
    }
    return orStopped(renewal, signal);
  };

  return {
    authorize: () => bearer(access?.token ?? ''),
    ready: async (signal) => {
      if (access === undefined || now() >= access.until) await share(signal);
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

/** How long a token is used. Without `expires_in`, a token is renewed only after a 401. */
const lifeMs = (expiresIn: Json): number =>
  typeof expiresIn === 'number' && expiresIn > 0
    ? expiresIn * 1000 - Math.min(marginMs, expiresIn * 100)
    : Number.POSITIVE_INFINITY;

const refreshError = (cause: unknown, origin: string): unknown => {
  const what = `${origin}: ${cause instanceof Error ? cause.message : String(cause)}`;
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
