/** How an origin is connected to: directly, or through the proxy that is configured for it. */

import { isIP, type LookupFunction } from 'node:net';
import { Pool, ProxyAgent } from 'undici';
import { codeOf, Misconfigured, type TidemarkError, Unreachable } from '../core/errors.ts';
import { bareHost, isIn, isThisMachine, rangesOf } from '../core/this-machine.ts';

/** Proxies as `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` name them; `ProxyConfig` of src/config/config.ts is one. */
export interface Proxies {
  /** For origins of http: a URL of http or https, with user and password where the proxy wants them. */
  readonly http?: { reveal(): string };
  /** The same for origins of https: what passes through it is encrypted from end to end. */
  readonly https?: { reveal(): string };
  /** What is reached without: `*`, `host` and all below it, `*.host` for those below alone, an address, `10.0.0.0/8`; each may end with a port. */
  readonly except: readonly string[];
}

/** How connections are made. */
export interface HttpConnectOptions {
  /** At once. */
  readonly connections: number;
  /** Until a connection is there, TLS and the proxy's consent included. */
  readonly connectMs: number;
  /** Resolves names of direct connections; otherwise the proxy does. */
  readonly lookup?: LookupFunction;
}

/**
 * Connections to one origin, which are opened when they are needed, and the proxy as `host:port`, if there is one. Deadlines of answers are the
 * caller's own.
 */
export function connectTo(origin: string, proxies: Proxies | undefined, how: HttpConnectOptions) {
  const { connections, connectMs, lookup } = how;
  const options = { connections, pipelining: 1, allowH2: false, headersTimeout: 0, bodyTimeout: 0 };
  const through = proxyFor(origin, proxies);
  if (through === undefined) {
    const connect = { timeout: connectMs, ...(lookup !== undefined && { lookup }) };
    return { dispatcher: new Pool(origin, { ...options, connect }), proxy: undefined };
  }
  const dispatcher = new ProxyAgent({
    uri: through.href,
    connectTimeout: connectMs,
    // The proxy's answer to CONNECT has the deadline of a connection.
    clientFactory: (url, given) => new Pool(url, { ...given, headersTimeout: connectMs }),
    factory: (url, given) => new Pool(url, { ...given, ...options }),
  });
  return { dispatcher, proxy: `${through.hostname}:${portOf(through)}` };
}

/** The proxy for an origin; undefined for none. This machine itself is always reached directly. */
export function proxyFor(origin: string, proxies: Proxies | undefined): URL | undefined {
  const url = new URL(origin);
  const proxy = url.protocol === 'https:' ? proxies?.https : proxies?.http;
  if (proxy === undefined) return undefined;
  const host = bareHost(url.hostname);
  if (isThisMachine(host)) return undefined;
  if (proxies?.except.some((entry) => covers(entry, host, portOf(url)))) return undefined;
  return new URL(proxy.reveal());
}

const portOf = ({ protocol, port }: URL): string => port || (protocol === 'https:' ? '443' : '80');

/** Whether an entry of `NO_PROXY` names the host. */
function covers(entry: string, host: string, port: string): boolean {
  const [, name = '', only] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry) ?? [undefined, entry];
  if (only !== undefined && only !== port) return false;
  if (name === '*') return true;
  const [net = '', bits] = name.split('/');
  if (bits !== undefined) return /^\d{1,3}$/.test(bits) && isWithin(host, bareHost(net), Number(bits));
  const below = name.startsWith('*.');
  const domain = bareHost(name.replace(/^\*?\./, ''));
  return (!below && host === domain) || (isIP(host) === 0 && host.endsWith(`.${domain}`));
}

function isWithin(host: string, net: string, bits: number): boolean {
  const version = isIP(net);
  if (version === 0 || isIP(host) !== version || !(bits <= (version === 4 ? 32 : 128))) return false;
  return isIn(rangesOf(`${net}/${bits}`), host);
}

/** A failure of the proxy itself, by the errors of undici's `ProxyAgent`; undefined for any other. */
export function proxyFailure(
  origin: string,
  proxy: string,
  error: unknown,
): { readonly error: TidemarkError; readonly retry: 'connect' | 'no' } | undefined {
  if (!(error instanceof Error)) return undefined;
  const facts = { cause: error };
  const status = /^Proxy response \((\d{3})\)|^Proxy Authentication Required \((407)\)/.exec(error.message);
  if (status === null) {
    const what = meanings[codeOf(error) ?? ''];
    if (what === undefined) return undefined;
    return { error: new Unreachable(`the proxy ${proxy} ${what}`, facts), retry: 'connect' };
  }
  const answered = Number(status[1] ?? status[2]);
  if (answered === 407) {
    const form = `HTTPS_PROXY=http://user:password@${proxy} (HTTP_PROXY for http)`;
    const message = `the proxy ${proxy} wants a user and a password, percent-encoded: ${form}`;
    return { error: new Misconfigured(message, facts), retry: 'no' };
  }
  const message = `the proxy ${proxy} makes no connection to ${origin} (it answered ${answered})`;
  const isPassing = answered >= 500 || [408, 425, 429].includes(answered);
  return { error: new Unreachable(message, facts), retry: isPassing ? 'connect' : 'no' };
}

const meanings: Readonly<Record<string, string>> = {
  UND_ERR_PRX_CONN: 'broke the connection off',
  UND_ERR_PRX_TLS: 'shows a certificate that is not valid for it',
  UND_ERR_HEADERS_TIMEOUT: 'did not answer in time',
};
