/** What the user can set of `serve`. */

import type { Secret } from '../core/secret.ts';
import { bareHost, isThisMachine } from '../core/this-machine.ts';
import { integer, isSet } from './parse.ts';
import { bearer } from './tokens.ts';
import type { Names, Variables } from './variables.ts';

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  readonly apiToken?: Secret;
  /** Another token, with which one may only look. */
  readonly readToken?: Secret;
  /** A run that does not get ahead for so many minutes is stuck. */
  readonly stuckMinutes: number;
}

export const serverNames = {
  secrets: ['TIDEMARK_API_TOKEN', 'TIDEMARK_READ_TOKEN'],
  plain: ['TIDEMARK_HOST', 'TIDEMARK_PORT', 'TIDEMARK_STUCK_MINUTES'],
} as const satisfies Names;

export function readServer(from: Variables): ServerConfig {
  // As in a URL, an address of IPv6 may stand in brackets.
  const host = bareHost(from.text('TIDEMARK_HOST') ?? '127.0.0.1');
  const port = integer(from, 'TIDEMARK_PORT', 8080, 0, 65_535);
  const apiToken = bearer(from, 'TIDEMARK_API_TOKEN');
  if (!isThisMachine(host) && !apiToken && !isSet(from, 'TIDEMARK_API_TOKEN_FILE')) {
    from.problem(
      'TIDEMARK_API_TOKEN',
      `is missing: ${host} can be reached from outside, so the control API needs a token`,
    );
  }
  const readToken = bearer(from, 'TIDEMARK_READ_TOKEN');
  if (readToken && !apiToken)
    from.problem(
      'TIDEMARK_API_TOKEN',
      'is missing, though TIDEMARK_READ_TOKEN is set: nobody could start anything',
    );
  if (readToken && readToken.reveal() === apiToken?.reveal())
    from.problem(
      'TIDEMARK_READ_TOKEN',
      'is the same as TIDEMARK_API_TOKEN: who may look could start and stop',
    );
  return {
    host,
    port,
    ...(apiToken ? { apiToken } : {}),
    ...(readToken ? { readToken } : {}),
    stuckMinutes: integer(from, 'TIDEMARK_STUCK_MINUTES', 15, 1, 1440),
  };
}
