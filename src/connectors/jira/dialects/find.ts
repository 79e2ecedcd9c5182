/** Which dialect a server speaks: found out once a run, with the account. */

import { caught, Missing } from '../../../core/errors.ts';
import { memoizeAsync } from '../../../core/memoize-async.ts';
import type { Http, Json } from '../../../core/stream.ts';
import { get } from '../../../reading/requests.ts';
import { type Account, askAccount, atOurBase, nameless, sending } from '../account.ts';
import { textAt } from '../lists.ts';
import { cloud, contract } from './cloud.ts';
import { dataCenter } from './data-center.ts';
import { answers, type JiraDialect } from './dialect.ts';

export interface Server {
  readonly dialect: JiraDialect;
  readonly account: Account;
}

/** Everybody may ask it (docs.atlassian.com/software/jira/docs/api/REST/9.12.0, `serverInfo`). */
const serverInfo = get('/rest/api/2/serverInfo');

/**
 * Version 3 of the API is the cloud's and the contract's. A server without it, or whose gateway does not let us
 * at it, says in version 2 what it is. Throws `AuthFailed` where the credentials are not accepted, `Missing`
 * where there is no tracker. `plain`: without the checks of `http`, because it is asked before we are known.
 */
export const findServer = async (http: Http, plain: Http, signal: AbortSignal): Promise<Server> => {
  const first = await askAccount(http, signal).catch(caught(...answers));
  if (!(first instanceof Error)) return { dialect: first.isVendor ? cloud : contract, account: first };
  const info = await plain.send(serverInfo, signal).catch(caught(...answers));
  const isSilent = info instanceof Error;
  const dialect = dialectIn(isSilent ? undefined : info.body, first);
  if (dialect === undefined) throw first;
  const account = await askAccount(dialect.adapt(http), signal).catch(caught(Missing));
  if (!(account instanceof Missing)) return { dialect, account };
  // A server that said what it is may lack the endpoints that tell the account.
  if (isSilent) throw first;
  return { dialect, account: nameless(info) };
};

/** Undefined where the server is no Data Center. Jira 7 and older do not say how they are deployed. */
const dialectIn = (info: Json, cause: unknown): JiraDialect | undefined => {
  const version = textAt(info, 'version');
  const deployment = textAt(info, 'deploymentType');
  const isServer = deployment === undefined ? version !== undefined : deployment !== 'Cloud';
  return isServer || (info === undefined && cause instanceof Missing) ? dataCenter(version) : undefined;
};

/** The same world at every server. */
export const speaking = (http: Http, server: (signal: AbortSignal) => Promise<Server>): Http => {
  const adapted = memoizeAsync(async (signal) => {
    const { dialect, account } = await server(signal);
    return { server: dialect.adapt(http), account };
  });
  return sending(http, async (request, signal) => {
    const { server, account } = await adapted(signal);
    return server.send(atOurBase(request, account.site), signal);
  });
};
