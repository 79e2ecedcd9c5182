import { Misconfigured } from '../../core/errors.ts';
import type { Verb } from '../context.ts';
import { between } from '../dates.ts';
import { owning } from '../named-streams.ts';
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
  const config = await context.parts.config();
  const asked = await owning([pipelineNamed(pipeline, config).name], stream, config, context.version);
  if (dryRun) return showPlan(context, asked, { window });
  return runAll(context, asked, async (deps, streams) =>
    (await import('../../engine/backfill.ts')).backfill(deps, { ...window, ...streams }),
  );
};
