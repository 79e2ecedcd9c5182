/** Addresses in answers. They name the server as it knows itself; we keep to the base URL of the configuration. */

import type { Request } from '../../core/stream.ts';

/**
 * The vendor's gateway, whatever address a site was asked by (in all answers since 14 July 2026). The same
 * origin by http, with a user or with another port is none.
 */
const gateway = /^https:\/\/api\.atlassian\.com\/ex\/jira\/[\w-]+(?=\/rest\/)/;

/** The base of an address of the API, such as `https://example.atlassian.net`. */
export const baseOf = (address: string): string | undefined =>
  /^(https?:\/\/[^?#]+?)\/rest\//.exec(address)?.[1];

/**
 * The request with path and query of a next page that is at the gateway, or at the site as it named itself in
 * `site`: below our own base URL. Any other host is left for the client to refuse.
 */
export const atOurBase = (request: Request, site: string | undefined): Request => {
  const { url = '' } = request;
  const isOfSite = site !== undefined && url.startsWith(`${site}/rest/`);
  const base = isOfSite ? site : gateway.exec(url)?.[0];
  return base === undefined ? request : { ...request, url: url.slice(base.length) };
};
