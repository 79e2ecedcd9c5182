/** The files that are written from the contract of `bi`. */
import type { Pool } from 'pg';
import { readContract } from './contract.ts';
import { cubeFile } from './cube.ts';
import { exposuresFile, sourcesFile } from './dbt.ts';
import { dashboardFile, dashboards } from './grafana.ts';
import { metricsFile, metricsPage } from './metrics.ts';
import { databaseFile } from './row-types.ts';
import { schemaFile } from './schema.ts';

/** Text by path, from the root of the project. */
export async function contractFiles(pool: Pick<Pool, 'query'>): Promise<ReadonlyMap<string, string>> {
  const contract = await readContract(pool);
  // Tools are given what every reader may see.
  const shown = { ...contract, views: contract.views.filter(({ name }) => !name.startsWith('bi_pii.')) };
  return new Map([
    ['docs/bi/bi.schema.json', schemaFile(contract)],
    ['docs/bi/database.d.ts', await databaseFile(pool)],
    ['docs/bi/metrics.md', metricsPage()],
    ['docs/bi/metrics.yml', metricsFile()],
    ['docs/bi/cube.yml', cubeFile(shown)],
    ['dbt/models/sources.yml', sourcesFile(shown)],
    ['dbt/models/exposures.yml', exposuresFile()],
    ...dashboards.map(
      (dashboard) => [`docs/bi/grafana/${dashboard.file}.json`, dashboardFile(dashboard)] as const,
    ),
  ]);
}
