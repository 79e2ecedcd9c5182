import path from 'node:path';
import { pipelines, startCompany } from '../../simulators/demo/company.ts';
import { readConfig } from '../../src/config/config.ts';
import { shippedPipelines } from '../../src/config/pipeline-files.ts';
import type { Connector } from '../../src/connectors/connector.ts';
import { execute, withDeps } from '../../src/runs/run.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';

/** Fills a migrated warehouse with what the demo does: two syncs of its company with changes between them, and a reconcile. */
export async function fillDemoWarehouse(warehouse: Warehouse, issues: number): Promise<void> {
  const company = await startCompany(7, issues);
  const nowhere = path.join(import.meta.dirname, 'none');
  const config = readConfig(company.environment, nowhere, await shippedPipelines<Connector>());
  const parts = { config: async () => config, warehouse: async () => warehouse };
  const signal = new AbortController().signal;
  const silent = { observe: () => undefined, say: () => undefined };
  const run = async (pipeline: string, does: 'sync' | 'reconcile'): Promise<void> => {
    const context = { parts, signal, version: 'test' };
    const { report, failure } = await withDeps(context, pipeline, silent, (deps) =>
      execute({ pipeline, does }, deps),
    );
    if (report.status !== 'succeeded') throw new Error(`${pipeline}: ${report.status}`, { cause: failure });
  };
  try {
    for (const pipeline of pipelines) await run(pipeline, 'sync');
    company.change();
    for (const pipeline of pipelines) await run(pipeline, 'sync');
    await run('tracker', 'reconcile');
  } finally {
    await company.close();
  }
}
