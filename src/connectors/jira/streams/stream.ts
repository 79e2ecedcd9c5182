/** What the streams of one opened tracker share. */

import type { Afterwards, Http, LoadSide, ReadSide, Stream, Windows } from '../../../core/stream.ts';
import type { handingOn } from '../../../http/hand-on.ts';
import { type Readable, transformOf } from '../columns.ts';
import type { Search } from '../search.ts';
import { mentionedUsers } from '../tables.ts';
import type { OwnFields } from '../transform/field-catalogue.ts';
import { peopleIn } from '../transform/people.ts';

export interface Tracker {
  readonly http: Http;
  /** Of lists that are needed twice in a run: the fields, and the sprints of each board. */
  readonly handing: ReturnType<typeof handingOn>;
  readonly search: Search;
  /** How issues become rows: the program's edition and the fields of the site that mean something. */
  readonly mapping: NonNullable<Windows['reading']>;
  readonly mapIssue: Stream['transform'];
  /** The fields that the configuration names, by what they mean. */
  readonly ownFields: OwnFields;
  /** Names of groups to read where the server has no list of them. */
  readonly groups: readonly string[];
  /** Keys or ids of projects whose issues are left out. */
  readonly leftOut: readonly string[];
}

/** `Omit` for each member of a union. */
type Without<S, K extends PropertyKey> = S extends unknown ? Omit<S, K> : never;

type Rest = Without<ReadSide, 'name' | 'endpoint'> & Pick<LoadSide, 'fallback' | 'afterwards'>;

const stream = (endpoint: string, table: Readable, absent: LoadSide['absent'], rest: Rest): Stream => {
  const transform = transformOf(table);
  return {
    ...rest,
    name: table.name,
    endpoint,
    table,
    absent,
    mentions: mentionedUsers,
    transform: (record, slice) => ({ ...transform(record, slice), mentions: peopleIn(record) }),
  };
};

/** A stream of entities: what a listing does not show is kept; `reconcile` finds deletions. */
export const entities = (endpoint: string, table: Readable, rest: Rest): Stream =>
  stream(endpoint, table, 'keep', rest);

/** A stream of relations: a complete listing replaces those of its owner. */
export const relations = (endpoint: string, table: Readable, rest: Rest): Stream =>
  stream(endpoint, table, 'delete', rest);

/** Calls a function of `migrations/facts/8_tracker.sql`, which says there what it does. `more`: further arguments. */
export const calling = (name: string, ...more: readonly string[]): string =>
  `select * from tracker.${name}(${['$1::smallint', '$2::bigint', ...more].join(', ')})`;

/** The same when a stream was read; these functions need no clock. */
export const afterwards = (call: string, how: Pick<Afterwards, 'after' | 'evenInPart'> = {}): Afterwards => ({
  ...how,
  sql: `${call} where $3::timestamptz is not null`,
});
