/** Who we are at the server, and whether it lets us in at all. */

import { AuthFailed, Forbidden, Missing, UnexpectedContent } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/request.ts';
import { type Zone, zoneOf } from './dates.ts';
import { textAt } from './lists.ts';

/** What the server says of the account. */
export interface Account {
  /** True where the server answers `/myself`: it speaks the vendor's tongue beyond the contract's seven endpoints. */
  readonly known: boolean;
  /** Name or e-mail; undefined where the server does not say. */
  readonly name: string | undefined;
  /** The zone in which it reads quoted dates; undefined where it does not say or names one this machine does not know. */
  readonly zone: Zone | undefined;
  /** The source's clock when it answered. */
  readonly clock: Date | undefined;
}

const myself: Request = { method: 'GET', path: '/rest/api/3/myself', endpoint: '/rest/api/3/myself' };

/** Of the contract's endpoints the one that costs least, and is open to every account. */
export const cheapest: Request = {
  method: 'GET',
  path: '/rest/api/3/project/search',
  query: { maxResults: 1 },
  endpoint: '/rest/api/3/project/search',
};

/**
 * Asks `/myself`; where the server has none (404), or a gateway refuses it (403), the cheapest
 * endpoint of the contract. Throws `AuthFailed` where the credentials are not accepted: on its other endpoints the vendor serves wrong ones as anonymous,
 * and a full site would look empty; the header in which it says so is looked at with every answer.
 */
export const askAccount = async (http: Http, signal: AbortSignal): Promise<Account> => {
  const answer = await answerOf(http, myself, signal);
  if (!(answer instanceof Missing || answer instanceof Forbidden)) {
    const name =
      textAt(answer.body, 'emailAddress') ??
      textAt(answer.body, 'displayName') ??
      textAt(answer.body, 'accountId');
    if (name === undefined) {
      throw new UnexpectedContent(
        `${http.origin}${myself.path} names no account: is this the base URL of a tracker?`,
      );
    }
    const zone = textAt(answer.body, 'timeZone');
    return {
      known: true,
      name,
      zone: zone === undefined ? undefined : zoneOf(zone),
      clock: answer.date,
    };
  }
  const other = await answerOf(http, cheapest, signal);
  // Both are open to every account: a 403 here is about the account, not about a part of the source.
  const refused = (at: Request, cause: Forbidden): AuthFailed =>
    new AuthFailed(`${http.origin} refuses these credentials at ${at.path} (403)`, { cause });
  if (other instanceof Forbidden) throw refused(cheapest, other);
  if (!(other instanceof Missing))
    return { known: false, name: undefined, zone: undefined, clock: other.date };
  if (answer instanceof Forbidden) throw refused(myself, answer);
  throw new Missing(
    `${http.origin} has neither ${myself.path} nor ${cheapest.path}: is this the base URL of a tracker?`,
    404,
  );
};

/** The answer, or that the endpoint is not there or closed to us. */
const answerOf = async (
  http: Http,
  request: Request,
  signal: AbortSignal,
): Promise<Answer | Missing | Forbidden> => {
  try {
    return await http.send(request, signal);
  } catch (cause) {
    if (cause instanceof Missing || cause instanceof Forbidden) return cause;
    throw cause;
  }
};

/**
 * Whether an entity still exists: true on 200, false on 404 and 410, anything else is thrown. A 404 counts only while the credentials still
 * hold: the vendor answers 404 to everything it hides from strangers. `endpoint` has `{id}` in the place of the id, else takes it as `query`.
 */
export const existsAt =
  (http: Http, endpoint: string, query: (id: string) => Request['query'] = () => undefined) =>
  async (id: string, signal: AbortSignal): Promise<boolean> => {
    const path = endpoint.replace('{id}', encodeURIComponent(id));
    const asked = query(id);
    try {
      await http.send({ method: 'GET', endpoint, path, ...(asked && { query: asked }) }, signal);
      return true;
    } catch (cause) {
      if (!(cause instanceof Missing) || (cause.status !== 404 && cause.status !== 410)) throw cause;
      await askAccount(http, signal);
      return false;
    }
  };
