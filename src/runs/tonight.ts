/** What the pipelines need tonight, for the command line and the dashboard. */
import pLimit from 'p-limit';
import { nightlyName } from '../config/configured.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import { pastRunsOf } from '../planner/history.ts';
import type { Tonight } from '../planner/night.ts';
import type { NightNeeds } from './ask.ts';
import type { Pipeline } from './pipelines.ts';
import { planOf } from './run.ts';
import { due } from './schedule.ts';

/** Opens what a run of the pipeline needs while `work` takes. */
export type PlanDuring = (pipeline: string, work: (deps: RunDeps) => Promise<Tonight>) => Promise<Tonight>;

/**
 * Asks the sources for their clocks and counts, `atOnce` of them at a time. A pipeline that cannot be planned does not
 * keep the others from it.
 */
export async function tonightOf(
  pipelines: readonly Pipeline[],
  during: PlanDuring,
  atOnce: number,
): Promise<NightNeeds> {
  const failed: NightNeeds['failed'][number][] = [];
  const limit = pLimit(atOnce);
  const planned = pipelines.map((each) => {
    const plan = () => during(each.name, (deps) => needsOf(each, deps));
    return limit(plan).catch((error: unknown) => void failed.push({ pipeline: each.name, error }));
  });
  const tonight = (await Promise.all(planned)).filter((each) => each !== undefined);
  return { at: new Date(), tonight, failed, atOnce };
}

async function needsOf({ name, jobs, values, nameOf }: Pipeline, deps: RunDeps): Promise<Tonight> {
  const job = jobs.find(({ does }) => does === 'sync');
  return {
    pipeline: name,
    due: job && due(job.on)(new Date()).next().value,
    isPart: job?.within === nightlyName,
    perSecond: Number(values?.requestsPerSecond ?? 0),
    rotatedBy: nameOf('rotate'),
    streams: await planOf({ pipeline: name, does: 'sync' }, deps),
    past: await pastRunsOf(deps.warehouse.db, name),
  };
}
