import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AuthFailed } from '../../src/core/errors.ts';
import { testDatabase } from '../support/postgres.ts';
import { makeFacts, openLab } from './facts.ts';

test('a run that fails ends when all that it reads has ended, the parts of a slice that was cut included', async () => {
  const database = await testDatabase();
  const { warehouse } = database;
  await makeFacts(warehouse);
  const lab = openLab(warehouse, { longest: 400, rows: async ({ window }) => (spanOf(window) > 100 ? 1e6 : 1) });
  lab.owners = [{ id: 'a', status: 'ACTIVE', budget: '10', updatedAt: 1n }];
  lab.facts = [{ owner: 'a', day: '2026-06-20', name: 'ad', spend: '5', clicks: 1 }];
  let refused = 0;
  let late = 0;
  lab.answer = async ({ window }) => {
    if ((window?.from?.getUTCMonth() ?? 0) < 2) {
      refused += 1;
      throw new AuthFailed('the token is not valid any more');
    }
    await sleep(300);
    late += 1;
  };
  await lab.run().catch(() => undefined);
  expect({ refused, late }).toEqual({ refused: 1, late: 1 });
  const { rows } = await warehouse.pool.query(
    `select r.status, r.inserted::int, (select count(*)::int from lab.facts where _run_id = r.run_id) as facts,
       (select count(*)::int from lab.owners where _run_id = r.run_id) as owners from ops.runs r`,
  );
  expect(rows).toEqual([{ status: 'failed', inserted: 2, facts: 1, owners: 1 }]);
  await database.drop();
});

const spanOf = (window: { readonly from?: Date; readonly to?: Date } | undefined): number =>
  ((window?.to?.getTime() ?? 0) - (window?.from?.getTime() ?? 0)) / 86_400_000;
