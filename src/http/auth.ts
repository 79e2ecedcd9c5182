/** Ways to log in, as values that `createHttp` takes as `auth`. Each is opened anew by each `Http`. */

import type { Secret } from '../core/secret.ts';
import { accessTokens } from './access-tokens.ts';
import type { Auth } from './http-options.ts';

export type { Auth } from './http-options.ts';

/** A value that is shown to the server alone. */
export type Hidden = Pick<Secret, 'reveal'>;

/** HTTP Basic (RFC 7617): a user, or an e-mail address, with a password or an API token. */
export const basic = (user: string, password: Hidden): Auth =>
  fixed(`Basic ${Buffer.from(`${user}:${password.reveal()}`).toString('base64')}`);

/**
 * A token that is sent as it is (RFC 6750), e.g. a personal access token of Jira Data Center, or a scoped API token of an Atlassian service
 * account at `https://api.atlassian.com/ex/jira/{cloudId}`.
 */
export const bearer = (token: Hidden): Auth => fixed(`Bearer ${token.reveal()}`);

const fixed =
  (authorization: string): Auth =>
  () => ({ authorize: () => ({ authorization }) });

export interface Client {
  /** Of the token endpoint. Only it gets the secret. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: Hidden;
  /** Separated by spaces; absent: what the server gives the client. */
  readonly scope?: string;
  /** For which API the token is, where the token endpoint serves several. */
  readonly audience?: string;
}

/**
 * OAuth 2.0 client credentials (RFC 6749 section 4.4): an access token obtained before the first request, and renewed as `accessTokens` says.
 * The client's id and secret are fields of the form, as Atlassian names them for its service accounts. Jira Cloud: tokens for an hour from
 * `https://auth.atlassian.com/oauth/token`, used at `https://api.atlassian.com/ex/jira/{cloudId}`; its page says form or JSON nowhere, the RFC
 * says form (support.atlassian.com/user-management/docs/create-oauth-2-0-credential-for-service-accounts). Data Center:
 * `/rest/oauth2/latest/token`, a form with a scope (confluence.atlassian.com/spaces/ENTERPRISE/pages/1627095923/Service+accounts+overview).
 */
export const clientCredentials = ({ tokenUrl, clientId, clientSecret, ...about }: Client): Auth =>
  accessTokens({
    tokenUrl,
    secrets: () => [clientSecret.reveal()],
    obtain: (ask) => {
      const client = { client_id: clientId, client_secret: clientSecret.reveal() };
      return ask({ grant_type: 'client_credentials', ...client, ...about });
    },
    refused: "the client's id and secret, or the scope, are not accepted",
  });
