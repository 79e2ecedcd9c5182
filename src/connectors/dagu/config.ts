/** What the user can set of the workflow engine. */

import type { Report } from '../../config/pipeline.ts';
import { setting, type ValuesOf } from '../../config/settings.ts';
import { account, baseUrl, sentToken } from '../../config/values.ts';
import { type Auth, basic, bearer, type Hidden } from '../../http/auth.ts';

export const settings = {
  baseUrl: setting.of(
    'the address of the engine, before /api/v1',
    baseUrl.transform((url) => url.replace(/\/api\/v[12]$/, '')),
  ),
  token: setting
    .secret('a token or an API key of the engine, where it asks for one; empty: none', sentToken)
    .optional(),
  username: setting
    .of('the user name, where the engine asks for Basic authentication; empty: none', account)
    .optional(),
  password: setting.secret('the password of that user').optional(),
  remoteNode: setting
    .text('the remote node to ask for everything, by its name; empty: the engine itself')
    .optional(),
  dags: setting.list('DAGs to read, separated by commas; empty: all'),
  concurrency: setting.integer('requests at once', 1, 64).default(4),
};

export type WorkflowConfig = ValuesOf<typeof settings>;

/** What signs in to the engine: a user with a password, a token, or nothing. */
export interface DaguLogin {
  readonly username?: string | undefined;
  readonly password?: Hidden | undefined;
  readonly token?: Hidden | undefined;
}

/** Half a login is refused. Beside a token the other login is not used: an engine looks at one. */
export function check({ username, password, token }: DaguLogin, { problem, warn }: Report): void {
  const isHalf = (username === undefined) !== (password === undefined);
  const missing = username === undefined ? 'username' : 'password';
  if (token === undefined && isHalf) problem(missing, `is missing: ${settings[missing].about}`);
  if (token !== undefined && (isHalf || username !== undefined))
    warn('token', 'is used, so the user name and the password are not');
}

/** Undefined: the engine asks for no login. Basic is UTF-8 (RFC 7617), as Dagu compares it. */
export const authOf = ({ username, password, token }: DaguLogin): Auth | undefined => {
  if (token !== undefined) return bearer(token);
  return username !== undefined && password ? basic(username, password) : undefined;
};
