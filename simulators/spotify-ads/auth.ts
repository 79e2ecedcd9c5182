/** Who is let in: a token that never ends, and tokens that a refresh token buys. */

import type { Clock } from '../shared/clock.ts';
import type { Answer, Call } from '../shared/http.ts';

export interface AdsTokens {
  /** Never expires. */
  readonly token: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The refresh token that is valid now. */
  refresh: string;
  /** Each renewal gives another refresh token, and the old one is worth nothing. */
  rotates: boolean;
  /** How long a bought token lives, seconds. */
  lifetime: number;
  /** How many requests a bought token is good for. Default: any number. */
  uses: number;
  /** How often one was bought. */
  readonly bought: number;
  /** Makes every bought token invalid at once. */
  revoke(): void;
  knows(authorization: string | undefined): boolean;
  /** The token endpoint's answer. */
  answer(call: Call): Answer;
}

const json = (status: number, body: unknown): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: [Buffer.from(JSON.stringify(body))],
});

export const adsTokens = (clock: Clock, token: string): AdsTokens => {
  const live = new Map<string, { readonly until: number; uses: number }>();
  let bought = 0;
  const tokens: AdsTokens = {
    token,
    clientId: 'simulated-client',
    clientSecret: 'simulated-secret',
    refresh: 'simulated-refresh-0',
    rotates: false,
    lifetime: 3600,
    uses: Number.POSITIVE_INFINITY,
    get bought() {
      return bought;
    },
    revoke: () => live.clear(),
    knows(authorization) {
      const [, given] = /^Bearer (.+)$/.exec(authorization ?? '') ?? [];
      if (given === token) return true;
      const bought = given === undefined ? undefined : live.get(given);
      if (bought === undefined || clock.now().getTime() >= bought.until || bought.uses >= tokens.uses)
        return false;
      bought.uses += 1;
      return true;
    },
    answer(call) {
      const basic = `Basic ${Buffer.from(`${tokens.clientId}:${tokens.clientSecret}`).toString('base64')}`;
      if (call.headers.authorization !== basic) return json(401, { error: 'invalid_client' });
      const form = new URLSearchParams(call.body.toString());
      if (form.get('grant_type') !== 'refresh_token' || form.get('refresh_token') !== tokens.refresh)
        return json(400, { error: 'invalid_grant', error_description: 'Invalid refresh token' });
      bought += 1;
      const access = `simulated-access-${bought}`;
      live.set(access, { until: clock.now().getTime() + tokens.lifetime * 1000, uses: 0 });
      if (tokens.rotates) tokens.refresh = `simulated-refresh-${bought}`;
      return json(200, {
        access_token: access,
        token_type: 'Bearer',
        expires_in: tokens.lifetime,
        ...(tokens.rotates && { refresh_token: tokens.refresh }),
      });
    },
  };
  return tokens;
};
