/** From a `Request` to the path that is sent, to the configured origin and nowhere else. */

import { ForeignOrigin, Misconfigured } from '../core/errors.ts';
import type { Request } from '../core/stream.ts';

/** `origin` gets the credentials, `prefix` comes before every path ('' or `/ads/v3`). */
export interface Base {
  readonly origin: string;
  readonly prefix: string;
}

/** Throws `Misconfigured` where the text is no http(s) URL, or carries a user, a query or a fragment. */
export const baseOf = (text: string): Base => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Misconfigured('the base URL must be an http or https URL, e.g. https://example.atlassian.net');
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new Misconfigured(`the base URL of ${url.host} must not hold a user, a query or a fragment`);
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
};

/**
 * Path and query to send to `base.origin`. Throws `ForeignOrigin` for a `request.url` that points anywhere else. A server behind a proxy that puts a
 * prefix before its paths may not know of it: the same endpoint's next page without the prefix lies below it.
 */
export const pathOf = (request: Request, base: Base): string => {
  const path = base.prefix + request.path;
  if (request.url === undefined) return path + queryOf(request.query);
  const url = strictUrl(request.url, base.origin + path);
  if (url?.origin !== base.origin || url.username !== '' || url.password !== '')
    throw new ForeignOrigin(
      `${request.endpoint}: the next page is at ${url?.origin ?? 'no readable URL'}, not at ${base.origin}; not followed`,
    );
  return (url.pathname === request.path ? path : url.pathname) + url.search;
};

/** Null for what a URL parser would mend silently: white space, control characters and backslashes have no place in a URL. */
export const strictUrl = (text: string, from?: string): URL | null =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  /[\u0000-\u0020\u007f\\]/.test(text) ? null : URL.parse(text, from);

const queryOf = (query: Request['query']): string => {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one): [string, string] => [name, String(one)]),
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
};
