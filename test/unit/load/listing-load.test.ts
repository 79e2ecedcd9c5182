/** A listing that is too large for one batch: the first of a scope goes straight into its table, others are staged. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Transient } from '../../../src/core/errors.ts';
import { noCounts } from '../../../src/core/run.ts';
import type { Mapped, Stream } from '../../../src/core/stream.ts';
import type { Batch } from '../../../src/load/batch.ts';
import { ListingLoad, type Load, type Loaded, load } from '../../../src/load/load.ts';
import { mostDeletions } from '../../../src/load/replace.ts';
import { plainTable } from '../../support/plain-table.ts';
import { batchOf, loadBatch, openLab, thingFlow } from './things.ts';

const columns = { owner: 'text', day: 'date', name: 'text', nth: 'int', clicks: 'bigint' } as const;
const named = { schema: 'lab', entity: false } as const;
const counts = { name: 'counted', key: ['owner', 'day', 'name', 'nth'], occurrence: 'nth' } as const;
const counted = plainTable({ ...named, ...counts, columns });
const single = plainTable({ ...named, name: 'single', columns, key: ['day', 'name'] });
const flowOf = (one: typeof counted | typeof single): Stream => ({
  ...thingFlow,
  name: one.name,
  table: one,
  children: {},
  absent: 'delete',
});

interface Count {
  readonly name: string;
  readonly clicks: number;
}

const mapped = ({ name, clicks }: Count, owner = 'a'): Mapped => ({
  row: { owner, day: '2026-06-01', name, nth: 0, clicks },
  children: {},
});
const scopeOf = (owner: string) => ({
  equal: { owner },
  days: { column: 'day', from: new Date('2026-06-01'), to: new Date('2026-07-01') },
});

const content =
  'source_id smallint, owner text, day date, name text, nth int, clicks bigint, _synced_at timestamptz, _run_id bigint';
const lab = openLab(
  thingFlow,
  'lab.counted, lab.single, ops.commits',
  `create table lab.counted (${content}, primary key (source_id, owner, day, name, nth));
   create table lab.single (${content}, primary key (source_id, day, name))`,
);
const stored = (flow: Stream, by = '') =>
  lab.rows(`select owner, name, nth, clicks ${by} from lab.${flow.table.name} order by 1, 2, 3, 4`);
/** Loads one batch that is the complete listing of the first owner. */
const whole = (batch: Batch, how: Partial<Load> = {}): Promise<Loaded> =>
  loadBatch(lab.warehouse, batch, { lists: scopeOf('a'), ...how });
/** Ends the session that has a transaction open; gives how many there were. */
const cutSession = async (): Promise<number> => {
  const open = `state = 'idle in transaction' and datname = current_database()`;
  return (await lab.rows(`select pg_terminate_backend(pid) from pg_stat_activity where ${open}`)).length;
};

const never = new AbortController().signal;
const usual = { sourceId: 1, runId: '1', force: false } as const;
const openListing = (stream: Stream, owner = 'a'): Promise<ListingLoad> => {
  const target = { ...usual, stream, scope: scopeOf(owner), settings: 'set local lock_timeout = 0' };
  return ListingLoad.open(lab.warehouse.pool, target, never);
};

let clock = 0n;
/** The batches in turn, all but the last one ahead. Each has its own moment of fetching. */
async function listing(
  flow: Stream,
  parts: readonly (readonly Count[])[],
  more: { owner?: string; close?: Load['close']; ahead?: () => Promise<void> } = {},
): Promise<Loaded> {
  const { owner = 'a', close = async () => undefined } = more;
  const batches = parts.map((part): Batch => {
    clock += 1_000n;
    const records = part.map((one) => mapped(one, owner));
    return batchOf(flow, records, Array(part.length).fill(clock));
  });
  const taken = await openListing(flow, owner);
  try {
    for (const batch of batches.slice(0, -1)) await taken.add(batch);
    await more.ahead?.();
    const how = { ...usual, resolves: false, lists: scopeOf(owner), close };
    const last = batches.at(-1) ?? batchOf(flow, []);
    return await load(lab.warehouse.pool, last, { ...how, guard: async () => () => undefined }, never, taken);
  } finally {
    await taken.close();
  }
}

/** All parts as one batch, each record with the moment of its part. */
const inOneBatch = (flow: Stream, parts: readonly (readonly Count[])[]): Promise<Loaded> => {
  const moments = parts.flatMap((part, at) => part.map(() => BigInt(at + 1) * 1_000n));
  const records = parts.flat().map((one) => mapped(one));
  return whole(batchOf(flow, records, moments));
};

describe.each([counted, single])('of a table like $name', (kind) => {
  const flow = flowOf(kind);

  test.each([false, true])('days without a single good record stay, forced: %s', async (force) => {
    await listing(flow, [[{ name: 'x', clicks: 1 }]]);
    const rejected = (good: readonly Count[]): Batch => {
      const records = good.map((one) => mapped(one));
      const batch = batchOf(flow, records);
      const why = { stage: 'transform', code: 'no_id', field: 'entity_id', message: 'none' } as const;
      batch.reject({ ...why, key: '', slice: {}, payload: Buffer.from('{}') });
      return batch;
    };
    const held = await whole(rejected([]), { runId: '2', force });
    expect(held).toMatchObject({ isHeld: true, deleted: 0, counts: { received: 1, rejected: 1 } });
    expect(await stored(flow)).toEqual([['a', 'x', '0', '1']]);
    // With one good record it is a listing: what it does not show is gone.
    const next = await whole(rejected([{ name: 'y', clicks: 2 }]), { runId: '3', force });
    expect(next).toMatchObject({ isHeld: false, deleted: 1 });
    expect(await stored(flow)).toEqual([['a', 'y', '0', '2']]);
  });

  test('rows and counts do not depend on how the records are divided into batches', async () => {
    const count = fc.record({ name: fc.constantFrom('x', 'y', 'z', 'long name'), clicks: fc.nat(3) });
    const parts = fc.array(fc.array(count, { maxLength: 4 }), { minLength: 1, maxLength: 7 });
    let repeated = 0;
    // Of rows with the same content, any may be the first.
    const more = kind.occurrence === undefined ? ', extract(epoch from _synced_at), _run_id' : ', _run_id';
    await fc.assert(
      fc.asyncProperty(parts, async (some) => {
        const outcomes: unknown[] = [];
        for (const way of ['one batch', 'many'] as const) {
          await lab.rows(`truncate lab.${kind.name}`);
          clock = 0n;
          const { counts, deleted, isHeld } =
            way === 'many' ? await listing(flow, some) : await inOneBatch(flow, some);
          if (counts.received > new Set(some.flat().map(({ name }) => name)).size) repeated += 1;
          outcomes.push({ counts, deleted, isHeld, rows: await stored(flow, more) });
        }
        expect(outcomes[1]).toEqual(outcomes[0]);
      }),
      { numRuns: 30 },
    );
    expect(repeated).toBeGreaterThan(10);
  });

  test('of what was read before a failure, repeated rows are one or are numbered', async () => {
    const rows = [1, 2, 1].map((clicks) => mapped({ name: 'x', clicks }));
    const { counts } = await loadBatch(lab.warehouse, batchOf(flow, rows));
    expect(counts).toMatchObject(kind.occurrence ? { inserted: 3 } : { inserted: 1, deduplicated: 2 });
  });

  test('readers see nothing of it before its end, and all of it then', async () => {
    const some = Array.from({ length: 9 }, (_, i) => ({ name: `n${i}`, clicks: i }));
    const { counts } = await listing(flow, [some.slice(0, 4), some.slice(4, 6), some.slice(6)], {
      ahead: async () => expect(await stored(flow)).toEqual([]),
    });
    expect(counts).toEqual({ ...noCounts, received: 9, inserted: 9 });
    expect(await stored(flow)).toHaveLength(9);
  });

  const parts = [[{ name: 'a', clicks: 1 }], [{ name: 'b', clicks: 2 }]];

  test('what fails at its end, or loses its session, leaves nothing, and gives its connection back', async () => {
    const close = () => Promise.reject(new Error('the receipt is wrong'));
    await expect(listing(flow, parts, { close })).rejects.toThrow('the receipt is wrong');
    const ahead = async () => expect(await cutSession()).toBe(1);
    await expect(listing(flow, parts, { ahead })).rejects.toThrow(Transient);
    expect(await stored(flow)).toEqual([]);
    expect(await cutSession()).toBe(0);
    expect((await listing(flow, parts)).counts.inserted).toBe(2);
  });

  test.each(['staged', 'direct'] as const)(
    'a session that is lost between two batches is a passing fault; what is staged locks no table (%s)',
    async (way) => {
      if (way === 'staged') await listing(flow, [[{ name: 'x', clicks: 1 }]]);
      const before = await stored(flow);
      const taken = await openListing(flow);
      expect(taken.isDirect).toBe(way === 'direct');
      const batch = (name: string): Batch => batchOf(flow, [mapped({ name, clicks: 1 })], [1n]);
      try {
        await taken.add(batch('a'));
        const lock = `begin; lock table lab.${kind.name} in access exclusive mode nowait; rollback`;
        if (way === 'staged') await lab.warehouse.pool.query(lock);
        expect(await cutSession()).toBe(1);
        await expect(taken.add(batch('b'))).rejects.toThrow(Transient);
      } finally {
        await taken.close();
      }
      expect(await stored(flow)).toEqual(before);
    },
  );

  test('when the answer to COMMIT is lost, what was committed counts', async () => {
    let lost = 0;
    const { counts } = await listing(flow, parts, {
      close: async ({ client }) => {
        const real = client.query.bind(client);
        Object.assign(client, {
          query: async (...args: Parameters<typeof real>) => {
            const answer: unknown = await real(...args);
            const [text] = args as readonly unknown[];
            if (!/^commit/i.test(String(typeof text === 'object' ? Reflect.get(text ?? {}, 'text') : text)))
              return answer;
            lost += 1;
            throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
          },
        });
      },
    });
    expect(lost).toBe(1);
    expect(counts.inserted).toBe(2);
    expect(await stored(flow)).toHaveLength(2);
  });
});

test('the deletion guard lets 20 rows go, or 5 % where that is more', () => {
  expect([0, 19, 400, 419, 420, 1_000].map(mostDeletions)).toEqual([20, 20, 20, 20, 21, 50]);
});

test('a row that another scope holds under the same key is updated, as by a merge', async () => {
  const flow = flowOf(single);
  await listing(flow, [[{ name: 'shared', clicks: 1 }], [{ name: 'own', clicks: 1 }]]);
  const theirs = [[{ name: 'shared', clicks: 2 }], [{ name: 'new', clicks: 3 }]];
  const { counts } = await listing(flow, theirs, { owner: 'b' });
  expect(counts).toMatchObject({ received: 2, inserted: 1, updated: 1 });
  expect((await stored(flow)).join(' ')).toBe('a,own,0,1 b,new,0,3 b,shared,0,2');
});
