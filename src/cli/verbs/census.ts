import type { Verb } from '../context.ts';
import { pipelineNamed } from '../pipelines.ts';
import { runAll } from '../running.ts';

/** Complete walk of ids: finds deletions and resurrections. */
export const census: Verb<{ readonly pipeline: string; readonly stream?: readonly string[] | undefined }> = async (
  context,
  { pipeline, stream },
) => {
  const { name } = pipelineNamed(pipeline, await context.parts.config());
  return runAll(context, [name], async (deps) =>
    (await import('../../run/census.ts')).census(deps, stream === undefined ? {} : { streams: stream }),
  );
};
