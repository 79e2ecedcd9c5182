/** Which pipelines exist and which are configured. */

import { ads } from '../../pipelines/ads.ts';
import type { Job, Pipeline } from '../../pipelines/pipeline.ts';
import { tracker } from '../../pipelines/tracker.ts';
import { workflow } from '../../pipelines/workflow.ts';
import { Misconfigured } from '../core/errors.ts';
import type { Settings } from './context.ts';
import { nearest } from './nearest.ts';

/** In the order in which they run. */
export const pipelines: readonly Pipeline[] = [tracker, ads, workflow];

/** Those that are configured. */
export const configured = (config: Settings): readonly Pipeline[] =>
  pipelines.filter((each) => config.sources[each.source] !== undefined);

/** What the pipeline of that name does when; nothing if there is none. */
export const jobsOf = (name: string): readonly Job[] =>
  pipelines.find((each) => each.name === name)?.jobs ?? [];

/** Not every source has a reconciliation. */
export const hasReconcile = (name: string): boolean => jobsOf(name).some(({ does }) => does === 'reconcile');

/** Throws Misconfigured where the pipeline has no reconciliation. */
export function checkReconcile(name: string): void {
  if (hasReconcile(name)) return;
  const others = pipelines.map((each) => each.name).filter(hasReconcile);
  throw new Misconfigured(`there is no reconciliation of ${name}, only of ${others.join(', ')}`);
}

/** The pipeline of that name, configured or not. Throws Misconfigured, with the nearest one, if there is none. */
export function knownPipeline(name: string): Pipeline {
  const found = pipelines.find((each) => each.name === name);
  if (found === undefined) {
    const near = nearest(
      name,
      pipelines.map((each) => each.name),
    );
    throw new Misconfigured(
      `there is no pipeline “${name}”${near === undefined ? '' : ` (did you mean ${near}?)`}; there are ${pipelines.map((each) => each.name).join(', ')}`,
    );
  }
  return found;
}

/** As `knownPipeline`; throws Misconfigured, with what it needs, if it is not configured. */
export function pipelineNamed(name: string, config: Settings): Pipeline {
  const found = knownPipeline(name);
  if (config.sources[found.source] === undefined)
    throw new Misconfigured(
      `pipeline ${name} is not configured: set ${found.needs} and its credentials in the environment or in .env (see .env.example)`,
    );
  return found;
}

/** The pipelines of these names, or all configured ones if none is named. Throws Misconfigured if that leaves nothing. */
export function chosen(names: readonly string[], config: Settings): readonly string[] {
  if (names.length > 0) return [...new Set(names)].map((name) => pipelineNamed(name, config).name);
  const all = configured(config).map((each) => each.name);
  if (all.length === 0)
    throw new Misconfigured(
      'nothing is configured: set TRACKER_BASE_URL, TRACKER_EMAIL and TRACKER_API_TOKEN in the environment or in .env (see .env.example), or try `tidemark demo`',
    );
  return all;
}
