/** Four processes of `serve` on one warehouse, with a pipeline for each source of the company. */

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { privateCluster } from '../fault/private-cluster.ts';
import { until } from '../support/processes.ts';
import { operate } from '../unit/server/api/api.ts';
import { noteStates } from './books.ts';
import { companyOf } from './company.ts';
import { type Member, memberOf } from './fleet.ts';
import { openPace } from './pace.ts';
import type { Asked } from './requests.ts';
import type { Size } from './schedule.ts';
import type { Site } from './site.ts';

export type Stage = Awaited<ReturnType<typeof openStage>>;

export async function openStage(seed: number, size: Size) {
  const cluster = await privateCluster({ max_connections: '300', shared_buffers: '128MB' });
  const url = new URL(await cluster.database('chaos'));
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-chaos-'));
  const company = await companyOf(seed, size.sources);
  writePipelines(directory, company.sites, true);
  const warehouse = await cluster.connect('chaos', { max: 2 });
  await warehouse.pool.query(noteStates);
  const env = (databaseUrl: string): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    HOME: directory,
    DATABASE_URL: databaseUrl,
    TIDEMARK_PIPELINES: path.join(directory, 'pipelines'),
    TIDEMARK_API_TOKEN: operate,
    ...company.env(),
  });
  const pace = openPace();
  const asked: Asked = { accepted: new Set(), answers: new Map() };
  const members: Member[] = [];
  const began = performance.now();
  for (let n = 0; n < size.processes; n += 1)
    members.push(await memberOf(`process ${n + 1}`, { directory, warehouse: url, pace, env }));
  const serve = (withinMs: number): Promise<void> =>
    until('every process serves', () => members.every(({ base }) => base !== undefined), withinMs);
  // How long this takes shows how fast the machine is.
  await serve(1_800_000);
  pace.took(performance.now() - began);
  return {
    cluster,
    company,
    members,
    pace,
    asked,
    /** Names of the pipelines that have a schedule of their own until `unschedule`. */
    scheduled: company.sites.filter((site) => !isOfNight(site, company.sites)).map(({ name }) => name),
    rows: async <R extends object>(query: string, values: readonly unknown[] = []): Promise<readonly R[]> =>
      (await warehouse.pool.query<R>(query, [...values])).rows,
    serve: () => serve(pace.patienceMs),
    /** The processes end in good order, and begin again without schedules. */
    async unschedule(): Promise<void> {
      writePipelines(directory, company.sites, false);
      await Promise.all(members.map((member) => member.end(0)));
      await serve(pace.patienceMs);
    },
    async close(): Promise<void> {
      await Promise.all(members.map((member) => member.close()));
      await warehouse.close();
      await company.close();
      await cluster.remove();
      fs.rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The last one has no schedule: nights read it, and reconcile it where that is due. */
const isOfNight = (site: Site, sites: readonly Site[]): boolean => site === sites.at(-1);

/** A pipeline for each site, and a night over all of them. */
function writePipelines(directory: string, sites: readonly Site[], areScheduled: boolean): void {
  const folder = path.join(directory, 'pipelines');
  fs.mkdirSync(folder, { recursive: true });
  const head = `import { dagu, jira, nightly, pipeline, spotifyAds } from 'tidemark';\nexport default `;
  for (const site of sites) {
    const { name, connector, exclude } = site;
    const source = `source: ${connector}.fromEnv('${name.toUpperCase()}')`;
    const own = areScheduled ? `sync: '* * * * *', reconcile: false` : 'reconcile: false';
    const schedule = isOfNight(site, sites) ? `reconcile: '* * * * *'` : own;
    fs.writeFileSync(
      path.join(folder, `${name}.ts`),
      `${head}pipeline({ name: '${name}', ${source}, schedule: { ${schedule} }, exclude: ${JSON.stringify(exclude)} });`,
    );
  }
  const names = JSON.stringify(sites.map(({ name }) => name));
  fs.writeFileSync(path.join(folder, 'nightly.ts'), `${head}nightly({ pipelines: ${names} });`);
}
