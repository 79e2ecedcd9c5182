/** A warehouse with the schema of this version and no rows, for as long as something is read from it. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Pool } from 'pg';
import { shippedTables } from '../../src/connectors/index.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { migrate } from '../../src/warehouse/migrate.ts';

export async function temporaryWarehouse<T>(read: (pool: Pool) => Promise<T>): Promise<T> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-docs-'));
  // As root the server runs as another user, which must be able to pass through.
  fs.chmodSync(home, 0o711);
  try {
    const embedded = await openEmbedded(home, { notice: () => undefined });
    try {
      const warehouse = await connect(embedded.own, { max: 1 });
      try {
        await migrate(warehouse, shippedTables);
        return await read(warehouse.pool);
      } finally {
        await warehouse.close();
      }
    } finally {
      await embedded.release();
    }
  } finally {
    fs.rmSync(home, { recursive: true, force: true });
  }
}
