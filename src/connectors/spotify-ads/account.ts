/** Who we are at the platform, and whether it lets us in at all. */

import { AuthFailed, Forbidden, Missing } from '../../core/errors.ts';
import type { Answer, Http, Request } from '../../core/request.ts';
import { textAt } from '../../reading/offset-list.ts';
import { type Ads, ofAccount } from './ads.ts';
import { type Failure, failures, isOfOne } from './failures.ts';
import { listing } from './lists.ts';
import { businessPlace } from './streams/accounts.ts';

/** What the server says of us. */
export interface Account {
  /** Names of the businesses that we see, or of the account; undefined where the server does not say. */
  readonly name: string | undefined;
  /** The source's clock when it answered. */
  readonly clock: Date | undefined;
  /** What was asked, in words. */
  readonly words: string;
}

/**
 * Asks for the businesses; where they are closed to us, not there or fail, for the accounts that are configured, until one answers. Throws
 * `AuthFailed` where the token is not accepted or nothing is open to it, `Missing` where this is no ads platform; where none answers and one
 * fails, what it fails by.
 */
export const askAccount = async ({ http, accountIds }: Ads, signal: AbortSignal): Promise<Account> => {
  const walk = listing(businessPlace);
  const requests: readonly Request[] = [
    walk.first,
    ...accountIds.map(
      (id): Request => ({ method: 'GET', path: ofAccount(id), endpoint: '/ad_accounts/{id}' }),
    ),
  ];
  let refusal: Forbidden | Missing | undefined;
  const failed = failures(http.origin, requests.length);
  for (const request of requests) {
    const answer = await tried(http, request, signal);
    if (answer instanceof Forbidden || answer instanceof Missing) {
      // A closed door says more than a missing one.
      if (refusal === undefined || refusal instanceof Missing) refusal = answer;
      continue;
    }
    if (answer instanceof Error) {
      failed.keep(request.path, answer);
      continue;
    }
    if (request !== walk.first)
      return {
        name: textAt(answer.body, 'name'),
        clock: answer.date,
        words: `businesses: ${failed.all.has(walk.first.path) ? 'cannot be read' : 'closed to this token'}; accounts as configured`,
      };
    const businesses = walk.list(answer.body);
    const names = businesses.flatMap((one) => textAt(one, 'name') ?? textAt(one, 'id') ?? []);
    return {
      name: names.length === 0 ? undefined : listed(names),
      clock: answer.date,
      words: `businesses: ${businesses.length}`,
    };
  }
  const [failure] = failed.all.values();
  if (failure !== undefined) throw failure;
  if (refusal instanceof Forbidden)
    throw new AuthFailed(`${http.origin} is closed to this token: ${refusal.message}`, { cause: refusal });
  throw new Missing(
    `${http.origin} has neither businesses nor the configured accounts: is ADS_BASE_URL that of an ads platform, with /ads/v3?`,
    refusal?.status ?? 404,
    { cause: refusal },
  );
};

const tried = async (
  http: Http,
  request: Request,
  signal: AbortSignal,
): Promise<Answer | Failure | Missing> => {
  try {
    return await http.send(request, signal);
  } catch (cause) {
    if (cause instanceof Missing || isOfOne(cause)) return cause;
    throw cause;
  }
};

const listed = (names: readonly string[]): string =>
  names.length <= 3 ? names.join(', ') : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`;
