/** A warehouse that restarts costs a run time, and nothing else. */

import type pg from 'pg';
import { expect, test } from 'vitest';
import { connect } from '../../../src/warehouse/connect.ts';
import { openRig } from '../../support/rig.ts';

test('a sync goes on where the connection breaks under whatever it says first outside a transaction', async () => {
  const rig = await openRig({ issues: 20, projects: 2, users: 5 });
  const warehouse = await connect(rig.database.url);
  const { cut } = breaking(warehouse.pool);
  try {
    // Everything, and then what has changed: each asks what the other does not.
    expect(await rig.sync({}, { deps: { warehouse } })).toMatchObject({ status: 'succeeded' });
    expect(await rig.sync({}, { deps: { warehouse } })).toMatchObject({ status: 'succeeded' });
    expect(cut.length).toBeGreaterThan(30);
    expect(await rig.rows(`select count(*)::int as n from tracker.issues`)).toEqual([{ n: 20 }]);
    expect(await rig.rows(`select stream from ops.walks where status = 'open'`)).toEqual([]);
  } finally {
    await warehouse.close();
    await rig.close();
  }
});

/** Breaks the connection under each statement outside a transaction, when it is said for the first time. */
function breaking(pool: pg.Pool): { readonly cut: readonly string[] } {
  const cut: string[] = [];
  const seen = new WeakSet<object>();
  pool.on('acquire', (client) => {
    if (seen.has(client)) return;
    seen.add(client);
    const query = client.query.bind(client);
    let within = false;
    const said = (...args: unknown[]): unknown => {
      const text = typeof args[0] === 'string' ? args[0] : '';
      if (/^(begin|start)/.test(text)) within = true;
      else if (/^(commit|rollback)$/.test(text)) within = false;
      else if (!within && text !== '' && !cut.includes(text)) {
        cut.push(text);
        Reflect.get(client, 'connection').stream.destroy();
      }
      return Reflect.apply(query, client, args);
    };
    Reflect.set(client, 'query', said);
  });
  return { cut };
}
