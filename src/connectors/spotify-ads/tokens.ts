/** How the ads platform is logged in to: by a configured access token, or by those that a refresh token obtains (RFC 6749 section 6). */

import { AuthFailed } from '../../core/errors.ts';
import { accessTokens, type Given } from '../../http/access-tokens.ts';
import { type Auth, basic, bearer, type Hidden } from '../../http/auth.ts';
import type { TokenStore } from './token-store.ts';

interface Refresh {
  readonly kind: 'refresh';
  readonly clientId: string;
  readonly clientSecret: Hidden;
  readonly refreshToken: Hidden;
  readonly tokenUrl: string;
}
export type Credentials = Refresh | { readonly kind: 'token'; readonly accessToken: Hidden };

/** Without a store, a renewed refresh token lives as long as the process. */
export const authFor = (credentials: Credentials, store?: TokenStore): Auth =>
  credentials.kind === 'refresh' ? refreshing(credentials, store) : bearer(credentials.accessToken);

const refreshing = ({ clientId, clientSecret, refreshToken, tokenUrl }: Refresh, store?: TokenStore) => {
  let current = refreshToken.reveal();
  return accessTokens({
    tokenUrl,
    auth: basic(clientId, clientSecret),
    secrets: () => [refreshToken.reveal(), current],
    obtain(ask, closing) {
      const refresh = async (token: string): Promise<Given> => {
        const given = await ask({ grant_type: 'refresh_token', refresh_token: token });
        const next = given.refresh_token ?? token;
        // Refresh tokens are single-use: keep the new one before anything else can fail.
        if (next !== token) await store?.write(next, token);
        current = next;
        return given;
      };
      const obtain = async (): Promise<Given> => {
        // Another process may have used the token that this one has.
        current = (await store?.read()) ?? current;
        const before = store?.before?.();
        return refresh(current).catch((error: unknown) => {
          if (!(error instanceof AuthFailed) || before === undefined) throw error;
          // A token that never worked may have come of an answer that the platform took back.
          return refresh(before).catch(() => Promise.reject(error));
        });
      };
      return store === undefined ? obtain() : store.alone(obtain, closing);
    },
    refused:
      "the refresh token or the client's id and secret are not accepted: log in again and set ADS_REFRESH_TOKEN",
  });
};
