import type { Verb } from '../context.ts';
import { owning } from '../named-streams.ts';
import { chosen } from '../pipelines.ts';
import { showPlan } from '../plan.ts';
import { runAll } from '../running.ts';

/** Incremental run of the named pipelines, or of every configured one; with named streams, of those that own one of them. */
export const sync: Verb<{
  readonly pipelines: readonly string[];
  readonly stream?: readonly string[] | undefined;
  readonly full?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
}> = async (context, { pipelines, stream, full, dryRun }) => {
  const config = await context.parts.config();
  const asked = await owning(chosen(pipelines, config), stream, config, context.version);
  const options = full === undefined ? {} : { full };
  if (dryRun) return showPlan(context, asked, options);
  return runAll(context, asked, async (deps, streams) =>
    (await import('../../engine/sync.ts')).sync(deps, { ...options, ...streams }),
  );
};
