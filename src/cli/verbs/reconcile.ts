import type { Verb } from '../context.ts';
import { owning } from '../named-streams.ts';
import { checkReconcile, pipelineNamed } from '../pipelines.ts';
import { runAll } from '../running.ts';

/** Complete walk of ids: finds deletions and resurrections. */
export const reconcile: Verb<{
  readonly pipeline: string;
  readonly stream?: readonly string[] | undefined;
}> = async (context, { pipeline, stream }) => {
  const config = await context.parts.config();
  const { name } = pipelineNamed(pipeline, config);
  checkReconcile(name);
  const asked = await owning([name], stream, config, context.version);
  return runAll(context, asked, async (deps, streams) =>
    (await import('../../engine/reconcile/reconcile.ts')).reconcile(deps, streams),
  );
};
