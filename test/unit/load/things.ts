import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Mapped, Stream } from '../../../src/core/stream.ts';
import type { Row } from '../../../src/core/table.ts';
import { Batch } from '../../../src/load/batch.ts';
import type { Load, Loaded } from '../../../src/load/load.ts';
import { load } from '../../../src/load/load.ts';
import type { Warehouse } from '../../../src/warehouse/connect.ts';
import { plainTable } from '../../support/plain-table.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

/** A parent with an order and two kinds of children: relations that are removed, entities that are tombstoned. */
export const things = plainTable({
  schema: 'lab',
  name: 'things',
  columns: { id: 'bigint', name: 'text', updated_at: 'timestamptz' },
  key: ['id'],
  order: 'updated_at',
  entity: true,
});

export const thingTags = plainTable({
  schema: 'lab',
  name: 'thing_tags',
  columns: { thing_id: 'bigint', tag: 'text', weight: 'int' },
  key: ['thing_id', 'tag'],
  entity: false,
});

export const thingNotes = plainTable({
  schema: 'lab',
  name: 'thing_notes',
  columns: { id: 'bigint', thing_id: 'bigint', body: 'text' },
  key: ['id'],
  entity: true,
});

export const members = plainTable({
  schema: 'lab',
  name: 'members',
  columns: { club_id: 'text', user_id: 'text' },
  key: ['club_id', 'user_id'],
  entity: false,
});

const nowhere = {
  by: 'list' as const,
  name: 'things',
  about: '',
  endpoint: '',
  pages: () => {
    throw new Error('nothing is read here');
  },
};

export const thingFlow: Stream = {
  ...nowhere,
  table: things,
  children: {
    tags: { table: thingTags, parent: ['thing_id'], absent: 'deleted' },
    notes: { table: thingNotes, parent: ['thing_id'], absent: 'deleted', moves: true },
  },
  transform: () => {
    throw new Error('nothing is mapped here');
  },
  absent: 'keep',
};

export const memberFlow: Stream = {
  ...thingFlow,
  name: 'members',
  table: members,
  children: {},
  absent: 'delete',
};

const meta = '_synced_at timestamptz not null default now(), _run_id bigint';
const entity = `${meta}, _deleted_at timestamptz, _row_hash bigint`;
const tables = `create schema lab;
  create table lab.things (source_id smallint, id bigint, name text, updated_at timestamptz, ${entity},
    primary key (source_id, id));
  create table lab.thing_tags (source_id smallint, thing_id bigint, tag text, weight int, ${meta},
    primary key (source_id, thing_id, tag));
  create table lab.thing_notes (source_id smallint, id bigint, thing_id bigint, body text, ${entity},
    primary key (source_id, id));
  create table lab.members (source_id smallint, club_id text, user_id text, ${meta},
    primary key (source_id, club_id, user_id));`;

/** A warehouse with the tables above for the tests of a file. */
export interface Lab {
  readonly warehouse: Warehouse;
  /** Rows of a query as arrays of text. */
  rows(query: string): Promise<readonly (readonly (string | null)[])[]>;
  /** Loads records in one batch, fetched at the given moments. */
  put(records: readonly Mapped[], how?: Partial<Load>, fetchedAt?: readonly bigint[]): Promise<Loaded>;
}

/** Call it once a file. `emptied`: tables that each test begins without rows of; `ddl`: more tables. */
export function openLab(flow: Stream, emptied: string, ddl = ''): Lab {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
    await database.warehouse.pool.query(`${tables}${ddl}`);
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    if (emptied !== '') await database.warehouse.pool.query(`truncate ${emptied}`);
  });
  return {
    get warehouse() {
      return database.warehouse;
    },
    rows: (query) => rowsOf(database.warehouse, query),
    put: (records, how, fetchedAt) => loadBatch(database.warehouse, batchOf(flow, records, fetchedAt), how),
  };
}

export const thing = (
  id: number,
  name: string | null,
  updatedAt: bigint,
  children: Readonly<Record<string, readonly Row[]>> = {},
): Mapped => ({ row: { id, name, updated_at: updatedAt }, children });

/** A batch of things fetched at the given moments (default: one after the other from 1000 on). */
export function batchOf(flow: Stream, records: readonly Mapped[], fetchedAt: readonly bigint[] = []): Batch {
  const batch = new Batch(flow);
  records.forEach((mapped, i) => {
    batch.add(mapped, fetchedAt[i] ?? BigInt(1000 + i));
    batch.names.push([String(mapped.row.id ?? ''), '']);
  });
  return batch;
}

export function loadBatch(warehouse: Warehouse, batch: Batch, how: Partial<Load> = {}): Promise<Loaded> {
  const usual: Load = {
    sourceId: 1,
    runId: '1',
    force: false,
    resolves: true,
    close: async () => undefined,
    guard: async () => () => undefined,
  };
  return load(warehouse.pool, batch, { ...usual, ...how }, new AbortController().signal);
}

export async function rowsOf(warehouse: Warehouse, query: string): ReturnType<Lab['rows']> {
  const { rows } = await warehouse.pool.query<(string | null)[]>({ text: query, rowMode: 'array' });
  return rows.map((row) => row.map((value) => (value === null ? null : String(value))));
}
