/** What the streams of one opened tracker share. */

import type { Http } from '../../core/request.ts';
import type { MappingFingerprint } from '../../core/stream.ts';
import type { Account } from './account.ts';
import type { Search } from './search.ts';

export interface Tracker {
  readonly http: Http;
  /** Asked once a run. */
  readonly account: (signal: AbortSignal) => Promise<Account>;
  readonly search: Search;
  /** By what issues become rows: the fields of the site that mean something to us. */
  readonly reading: (signal: AbortSignal, doubtful?: boolean) => Promise<MappingFingerprint>;
  /** Names of groups to read where the server has no list of them. */
  readonly groups: readonly string[];
}
