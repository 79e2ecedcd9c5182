import { expect, test } from 'vitest';
import { Secret } from '../../../src/core/secret.ts';
import { lender, type Parts } from '../../../src/runs/assemble.ts';
import type { Warehouse } from '../../../src/warehouse/connect.ts';
import { configOf } from '../../support/config.ts';

test('runs after each other use the same connections, runs at once use none of each other, also after one that fails', async () => {
  const opened: Warehouse[] = [];
  const connected: Parts['connected'] = async () => {
    const made = { address: String(opened.length) } as Warehouse;
    opened.push(made);
    return made;
  };
  const url = { url: new Secret('postgres://localhost/none') } as Warehouse;
  const lend = lender({ connected }, configOf({}, import.meta.dirname), url);
  const used = (after: Promise<unknown>) =>
    lend(async ({ address }) => {
      await after;
      return address;
    });

  const going = Promise.withResolvers<void>();
  const both = Promise.all([used(going.promise), used(going.promise)]);
  going.resolve();
  expect(new Set(await both).size).toBe(2);
  await expect(lend(() => Promise.reject(new Error('it failed')))).rejects.toThrow('it failed');
  for (let run = 0; run < 20; run += 1) await used(Promise.resolve());
  expect(opened).toHaveLength(2);
});
