/** How a pipeline's source is read. */
import type { SourceSettings } from '../connectors/index.ts';
import { Misconfigured } from '../core/errors.ts';
import type { Settings } from './context.ts';
import { pipelines } from './pipelines.ts';

/** Throws Misconfigured where the pipeline's source is not configured. */
export function settingsOf(config: Settings, pipeline: string): SourceSettings {
  const found = pipelines.find(({ name }) => name === pipeline);
  const settings = found && config.sources[found.source];
  if (settings === undefined) throw new Misconfigured(`pipeline ${pipeline} is not configured`);
  return settings;
}
