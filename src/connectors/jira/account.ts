/** The account that Tidemark uses, and whether the server accepts its credentials. */

import { AuthFailed, Forbidden, Missing, UnexpectedContent } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/stream.ts';
import { existsAt as ask, get } from '../../reading/requests.ts';
import { baseOf } from './addresses.ts';
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
  const answer = await answerOf(http, myself, signal);
  if (!(answer instanceof Missing || answer instanceof Forbidden)) return accountIn(http, answer);
  const other = await answerOf(http, cheapest, signal);
  // Every account may use both: a 403 is about the credentials.
  const forbidden = [other, answer].find((each) => each instanceof Forbidden);
  if (!(other instanceof Missing || other instanceof Forbidden)) return nameless(other);
  if (forbidden instanceof Forbidden)
    throw new AuthFailed(`${http.origin} refuses these credentials: ${forbidden.message}`, {
      cause: forbidden,
    });
  const what = `has neither ${myself.path} nor ${cheapest.path}: is this the base URL of a tracker, with its path?`;
  throw new Missing(`${http.origin} ${what}`, 404);
};

/** The account at a server that does not tell it. */
export const nameless = ({ date }: Answer): Account => ({
  ...{ isVendor: false, name: undefined, clock: date },
});

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

/** The answer, or that the endpoint does not exist or is closed to us. */
const answerOf = (http: Http, request: Request, signal: AbortSignal) =>
  http.send(request, signal).catch((cause: unknown) => {
    if (cause instanceof Missing || cause instanceof Forbidden) return cause;
    throw cause;
  });

/**
 * Whether an entity still exists. A 404 counts only while the credentials are accepted: the vendor answers 404 to everything that it hides.
 */
export const existsAt = (http: Http, endpoint: string, query?: (id: string) => Request['query']) =>
  ask(http, endpoint, { ...(query && { query }), confirm: (signal) => askAccount(http, signal) });
