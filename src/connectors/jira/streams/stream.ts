/** What the streams of one opened tracker share. */

import type { Http } from '../../../core/request.ts';
import type { Flow, MappingFingerprint, Stream } from '../../../core/stream.ts';
import { type Readable, transformOf } from '../columns.ts';
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

type Rest = Omit<Stream, 'name' | 'endpoint'> & Pick<Flow, 'fallback' | 'afterwards'>;

const stream = (endpoint: string, table: Readable, absent: Flow['absent'], rest: Rest): Flow => {
  const { fallback, afterwards, ...own } = rest;
  return {
    stream: { name: table.name, endpoint, ...own },
    table,
    children: {},
    via: transformOf(table),
    absent,
    ...(fallback && { fallback }),
    ...(afterwards && { afterwards }),
  };
};

/** A stream of entities: what a listing does not show is kept; `reconcile` finds deletions. */
export const entities = (endpoint: string, table: Readable, rest: Rest): Flow =>
  stream(endpoint, table, 'kept', rest);

/** A stream of relations: a complete listing replaces those of its owner. */
export const relations = (endpoint: string, table: Readable, rest: Rest): Flow =>
  stream(endpoint, table, 'replaced', rest);
