/** What the streams of one opened ads platform share. */

import type { Http } from '../../core/request.ts';
import type { Parents } from '../../core/stream.ts';
import type { Proxies } from '../../http/proxy.ts';

export interface Ads {
  readonly http: Http;
  /** Ad accounts to read; empty: all that the credentials can see. */
  readonly accountIds: readonly string[];
  /** Requests at once. */
  readonly concurrency: number;
  /** Between us and where reports are fetched from; absent: none. */
  readonly proxies?: Proxies;
  /** Told what a person should know. */
  readonly note: (message: string) => void;
}

/** The accounts whose parts are read: those the warehouse knows, of those that are wanted. UUIDs are written in either case. */
export const accounts = ({ accountIds }: Pick<Ads, 'accountIds'>): Parents => ({
  table: 'ads.ad_accounts',
  columns: { ad_account_id: 'id' },
  where: `_deleted_at is null${wanted(accountIds)}`,
});

/** The same restriction on another column, as the end of a condition in SQL; '' where all accounts are wanted. */
export const wanted = (accountIds: readonly string[], column = 'id'): string =>
  accountIds.length === 0
    ? ''
    : ` and lower(${column}) in (${accountIds.map((id) => quoted(id.toLowerCase())).join(', ')})`;

/** A literal of standard SQL. */
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The path of an account's part. */
export const ofAccount = (accountId: string, rest = ''): string =>
  `/ad_accounts/${encodeURIComponent(accountId)}${rest}`;
