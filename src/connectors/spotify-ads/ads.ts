/** What the streams of one opened ads platform share. */

import type { Http, Partitions, Slice } from '../../core/stream.ts';
import type { Proxies } from '../../http/proxy.ts';

export interface Ads {
  readonly http: Http;
  /** Ad accounts to read; empty: all that the credentials can see. */
  readonly accountIds: readonly string[];
  /** Ad accounts that are not asked for, as `canonicalId` has them. */
  readonly leftOut?: readonly string[];
  /** Requests at once. */
  readonly concurrency: number;
  /** Proxies for the hosts that reports are fetched from; absent: none. */
  readonly proxies?: Proxies | undefined;
  /** Gets what a person should know. */
  readonly note: (message: string) => void;
}

/** The accounts whose parts are read: rows of the warehouse, restricted to those that are configured. */
export const accounts = ({ accountIds }: Pick<Ads, 'accountIds'>): Partitions => ({
  table: 'ads.ad_accounts',
  columns: { ad_account_id: 'id' },
  where: `_deleted_at is null${wanted(accountIds)}`,
});

/** The same restriction on a column, as the end of an SQL condition; '' for all accounts. UUIDs are written in either case. */
export const wanted = (accountIds: readonly string[], column = 'id'): string => {
  const literals = accountIds.map((id) => `'${id.toLowerCase().replaceAll("'", "''")}'`);
  return literals.length === 0 ? '' : ` and lower(${column} collate "C") in (${literals.join(', ')})`;
};

/** The path of an account's part. */
export const ofAccount = (accountId: string, rest = ''): string =>
  `/ad_accounts/${encodeURIComponent(accountId)}${rest}`;

/** The account that a slice is about. */
export const accountOf = ({ partition }: Slice): string => {
  const id = partition?.ad_account_id;
  if (id === undefined) throw new TypeError('the slice has no partition key ad_account_id');
  return id;
};

/** UUIDs may be written in either case (RFC 9562, section 4) and are kept in small letters; other ids differ by case. */
export const canonicalId = (id: string): string =>
  /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id) ? id.toLowerCase() : id;

/** The most ids that one request may name. */
const mostIds = 50;

/** Ids in chunks that one request may name. */
export const idChunks = (ids: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(ids.length / mostIds) }, (_, i) =>
    ids.slice(i * mostIds, (i + 1) * mostIds),
  );
