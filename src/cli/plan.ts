/** `plan`: what runs tonight, how long it takes, what limits it, and whether it fits into the night. */
import { minute } from '../core/format.ts';
import { fitText, type NightPlan, planNight } from '../planner/night.ts';
import * as lookup from '../runs/pipelines.ts';
import { withDeps } from '../runs/run.ts';
import { type PlanDuring, tonightOf } from '../runs/tonight.ts';
import type { Verb } from './context.ts';
import { combined, exit, report } from './exit.ts';
import { type OutputBlock, print } from './output.ts';
import { openTalk } from './progress.ts';

/** Exit code 3 where the night is too short; a pipeline that cannot be planned does not keep the others from it. */
export const plan: Verb<{ pipeline: readonly string[]; hours: number }> = async (context, options) => {
  const chosen = await lookup.choose(context, options.pipeline);
  const config = await context.parts.config();
  const pipelines = chosen.map(({ pipeline }) => lookup.pipelineOf(config, pipeline));
  const progress = await openTalk(context);
  const during: PlanDuring = (name, work) => withDeps(context, name, progress, work);
  const { tonight, failed, atOnce } = await tonightOf(pipelines, during, config.server.jobs);
  progress.end();
  context.signal.throwIfAborted();
  const asText = { ...context, json: false };
  const codes = failed.map(({ pipeline, error }) => report(error, asText, context.received(), pipeline));
  const night = planNight(tonight, options.hours, atOnce);
  if (tonight.length > 0) codes.push(night.fits ? exit.ok : exit.partly);
  const data = { ...night, failed: failed.map(({ pipeline }) => pipeline) };
  return print(context, data, tonight.length > 0 ? blocksOf(night) : [], combined(codes));
};

function blocksOf(night: NightPlan): readonly OutputBlock[] {
  const { pipelines, uncounted, findings } = night;
  const rows = pipelines.map((plan) => ({
    ...plan,
    starts: plan.at === null ? 'by hand only' : `${minute(plan.at)} UTC`,
    lastEstimate: plan.lastErrorRatio === null ? null : `${Math.round(plan.lastErrorRatio * 100)} % off`,
  }));
  const streams = pipelines.flatMap(({ pipeline, streams }) =>
    streams.map((each) => ({ ...each, pipeline })),
  );
  return [
    { rows, keys: 'pipeline starts requests seconds limit lastEstimate' },
    { title: 'Streams', rows: streams, keys: 'pipeline.stream mode slices requests seconds nights basis' },
    ...(uncounted.length > 0 ? ['', ...uncounted] : []),
    '',
    ...(night.fits ? [fitText(night)] : findings),
  ];
}
