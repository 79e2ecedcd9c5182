/** What the streams of one opened tracker share. */

import type { Http } from '../../core/request.ts';
import type { Account } from './account.ts';
import type { Search } from './search.ts';

export interface Tracker {
  readonly http: Http;
  /** Asked once a run. */
  readonly account: (signal: AbortSignal) => Promise<Account>;
  readonly search: Search;
  /** Names of groups to read where the server has no list of them. */
  readonly groups: readonly string[];
}
