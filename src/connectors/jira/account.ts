/** The account that Tidemark uses, whether the server accepts its credentials, and how it says that a board has no sprints. */

import * as errors from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/stream.ts';
import { adviceOn } from '../../http/advice.ts';
import { existsAt as ask, get } from '../../reading/requests.ts';
import { advice } from './advice.ts';
import { textAt } from './lists.ts';

/** The list of a board's sprints. */
export const boardSprint = '/rest/agile/1.0/board/{id}/sprint';

/**
 * Statuses of the first page that say that an owner has no such list, by endpoint. The sentences are translated.
 * 400: a Kanban board. 422: no column of the board has a status (estuary/connectors#4848).
 */
const noList: Readonly<Record<string, readonly number[]>> = { [boardSprint]: [400, 422] };

/**
 * Throws `AuthFailed` for any answer whose login failed: the vendor serves wrong or blocked credentials as
 * anonymous, with 200 and empty lists, and says so only in the header `X-Seraph-LoginReason`. Throws
 * `HasNone` where a board refuses the first page of its sprints (`noList`). A board that refuses only a later
 * page has some.
 */
export const trackerHttp = (http: Http): Http =>
  sending(http, async (request, signal) => {
    const answer = await http.send(request, signal).catch((cause: unknown) => {
      const hasNone = cause instanceof errors.Refused && noList[request.endpoint]?.includes(cause.status);
      throw hasNone && isFirst(request) ? new errors.HasNone(cause.message, { cause }) : cause;
    });
    const login = answer.headers['x-seraph-loginreason'] ?? '';
    if (/AUTH/i.test(login))
      throw new errors.AuthFailed(
        `${http.origin} does not accept these credentials: it answered ${request.endpoint} as anonymous (X-Seraph-LoginReason: ${login}); ${adviceOn(advice, answer.headers)?.[1]}`,
      );
    return answer;
  });

/** The same client with another `send`. */
export const sending = (http: Http, send: Http['send']): Http => ({ ...http, send });

/** Whether a request is for the first page of its list. */
const isFirst = ({ query = {}, url }: Request): boolean =>
  url === undefined && (query.startAt === undefined || Number(query.startAt) === 0);

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
  const answer = await http.send(myself, signal).catch(errors.caught(errors.Missing, errors.Forbidden));
  if (!(answer instanceof Error)) return accountIn(http, answer);
  const other = await http.send(cheapest, signal).catch(errors.caught(errors.Missing, errors.Forbidden));
  // Every account may use both: a 403 is about the credentials.
  const forbidden = [other, answer].find((each) => each instanceof errors.Forbidden);
  if (!(other instanceof Error)) return nameless(other);
  if (forbidden instanceof errors.Forbidden)
    throw new errors.AuthFailed(`${http.origin} refuses these credentials: ${forbidden.message}`, {
      cause: forbidden,
    });
  const what = `has neither ${myself.path} nor ${cheapest.path}: is this the base URL of a tracker, with its path?`;
  throw new errors.Missing(`${http.origin} ${what}`, 404);
};

/** The account at a server that does not tell it. */
export const nameless = ({ date }: Answer): Account => ({ isVendor: false, name: undefined, clock: date });

const accountIn = (http: Http, { body, date }: Answer): Account => {
  const [name] = ['emailAddress', 'displayName', 'accountId', 'name'].flatMap(
    (key) => textAt(body, key) ?? [],
  );
  if (name === undefined)
    throw new errors.UnexpectedContent(
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
