/** Access tokens: a given one, or those that a refresh token buys (OAuth 2.0, RFC 6749 section 6). */

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
import type { Http, Json, Request } from '../../core/request.ts';
import type { TokenStore } from '../../core/token-store.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import { at, textAt } from '../../reading/offset-list.ts';

/** What opens the platform to us. */
export type Credentials =
  | { readonly kind: 'token'; readonly accessToken: Hidden }
  | {
      readonly kind: 'refresh';
      readonly clientId: string;
      readonly clientSecret: Hidden;
      readonly refreshToken: Hidden;
      readonly tokenUrl: string;
    };

interface Hidden {
  reveal(): string;
}

/** The access token in use. */
export interface Tokens {
  /** The header of the next request; only after `ready`. */
  authorize(): Readonly<Record<string, string>>;
  /** Resolves when there is a token that will not expire at once. Throws as `renew`. */
  ready(signal: AbortSignal): Promise<void>;
  /**
   * Gets another token, together with everybody who asks meanwhile; true if there is one. Absent for a given token. Throws `AuthFailed` where
   * the token endpoint turns us away or gives no token, `Unreachable` where it cannot be reached or keeps failing, `RateLimited`.
   */
  readonly renew?: (signal: AbortSignal) => Promise<boolean>;
  /** Waits a little for a renewal that is under way, so that a refresh token given in exchange is kept. */
  close(): Promise<void>;
}

export interface TokensDeps {
  readonly store: TokenStore;
  /** Version, deadlines and retries of the way to the token endpoint. */
  readonly http?: Partial<Omit<HttpOptions, 'baseUrl' | 'authorize' | 'rate'>>;
}

/** A token is renewed so long before it expires, or in the last tenth of its life if that is shorter. */
const marginMs = 60_000;

/** Who closes waits at most so long for a renewal that is under way: a quarter of the grace time (guarantee G9). */
const lastAnswerMs = 5_000;

export const tokensFor = (credentials: Credentials, deps: TokensDeps): Tokens =>
  credentials.kind === 'token' ? given(credentials.accessToken) : renewed(credentials, deps);

const given = (token: Hidden): Tokens => ({
  authorize: () => bearer(token.reveal()),
  ready: async () => {},
  close: async () => {},
});

const renewed = (
  { clientId, clientSecret, refreshToken, tokenUrl }: Credentials & { readonly kind: 'refresh' },
  { store, http: options = {} }: TokensDeps,
): Tokens => {
  const now = options.now ?? (() => performance.now());
  const closing = new AbortController();
  const cutOff = new AbortController();
  let access: { readonly token: string; readonly until: number } | undefined;
  let refresh = refreshToken.reveal();
  let renewal: Promise<void> | undefined;
  const http = createHttp({
    ...options,
    baseUrl: tokenUrl,
    // Never the bearer: another server may stand there.
    authorize: () => ({
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret.reveal()}`).toString('base64')}`,
    }),
    secrets: () => [refreshToken.reveal(), refresh],
    bodies: 'form',
    concurrency: 1,
  });

  const buy = (): Promise<void> =>
    store.alone(async () => {
      // Another process may have used up the one that we know.
      refresh = (await store.read()) ?? refreshToken.reveal();
      closing.signal.throwIfAborted();
      const askedAt = now();
      const { body } = await askToken(http, new URL(tokenUrl).pathname, refresh, cutOff.signal);
      const token = textAt(body, 'access_token');
      if (token === undefined || token === '') throw new AuthFailed(`${tokenUrl} gave no access token`);
      const next = textAt(body, 'refresh_token');
      if (next !== undefined && next !== '' && next !== refresh) {
        // Before anything else is done with the new token: the old one is worth nothing any more.
        await store.write(next);
        refresh = next;
      }
      access = { token, until: askedAt + lifeMs(at(body, 'expires_in')) };
    }, closing.signal);

  /** One for all; what ends one caller's wait does not end it for the others. */
  const share = (signal: AbortSignal): Promise<void> => {
    if (renewal === undefined) {
      renewal = buy().finally(() => {
        renewal = undefined;
      });
      // Every caller may have left.
      renewal.catch(() => {});
    }
    return orStopped(renewal, signal);
  };

  return {
    authorize: () => bearer(access?.token ?? ''),
    ready: (signal) => (access !== undefined && now() < access.until ? Promise.resolve() : share(signal)),
    async renew(signal) {
      await share(signal);
      return true;
    },
    async close() {
      closing.abort(new Interrupted('the connection to the source was closed'));
      // The old refresh token may be used up already, and its successor is in the answer that is on its way: left, nobody ever gets in again.
      const late = setTimeout(() => cutOff.abort(closing.signal.reason), lastAnswerMs);
      await renewal?.catch(() => {});
      clearTimeout(late);
      await http.close();
    },
  };
};

const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

/** When to get the next one, from now; a server that states no time is asked again only after a 401. */
const lifeMs = (expiresIn: Json): number => {
  const seconds = typeof expiresIn === 'string' && /^\d+$/.test(expiresIn) ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== 'number' || !(seconds > 0)) return Number.POSITIVE_INFINITY;
  return seconds * 1000 - Math.min(marginMs, seconds * 100);
};

const askToken = async (http: Http, endpoint: string, refreshToken: string, signal: AbortSignal) => {
  const request: Request = {
    method: 'POST',
    path: '',
    endpoint,
    body: { grant_type: 'refresh_token', refresh_token: refreshToken },
  };
  try {
    return await http.send(request, signal);
  } catch (cause) {
    const said = cause instanceof Error ? `${http.origin}: ${cause.message}` : http.origin;
    if (cause instanceof Refused || cause instanceof AuthFailed)
      throw new AuthFailed(
        `${said}; the refresh token or the client's id and secret are not accepted: log in again and set ADS_REFRESH_TOKEN`,
        { cause },
      );
    if (cause instanceof Forbidden || cause instanceof Missing || cause instanceof UnexpectedContent)
      throw new AuthFailed(`${said}; is ADS_TOKEN_URL the address at which tokens are renewed?`, { cause });
    if (cause instanceof Transient && !(cause instanceof RateLimited))
      throw new Unreachable(`no access token could be had: ${said}`, { cause });
    throw cause;
  }
};

/** Keeps the token as long as the process lives; for servers that never renew it, and for trying things out. */
export const memoryStore = (): TokenStore => {
  let kept: string | undefined;
  return {
    read: async () => kept,
    async write(token) {
      kept = token;
    },
    alone: (work) => work(),
  };
};
