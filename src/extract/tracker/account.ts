/** Who we are at the server, and whether it lets us in at all. */

import { AuthFailed, Forbidden, Missing, UnexpectedContent } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/request.ts';
import { textAt } from './lists.ts';
import { type Zone, zoneOf } from './zone.ts';

/** What the server says of the account. */
export interface Account {
  /** True where the server has `/myself`: it speaks the vendor's tongue beyond the contract's seven endpoints. */
  readonly known: boolean;
  /** Name or e-mail; undefined where the server does not say. */
  readonly name: string | undefined;
  /** The zone in which it reads quoted dates; undefined where it does not say or names one this machine does not know. */
  readonly zone: Zone | undefined;
  /** The source's clock when it answered. */
  readonly clock: Date | undefined;
}

const myself: Request = { method: 'GET', path: '/rest/api/3/myself', endpoint: '/rest/api/3/myself' };

const cheapest: Request = {
  method: 'GET',
  path: '/rest/api/3/project/search',
  query: { maxResults: 1 },
  endpoint: '/rest/api/3/project/search',
};

/**
 * Asks `/myself`; where the server has none, the cheapest endpoint of the contract. Throws `AuthFailed` where the credentials are not
 * accepted: on its other endpoints the vendor serves wrong ones as anonymous, and a full site would look empty.
 */
export const askAccount = async (http: Http, signal: AbortSignal): Promise<Account> => {
  const answer = await sendAuthenticated(http, myself, signal);
  if (answer !== undefined) {
    const name =
      textAt(answer.body, 'emailAddress') ?? textAt(answer.body, 'displayName') ?? textAt(answer.body, 'accountId');
    if (name === undefined) {
      throw new UnexpectedContent(`${http.origin}${myself.path} names no account: is this the base URL of a tracker?`);
    }
    const zone = textAt(answer.body, 'timeZone');
    return {
      known: true,
      name,
      zone: zone === undefined ? undefined : zoneOf(zone),
      clock: answer.date,
    };
  }
  const other = await sendAuthenticated(http, cheapest, signal);
  if (other === undefined) {
    throw new Missing(
      `${http.origin} has neither ${myself.path} nor ${cheapest.path}: is this the base URL of a tracker?`,
      404,
    );
  }
  return { known: false, name: undefined, zone: undefined, clock: other.date };
};

/** The answer, or undefined where the endpoint is not there. A 403 on these two is about the account, not about a part of the source. */
const sendAuthenticated = async (http: Http, request: Request, signal: AbortSignal): Promise<Answer | undefined> => {
  try {
    return await http.send(request, signal);
  } catch (cause) {
    if (cause instanceof Missing) return undefined;
    if (cause instanceof Forbidden) {
      throw new AuthFailed(`${http.origin} refuses these credentials at ${request.path} (403)`, { cause });
    }
    throw cause;
  }
};
