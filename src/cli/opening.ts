/** Opens the source of a pipeline from the configuration. */
import type { Source } from '../core/stream.ts';
import type { Settings } from './context.ts';
import { checkExcluded } from './excluded.ts';
import { settingsOf } from './settings.ts';
import type { Told } from './waiting.ts';

/** How long a process waits for another one that renews the same token. */
const tokenPatience = 60_000;

/**
 * Throws Misconfigured where the pipeline's source is not configured, or leaves out what it does not have. `told` hears what the source finds out.
 */
export async function openSource(
  pipeline: string,
  config: Settings,
  version: string,
  told: Told | undefined,
): Promise<Source> {
  const source = await settingsOf(config, pipeline).open({
    version,
    proxies: config.proxies,
    home: config.home,
    lock: async (file, signal) =>
      (await import('../embedded/locks.ts')).exclusive(file, tokenPatience, signal),
    observe: told?.observe,
    onHttp: told?.http,
  });
  try {
    checkExcluded(source, settingsOf(config, pipeline).exclude ?? []);
    return source;
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** A stream of a pipeline, and the children that come with it, by their names. */
export interface ListedStream {
  readonly stream: string;
  readonly children: readonly string[];
}

/** Opens the source of a configured pipeline to see its streams; asks nothing of it. */
export async function streamsOf(
  pipeline: string,
  config: Settings,
  version: string,
): Promise<readonly ListedStream[]> {
  const source = await openSource(pipeline, config, version, undefined);
  try {
    return source.streams.map(({ name, children = {} }) => ({
      stream: name,
      children: Object.keys(children),
    }));
  } finally {
    await source.close();
  }
}
