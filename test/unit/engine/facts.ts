/** A source of daily numbers in memory: owners, days, numbers that are restated. What the engine does with facts is tested against it. */

import { sql } from 'kysely';
import type { RunReport, TurnBudget } from '../../../src/core/run.ts';
import type {
  Days,
  Json,
  Page,
  ReadSide,
  Slice,
  SliceContext,
  Source,
  Stream,
  WalkEnd,
} from '../../../src/core/stream.ts';
import type { Row } from '../../../src/core/table.ts';
import type { RunDeps } from '../../../src/engine/context/deps.ts';
import { sync } from '../../../src/engine/sync.ts';
import type { Warehouse } from '../../../src/warehouse/connect.ts';
import { plainTable } from '../../support/plain-table.ts';

export interface Fact {
  readonly owner: string;
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly name: string;
  /** Exact decimal text. */
  readonly spend: string;
  readonly clicks: number | null;
}

const facts = plainTable({
  schema: 'lab',
  name: 'facts',
  columns: {
    owner: 'text',
    day: 'date',
    name: 'text',
    nth: 'int',
    spend: 'numeric',
    clicks: 'bigint',
    extra: 'jsonb',
  },
  key: ['owner', 'day', 'name', 'nth'],
  entity: false,
  revisions: { into: 'lab.revisions', about: '', columns: ['spend', 'clicks'], extra: 'extra' },
  occurrence: 'nth',
  partitions: { by: 'day', each: 'year', from: 2020, to: 2030 },
});

const owners = plainTable({
  schema: 'lab',
  name: 'owners',
  columns: { id: 'text', status: 'text', budget: 'numeric', updated_at: 'timestamptz' },
  key: ['id'],
  order: 'updated_at',
  entity: true,
  versions: { into: 'lab.owner_versions', about: '', columns: ['status', 'budget'] },
});

export interface Owner {
  readonly id: string;
  readonly status: string;
  readonly budget: string | null;
  /** µs since 1970. */
  readonly updatedAt: bigint;
}

export interface Lab {
  /** The source's clock. */
  now: Date;
  facts: Fact[];
  owners: Owner[];
  /** Called for each slice that is read; throws what the source answers. */
  answer: (slice: Slice, signal: AbortSignal) => void | Promise<void>;
  /** Every slice of facts that was read, as `owner from/to`. */
  readonly asked: string[];
  /** Slices that are read at once. */
  concurrency: number;
  /** The budget of a run for the stream `facts`; a slice of it is one request. Undefined: a run reads all. */
  turn?: TurnBudget;
  readonly notes: string[];
  run(options?: { readonly full?: boolean }): Promise<RunReport>;
  backfill(from: string, to: string): Promise<RunReport>;
}

export async function makeFacts(warehouse: Warehouse): Promise<void> {
  const meta = '_synced_at timestamptz not null default now(), _run_id bigint';
  for (const ddl of [
    'create schema lab',
    `create table lab.facts (source_id smallint, owner text, day date, name text, nth int, spend numeric, clicks bigint, extra jsonb, ${meta},
      primary key (source_id, owner, day, name, nth)) partition by range (day)`,
    `create table lab.facts_2026 partition of lab.facts for values from ('2026-01-01') to ('2027-01-01')`,
    'create table lab.facts_other partition of lab.facts default',
    `create table lab.revisions (source_id smallint, owner text, day date, name text, nth int, metric text, old_value numeric,
      new_value numeric, seen_at timestamptz, _run_id bigint)`,
    `create table lab.owners (source_id smallint, id text, status text, budget numeric, updated_at timestamptz, ${meta},
      _deleted_at timestamptz, _row_hash bigint, primary key (source_id, id))`,
    `create table lab.owner_versions (source_id smallint, id text, status text, budget numeric, valid_from timestamptz not null,
      valid_to timestamptz, _run_id bigint, primary key (source_id, id, valid_from))`,
  ])
    await sql.raw(ddl).execute(warehouse.db);
}

const at = (day: string): Date => new Date(`${day}T00:00:00Z`);
const text = (date: Date | undefined): string => date?.toISOString().slice(0, 10) ?? '…';

const pageOf = (records: readonly Json[]): Page => ({ records, raw: Buffer.alloc(0) });

async function* inPages(all: readonly Json[], size: number): AsyncGenerator<Page, WalkEnd, void> {
  for (let i = 0; i < all.length; i += size) yield pageOf(all.slice(i, i + size));
  return { expected: null, read: all.length, passes: 1, matched: true };
}

const field = (record: Json, name: string): string => String(Reflect.get(Object(record), name));

export function openLab(warehouse: Warehouse, days: Partial<Days> = {}, pageSize = 7): Lab {
  const lab: Lab = {
    now: at('2026-06-30'),
    facts: [],
    owners: [],
    answer: () => undefined,
    asked: [],
    notes: [],
    concurrency: 3,
    run: (options = {}) => sync(deps(), options),
    backfill: (from, to) => sync(deps(), { window: { from: at(from), to: at(to) }, streams: ['facts'] }),
  };
  const reading = (all: readonly Json[]) => ({
    pages: inPages(all, pageSize),
    id: (record: Json) => `${field(record, 'owner')}/${field(record, 'day')}/${field(record, 'name')}`,
    bytes: (record: Json) =>
      Buffer.from(
        JSON.stringify(record, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
      ),
  });
  const stream: ReadSide = {
    by: 'days',
    name: 'facts',
    about: 'Numbers by day.',
    endpoint: '/facts',
    after: ['owners'],
    partitions: { table: 'lab.owners', columns: { owner: 'id' }, where: '_deleted_at is null' },
    days: {
      scope: 'all',
      column: 'day',
      start: at('2026-01-01'),
      present: false,
      longest: 90,
      reread: [
        { every: 1, back: 3 },
        { every: 7, back: 14 },
        { every: 30, back: 90 },
      ],
      rows: async () => 0,
      ...days,
    },
    read: async (slice: Slice, _given: SliceContext, signal: AbortSignal) => {
      const { owner = '' } = slice.partition ?? {};
      const { from, to } = slice.window ?? {};
      lab.asked.push(`${owner} ${text(from)}/${text(to)}`);
      await lab.answer(slice, signal);
      return reading(
        lab.facts.filter((fact) => fact.owner === owner && fact.day >= text(from) && fact.day < text(to)),
      );
    },
  };
  const streams: readonly Stream[] = [
    {
      by: 'list',
      name: 'owners',
      about: 'Those whose numbers they are.',
      endpoint: '/owners',
      read: async () => ({ ...reading(lab.owners), id: (record: Json) => field(record, 'id') }),
      table: owners,
      transform: (record) => {
        const { id, status, budget, updatedAt } = record as Owner;
        return { row: { id, status, budget, updated_at: updatedAt } satisfies Row, children: {} };
      },
      absent: 'delete',
    },
    {
      ...stream,
      table: facts,
      transform: (record) => {
        const { owner, day, name, spend, clicks } = record as Fact;
        return { row: { owner, day, name, nth: 0, spend, clicks, extra: null } satisfies Row, children: {} };
      },
      keyOf: (record) => ({
        owner: field(record, 'owner'),
        day: field(record, 'day'),
        name: field(record, 'name'),
      }),
      absent: 'delete',
      afterwards: [
        {
          sql: `select format('%s spent %s', name, spend) as warning from lab.facts
            where source_id = $1::smallint and $2::bigint > 0 and $3::timestamptz is not null and spend > 1000000`,
        },
      ],
    },
  ];
  const source: Source = {
    name: 'lab',
    kind: 'ads',
    baseUrl: 'http://lab',
    streams,
    preflight: async () => ({ clock: lab.now, account: undefined, dialect: [], problems: [] }),
    http: {
      origin: 'http://lab',
      send: () => Promise.reject(new Error('nothing is sent')),
      counters: { requests: 0, retries: 0, throttledMs: 0, throttled: 0, quiet: [], bytes: 0 },
      close: async () => undefined,
    },
    close: async () => undefined,
  };
  const deps = (): RunDeps => ({
    warehouse,
    source,
    observe: (event) => {
      if (event.type === 'note') lab.notes.push(event.message);
    },
    signal: new AbortController().signal,
    concurrency: lab.concurrency,
    version: 'test',
    trigger: 'manual',
    lookbackMs: 0,
    createdWindowMs: 0,
    historyStart: at('2026-01-01'),
    ...(lab.turn && { rotate: { facts: lab.turn } }),
  });
  return lab;
}
