/** `plan`: what runs tonight, how long it takes, what limits it, and whether it fits into the night. */
import { nightlyName } from '../config/configured.ts';
import { minute } from '../core/format.ts';
import { pastRunsOf } from '../planner/history.ts';
import { type NightPlan, planNight, type Tonight } from '../planner/night.ts';
import * as lookup from '../runs/pipelines.ts';
import { planOf } from '../runs/run.ts';
import { due } from '../runs/schedule.ts';
import type { Context, Verb } from './context.ts';
import { combined, exit, report } from './exit.ts';
import { type OutputBlock, print } from './output.ts';
import { following } from './run.ts';

/** Exit code 3 where the night is too short; a pipeline that cannot be planned does not keep the others from it. */
export const plan: Verb<{ pipeline: readonly string[]; hours: number }> = async (context, options) => {
  const chosen = await lookup.choose(context, options.pipeline);
  const talking = { ...context, quiet: context.quiet || context.json, json: false };
  const tonight: Tonight[] = [];
  const codes: number[] = [];
  const failed: string[] = [];
  for (const { pipeline } of chosen)
    try {
      tonight.push(await tonightOf(context, pipeline));
    } catch (error) {
      context.signal.throwIfAborted();
      codes.push(report(error, talking, context.received(), pipeline));
      failed.push(pipeline);
    }
  const night = planNight(tonight, options.hours, (await context.parts.config()).server.jobs);
  if (tonight.length > 0) codes.push(night.fits ? exit.ok : exit.partly);
  return print(context, { ...night, failed }, tonight.length > 0 ? blocksOf(night) : [], combined(codes));
};

async function tonightOf(context: Context, pipeline: string): Promise<Tonight> {
  const { jobs, values, nameOf } = lookup.pipelineOf(await context.parts.config(), pipeline);
  const job = jobs.find(({ does }) => does === 'sync');
  const next = job && due(job.on)(new Date()).next().value;
  return following(context, pipeline, async (deps) => ({
    pipeline,
    due: next,
    isPart: job?.within === nightlyName,
    perSecond: Number(values?.requestsPerSecond ?? 0),
    rotatedBy: nameOf('rotate'),
    streams: await planOf({ pipeline, does: 'sync' }, deps),
    past: await pastRunsOf(deps.warehouse.db, pipeline),
  }));
}

function blocksOf({ pipelines, findings, fits, nightHours }: NightPlan): readonly OutputBlock[] {
  const rows = pipelines.map((plan) => ({
    ...plan,
    starts: plan.at === null ? 'by hand only' : `${minute(plan.at)} UTC`,
    lastEstimate: plan.lastErrorRatio === null ? null : `${Math.round(plan.lastErrorRatio * 100)} % off`,
  }));
  const streams = pipelines.flatMap(({ pipeline, streams }) =>
    streams.map((each) => ({ ...each, pipeline })),
  );
  const partly = pipelines.filter((plan) => plan.unknown.length > 0);
  const lacks = partly.map(
    ({ pipeline, unknown }) => `${pipeline}: not counted, never read like this: ${unknown.join(', ')}.`,
  );
  return [
    { rows, keys: 'pipeline starts requests seconds limit lastEstimate' },
    { title: 'Streams', rows: streams, keys: 'pipeline.stream mode slices requests seconds nights basis' },
    ...(lacks.length > 0 ? ['', ...lacks] : []),
    '',
    ...(fits ? [`It fits into the night of ${nightHours} h, as far as it is known.`] : findings),
  ];
}
