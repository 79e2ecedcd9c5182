/** Names what went wrong below HTTP: the network, TLS, our deadlines, a body cut short. */

import { errors } from 'undici';
import { TidemarkError, TimedOut, TooLarge, Transient, Unreachable } from '../core/errors.ts';
import type { Request } from '../core/request.ts';
import type { Failed } from './attempt.ts';
import { Late } from './exchange.ts';
import { proxyFault } from './proxy.ts';

/** The connection never came about. */
const noConnection = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** The connection broke, or what came over it was incomplete. */
const broken =
  /^(ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|UND_ERR_HEADERS_OVERFLOW|Z_\w+|ERR__?(ZLIB|BROTLI)\w*|ERR__ERROR_\w+|ERR_PADDING_\w+|ERR_STREAM_PREMATURE_CLOSE)$/;

/** Node and OpenSSL name certificate trouble in these ways; asking again does not mend it, and verification is never switched off. */
const tls =
  /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO$|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|CRL_)/;

/** A failure of the exchange, through a proxy (`host:port`) or without; undefined for what is none (a defect of ours, an abort): that must be thrown on. */
export const faultOf = (
  request: Request,
  origin: string,
  error: unknown,
  proxy?: string,
): Failed | undefined => {
  const what = `${request.method} ${request.endpoint}`;
  if (error instanceof TooLarge)
    return { error: new TooLarge(`${what}: ${error.message}`, { cause: error }), again: 'no' };
  if (error instanceof TidemarkError) return { error, again: 'no' };
  if (error instanceof Late)
    return { error: new TimedOut(`${what}: ${error.message}`, { cause: error }), again: 'yes' };
  const blamed = proxy === undefined ? undefined : proxyFault(origin, proxy, error);
  if (blamed !== undefined) return blamed;
  const facts = { cause: error };
  // By its class: undici gives it no code.
  if (error instanceof errors.HTTPParserError)
    return {
      error: new Transient(`${what}: the answer is not HTTP (${error.message})`, facts),
      again: 'yes',
    };
  const code = codeOf(error);
  if (code === undefined) return undefined;
  if (tls.test(code)) {
    const message = `cannot make a trusted connection to ${origin}${proxy === undefined ? '' : ` through the proxy ${proxy}`} (${code}); the certificate must be valid for this host`;
    return { error: new Unreachable(message, facts), again: 'no' };
  }
  if (noConnection.has(code))
    return {
      error: new Unreachable(
        `cannot connect to ${proxy === undefined ? origin : `the proxy ${proxy}, by which ${origin} is reached`} (${code})`,
        facts,
      ),
      again: 'connect',
    };
  if (broken.test(code))
    return { error: new Transient(`${what}: the answer broke off (${code})`, facts), again: 'yes' };
  return undefined;
};

/** The system's or library's code. Several addresses that all failed come as one AggregateError. */
const codeOf = (error: unknown): string | undefined => {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError
    ? error.errors.map(codeOf).find((code) => code !== undefined)
    : undefined;
};
