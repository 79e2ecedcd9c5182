/** Names what went wrong below HTTP: the network, TLS, our deadlines, a body cut short. */

import { errors } from 'undici';
import { codeOf, TidemarkError, TimedOut, TooLarge, Transient, Unreachable } from '../core/errors.ts';
import type { Request } from '../core/stream.ts';
import { Late } from './exchange.ts';
import { proxyFailure } from './proxy.ts';
import type { Failed } from './with-retry.ts';

const noSuchName = 'is the name of the host right, and does the name service answer?';
const noWay = 'is there a way to it from here (VPN, firewall, HTTPS_PROXY)?';

/** The connection never came about, and what to do about it. */
const noConnection: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: is the server up, and are host and port right?',
  ENOTFOUND: noSuchName,
  EAI_AGAIN: noSuchName,
  EAI_FAIL: noSuchName,
  EHOSTUNREACH: noWay,
  ENETUNREACH: noWay,
  EHOSTDOWN: noWay,
  UND_ERR_CONNECT_TIMEOUT: noWay,
};

/** The connection broke, or what came over it was incomplete. */
const broken =
  /^(ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|UND_ERR_HEADERS_OVERFLOW|Z_\w+|ERR__?(ZLIB|BROTLI)\w*|ERR__ERROR_\w+|ERR_PADDING_\w+|ERR_STREAM_PREMATURE_CLOSE)$/;

/** Node and OpenSSL name certificate trouble in these ways; asking again does not mend it, and verification is never switched off. */
const tls =
  /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO$|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|CRL_)/;

/** A failure of the exchange, through a proxy (`host:port`) or without. Undefined for a defect of ours or an abort, to be thrown on. */
export const networkFailure = (
  request: Request,
  origin: string,
  cause: unknown,
  proxy?: string,
): Failed | undefined => {
  const what = `${request.method} ${request.endpoint}`;
  if (cause instanceof TooLarge)
    return { error: new TooLarge(`${what}: ${cause.message}`, { cause }), retry: 'no' };
  if (cause instanceof TidemarkError) return { error: cause, retry: 'no' };
  if (cause instanceof Late) return passing(new TimedOut(`${what}: ${cause.message}`, { cause }));
  const ofProxy = proxy === undefined ? undefined : proxyFailure(origin, proxy, cause);
  if (ofProxy !== undefined) return ofProxy;
  // By its class: undici gives it no code.
  if (cause instanceof errors.HTTPParserError)
    return passing(new Transient(`${what}: the answer is not HTTP (${cause.message})`, { cause }));
  const code = codeOf(cause) ?? '';
  if (tls.test(code)) {
    const by = proxy === undefined ? '' : ` through the proxy ${proxy}`;
    const message = `cannot make a trusted connection to ${origin}${by} (${code}); the certificate must be valid for this host`;
    return { error: new Unreachable(message, { cause }), retry: 'no' };
  }
  const advice = noConnection[code];
  if (advice !== undefined) {
    const target = proxy === undefined ? origin : `the proxy ${proxy}, by which ${origin} is reached`;
    return {
      error: new Unreachable(`cannot connect to ${target} (${code}): ${advice}`, { cause }),
      retry: 'connect',
    };
  }
  if (!broken.test(code)) return undefined;
  return passing(new Transient(`${what}: the answer broke off (${code})`, { cause }));
};

const passing = (error: Transient): Failed => ({ error, retry: 'yes' });
