/** A warehouse for tests, and runs of a connector into it. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Connector, openSource, readingOf } from '../../src/connectors/connector.ts';
import type { RunReport } from '../../src/core/run.ts';
import type { RunDeps } from '../../src/engine/context/deps.ts';
import { applySteps } from '../../src/runs/pipelines.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';

/** A database with the schema of the connectors and no rows. */
export interface TemporaryWarehouse {
  readonly url: string;
  /** Rows of a query. */
  rows<R = Record<string, unknown>>(query: string, parameters?: readonly unknown[]): Promise<readonly R[]>;
  readonly warehouse: Warehouse;
  close(): Promise<void>;
}

/** An embedded Postgres in a temporary folder; with `url` an empty database of yours, which stays. */
export async function temporaryWarehouse(
  connectors: readonly { readonly connector: Connector }[],
  url?: string,
): Promise<TemporaryWarehouse> {
  const { signal } = new AbortController();
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-test-'));
  // Run by root, Postgres is another user, who must be able to enter: else its data would lie elsewhere, and stay.
  fs.chmodSync(home, 0o711);
  const open = async () =>
    (await import('../../src/embedded/embedded.ts')).openEmbedded(home, { notice: () => undefined, signal });
  const embedded = url === undefined ? await open() : undefined;
  const warehouse = await connect(url ?? embedded?.own ?? '', { max: 12 });
  await applySteps(warehouse, { pipelines: connectors }, { signal });
  return {
    url: url ?? embedded?.url ?? '',
    warehouse,
    rows: async <R>(query: string, parameters: readonly unknown[] = []) =>
      (await warehouse.pool.query(query, [...parameters])).rows as R[],
    async close() {
      await warehouse.close();
      await embedded?.release();
      fs.rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Does `work` with a source that is opened for it; retries are quick. `values`: as the connector's settings give them. */
export async function withSource(
  connector: Connector,
  values: Readonly<Record<string, unknown>>,
  { warehouse }: TemporaryWarehouse,
  signal: AbortSignal,
  work: (deps: RunDeps) => Promise<RunReport>,
): Promise<RunReport> {
  const source = await openSource(connector, values, {
    pipeline: connector.name.toLowerCase(),
    version: 'test',
    proxies: { except: [] },
    retry: { baseMs: 5, capMs: 50 },
    home: os.tmpdir(),
    lock: async () => ({ release: () => undefined }),
  });
  const options = { observe: () => undefined, signal, version: 'test', trigger: 'manual' } as const;
  try {
    return await work({ source, warehouse, ...options, ...readingOf(connector, values) });
  } finally {
    await source.close();
  }
}
