/** What is between us and the sources. */

import { Secret } from '../core/secret.ts';
import type { Names, Variables } from './variables.ts';

/** The addresses are secrets: they may hold a password. */
export interface ProxyConfig {
  /** For addresses of http; a URL of http or https. */
  readonly http?: Secret;
  /** For addresses of https. */
  readonly https?: Secret;
  /** What is reached without one; see `Proxies` of src/http/proxy.ts. */
  readonly except: readonly string[];
}

export const proxyNames = {
  secrets: ['HTTPS_PROXY', 'HTTP_PROXY'],
  plain: ['NO_PROXY'],
} as const satisfies Names;

/** Named as all programs name them, in lower case first. What is no proxy of HTTP is left alone: it was set for others. */
export function readProxies(from: Variables): ProxyConfig {
  const one = (name: string): Secret | undefined => {
    const given = from.secret(name, name.toLowerCase());
    if (given === undefined) return undefined;
    const text = given.reveal();
    const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
    if (url !== null && isProxy(url)) return new Secret(url.href);
    from.warn(
      name,
      'is not the address of an HTTP proxy, such as http://proxy.example:3128 (special characters in user and password percent-encoded); no proxy is used',
    );
    return undefined;
  };
  const http = one('HTTP_PROXY');
  const https = one('HTTPS_PROXY');
  const except = (from.text('NO_PROXY', 'no_proxy') ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  return { ...(http ? { http } : {}), ...(https ? { https } : {}), except };
}

/** A path is that of a script that names proxies, or the rest of a password with a slash; a % that encodes nothing cannot be shown as Basic auth. */
function isProxy({ protocol, hostname, pathname, search, hash, username, password }: URL): boolean {
  if (!/^https?:$/.test(protocol) || hostname === '' || pathname !== '/' || search !== '' || hash !== '')
    return false;
  try {
    decodeURIComponent(`${username}:${password}`);
    return true;
  } catch {
    return false;
  }
}
