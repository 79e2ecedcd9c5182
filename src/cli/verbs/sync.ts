import type { Verb } from '../context.ts';
import { chosen } from '../pipelines.ts';
import { showPlan } from '../plan.ts';
import { runAll } from '../running.ts';

/** Incremental run of the named pipelines, or of every configured one. */
export const sync: Verb<{
  readonly pipelines: readonly string[];
  readonly stream?: readonly string[] | undefined;
  readonly full?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
}> = async (context, { pipelines, stream, full, dryRun }) => {
  const names = chosen(pipelines, await context.parts.config());
  const options = { ...(stream === undefined ? {} : { streams: stream }), ...(full === undefined ? {} : { full }) };
  if (dryRun) return showPlan(context, names, options);
  return runAll(context, names, async (deps) => (await import('../../run/sync.ts')).sync(deps, options));
};
