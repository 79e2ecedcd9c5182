import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { stopped } from '../../../src/core/abort.ts';
import { AuthFailed, Transient } from '../../../src/core/errors.ts';
import type { Slice } from '../../../src/core/stream.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { type Lab, makeFacts, openLab } from './facts.ts';

let database: TestDatabase;
let lab: Lab;
beforeEach(async () => {
  database = await testDatabase();
  await makeFacts(database.warehouse);
  // All of history is one slice, too large to be read in one piece.
  lab = openLab(database.warehouse, {
    longest: 400,
    rows: async ({ window }) => (spanOf(window) > 100 ? 1e6 : 1),
  });
  lab.owners = [{ id: 'a', status: 'ACTIVE', budget: '10', updatedAt: 1n }];
  lab.facts = [{ owner: 'a', day: '2026-06-20', name: 'ad', spend: '5', clicks: 1 }];
  return () => database.drop();
});

const spanOf = (window: { readonly from?: Date; readonly to?: Date } | undefined): number =>
  ((window?.to?.getTime() ?? 0) - (window?.from?.getTime() ?? 0)) / 86_400_000;
const isFirstPart = ({ window }: Slice): boolean => (window?.from?.getUTCMonth() ?? 0) < 2;
const refused = (): never => {
  throw new AuthFailed('the token is not valid any more');
};

test('a run that fails ends when all that it reads has ended, the parts of a slice that was cut included', async () => {
  let late = 0;
  lab.answer = async (slice) => {
    if (isFirstPart(slice)) refused();
    await sleep(300);
    late += 1;
  };
  await lab.run().catch(() => undefined);
  expect(late).toBe(1);
  const { rows } = await database.warehouse.pool.query(
    `select r.status, r.inserted::int, (select count(*)::int from lab.facts where _run_id = r.run_id) as facts,
       (select count(*)::int from lab.owners where _run_id = r.run_id) as owners from ops.runs r`,
  );
  expect(rows).toEqual([{ status: 'failed', inserted: 2, facts: 1, owners: 1 }]);
});

test('an error that ends the run stops the other slices, and is the one reported', async () => {
  let reason: unknown;
  lab.answer = async (slice, signal) => {
    if (isFirstPart(slice)) refused();
    await sleep(60_000, undefined, { signal }).catch(() => {
      reason = signal.reason;
      throw signal.reason;
    });
  };
  const run = lab.run();
  await expect(run).rejects.toBeInstanceOf(AuthFailed);
  expect(reason).toBeInstanceOf(AuthFailed);
});

test('a defect in a later slice is reported, not that it stopped the slice before it', async () => {
  lab.answer = async (slice, signal) => {
    if (!isFirstPart(slice)) throw new RangeError('a defect');
    await sleep(60_000, undefined, { signal }).catch(() => {
      throw stopped(signal);
    });
  };
  await expect(lab.run()).rejects.toThrow('a defect');
  const { rows } = await database.warehouse.pool.query(
    'select status, error_code, error_message from ops.runs',
  );
  expect(rows).toEqual([{ status: 'failed', error_code: 'defect', error_message: 'a defect' }]);
});

test('a part that fails lets those beside it come to their end', async () => {
  lab.answer = async (slice) => {
    if (isFirstPart(slice)) throw new Transient('not now');
    await sleep(50);
  };
  expect(await lab.run()).toMatchObject({ status: 'partly_failed' });
  expect((await database.warehouse.pool.query('select from lab.facts')).rowCount).toBe(1);
});
