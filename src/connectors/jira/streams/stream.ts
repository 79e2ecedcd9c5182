/** What the streams of one opened tracker share. */

import type { Http } from '../../../core/request.ts';
import type { Flow, MappingFingerprint, Stream } from '../../../core/stream.ts';
import type { Table } from '../../../core/table.ts';
import type { Search } from '../search.ts';

export interface Tracker {
  readonly http: Http;
  readonly search: Search;
  /** How issues become rows: the program's edition and the fields of the site that mean something. */
  readonly mapping: (signal: AbortSignal, doubtful?: boolean) => Promise<MappingFingerprint>;
  readonly mapIssue: Flow['via'];
  /** Names of groups to read where the server has no list of them. */
  readonly groups: readonly string[];
}

/** A stream of entities: what a listing does not show is kept; `reconcile` finds deletions. */
export const entity = (stream: Stream, table: Table, via: Flow['via']): Flow => ({
  stream,
  table,
  children: {},
  via,
  absent: 'kept',
});

/** A stream of relations: a complete listing replaces those of its owner. */
export const relation = (stream: Stream, table: Table, via: Flow['via']): Flow => ({
  ...entity(stream, table, via),
  absent: 'replaced',
});
