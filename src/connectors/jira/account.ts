/** The account that Tidemark uses, and whether the server accepts its credentials. */

import { AuthFailed, caught, Forbidden, Missing, UnexpectedContent } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/stream.ts';
import { existsAt as ask, get } from '../../reading/requests.ts';
import { textAt } from './lists.ts';

/** What the server says of the account. */
export interface Account {
  /**
   * True where the server answers `/myself`: it has the vendor's API beyond the contract's seven endpoints.
   */
  readonly isVendor: boolean;
  /** Name or e-mail; undefined where the server does not say. */
  readonly name: string | undefined;
  /** The base of the addresses in its answers; undefined where they have none. */
  readonly site?: string | undefined;
  /** The source's clock when it answered. */
  readonly clock: Date | undefined;
}

const myself = get('/rest/api/3/myself');

/** The cheapest request of the contract; every account may send it. */
export const cheapest = get('/rest/api/3/project/search', { maxResults: 1 });

/**
 * Asks `/myself`; where the server has none (404) or refuses it (403), the cheapest endpoint of the contract.
 * Throws `AuthFailed` where the credentials are not accepted: on its other endpoints the vendor serves wrong
 * ones as anonymous, and a full site would look empty.
 */
export const askAccount = async (http: Http, signal: AbortSignal): Promise<Account> => {
  const answer = await http.send(myself, signal).catch(caught(Missing, Forbidden));
  if (!(answer instanceof Error)) return accountIn(http, answer);
  const other = await http.send(cheapest, signal).catch(caught(Missing, Forbidden));
  // Every account may use both: a 403 is about the credentials.
  const forbidden = [other, answer].find((each) => each instanceof Forbidden);
  if (!(other instanceof Error)) return nameless(other);
  if (forbidden instanceof Forbidden)
    throw new AuthFailed(`${http.origin} refuses these credentials: ${forbidden.message}`, {
      cause: forbidden,
    });
  const what = `has neither ${myself.path} nor ${cheapest.path}: is this the base URL of a tracker, with its path?`;
  throw new Missing(`${http.origin} ${what}`, 404);
};

/** The account at a server that does not tell it. */
export const nameless = ({ date }: Answer): Account => ({ isVendor: false, name: undefined, clock: date });

const accountIn = (http: Http, { body, date }: Answer): Account => {
  const [name] = ['emailAddress', 'displayName', 'accountId', 'name'].flatMap(
    (key) => textAt(body, key) ?? [],
  );
  if (name === undefined)
    throw new UnexpectedContent(
      `${http.origin}${myself.path} names no account: is this the base URL of a tracker?`,
    );
  return { isVendor: true, name, site: baseOf(textAt(body, 'self') ?? ''), clock: date };
};

/**
 * Whether an entity still exists. A 404 counts only while the credentials are accepted: the vendor answers 404 to everything that it hides.
 */
export const existsAt = (http: Http, endpoint: string, query?: (id: string) => Request['query']) =>
  ask(http, endpoint, { ...(query && { query }), confirm: (signal) => askAccount(http, signal) });

// Addresses in answers. They name the server as it knows itself; we keep to the base URL of the configuration.

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
