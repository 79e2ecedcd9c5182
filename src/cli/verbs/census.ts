import type { Verb } from '../context.ts';
import { owning } from '../named-streams.ts';
import { checkCensus, pipelineNamed } from '../pipelines.ts';
import { runAll } from '../running.ts';

/** Complete walk of ids: finds deletions and resurrections. */
export const census: Verb<{ readonly pipeline: string; readonly stream?: readonly string[] | undefined }> = async (
  context,
  { pipeline, stream },
) => {
  const config = await context.parts.config();
  const { name } = pipelineNamed(pipeline, config);
  checkCensus(name);
  const asked = await owning([name], stream, config, context.version);
  return runAll(context, asked, async (deps, streams) =>
    (await import('../../run/census/census.ts')).census(deps, streams),
  );
};
