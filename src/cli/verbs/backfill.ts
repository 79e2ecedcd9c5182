import { Misconfigured } from '../../core/errors.ts';
import type { Verb } from '../context.ts';
import { between } from '../dates.ts';
import { pipelineNamed } from '../pipelines.ts';
import { showPlan } from '../plan.ts';
import { runAll } from '../running.ts';

/** Bounded run over `[from, to)`; never moves a watermark. */
export const backfill: Verb<{
  readonly pipeline: string;
  readonly from: string;
  readonly to: string;
  readonly stream?: readonly string[] | undefined;
  readonly dryRun?: boolean | undefined;
}> = async (context, { pipeline, from, to, stream, dryRun }) => {
  const window = between(from, to);
  if (window.from > new Date())
    throw new Misconfigured(`--from ${from} lies in the future: there is nothing to read yet`);
  const { name } = pipelineNamed(pipeline, await context.parts.config());
  const streams = stream === undefined ? {} : { streams: stream };
  if (dryRun) return showPlan(context, [name], { ...streams, window });
  return runAll(context, [name], async (deps) =>
    (await import('../../run/backfill.ts')).backfill(deps, { ...window, ...streams }),
  );
};
