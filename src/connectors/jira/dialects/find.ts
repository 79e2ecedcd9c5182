/** Which dialect a server speaks: found out once a run, with the account. */

import { Missing } from '../../../core/errors.ts';
import { memoizeAsync } from '../../../core/memoize-async.ts';
import type { Http, Json } from '../../../core/stream.ts';
import { get } from '../../../reading/requests.ts';
import { type Account, askAccount, nameless } from '../account.ts';
import { atOurBase } from '../addresses.ts';
import { sending } from '../client.ts';
import { textAt } from '../lists.ts';
import { cloud } from './cloud.ts';
import { contract } from './contract.ts';
import { dataCenter } from './data-center.ts';
import { type Dialect, isAnswer } from './dialect.ts';

export interface Server {
  readonly dialect: Dialect;
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
  try {
    const account = await askAccount(http, signal);
    return { dialect: account.isVendor ? cloud : contract, account };
  } catch (cause) {
    if (!isAnswer(cause)) throw cause;
    const info = await plain.send(serverInfo, signal).catch((error: unknown) => {
      if (isAnswer(error)) return undefined;
      throw error;
    });
    const dialect = dialectIn(info?.body, cause);
    if (dialect === undefined) throw cause;
    const account = await askAccount(dialect.adapt(http), signal).catch((error: unknown) => {
      if (!(error instanceof Missing)) throw error;
      // A server that said what it is may lack the endpoints that tell the account.
      if (info === undefined) throw cause;
      return nameless(info);
    });
    return { dialect, account };
  }
};

/** Undefined where the server is no Data Center. Jira 7 and older do not say how they are deployed. */
const dialectIn = (info: Json, cause: unknown): Dialect | undefined => {
  const [version, deployment] = [textAt(info, 'version'), textAt(info, 'deploymentType')];
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
