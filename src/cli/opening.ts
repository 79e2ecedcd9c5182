/** Opens the source of a pipeline from the configuration. */
import type { AdsConfig, Config } from '../config/config.ts';
import { Misconfigured } from '../core/errors.ts';
import type { Source } from '../core/stream.ts';
import type { TokenStore } from '../core/token-store.ts';
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
  config: Config,
  version: string,
  told: Told | undefined,
): Promise<Source> {
  const source = await open(pipeline, config, version, told);
  try {
    checkExcluded(source, settingsOf(config, pipeline).exclude ?? []);
    return source;
  } catch (error) {
    await source.close();
    throw error;
  }
}

async function open(
  pipeline: string,
  config: Config,
  version: string,
  told: Told | undefined,
): Promise<Source> {
  const deps = {
    http: { version, proxies: config.proxies, ...(told === undefined ? {} : { observe: told.http }) },
    ...(told === undefined ? {} : { observe: told.observe }),
  };
  if (pipeline === 'tracker' && config.tracker !== undefined) {
    const { openTracker } = await import('../connectors/jira/source.ts');
    return openTracker(config.tracker, deps);
  }
  if (pipeline === 'ads' && config.ads !== undefined) {
    const { openAds } = await import('../connectors/spotify-ads/source.ts');
    const tokens = await tokenStore(config.home, config.ads);
    return openAds(config.ads, tokens === undefined ? deps : { ...deps, tokens });
  }
  if (pipeline === 'workflow' && config.workflow !== undefined) {
    const { openWorkflow } = await import('../connectors/dagu/source.ts');
    return openWorkflow(config.workflow, deps);
  }
  throw new Misconfigured(`pipeline ${pipeline} is not configured`);
}

/** A stream of a pipeline, and the children that come with it, by their names. */
export interface ListedStream {
  readonly stream: string;
  readonly children: readonly string[];
}

/** Opens the source of a configured pipeline to see its streams; asks nothing of it. */
export async function streamsOf(
  pipeline: string,
  config: Config,
  version: string,
): Promise<readonly ListedStream[]> {
  const source = await openSource(pipeline, config, version, undefined);
  try {
    return source.flows.map(({ stream, children }) => ({
      stream: stream.name,
      children: Object.keys(children),
    }));
  } finally {
    await source.close();
  }
}

/** Where a refresh token that the platform renews is kept; a given access token needs no such place. */
async function tokenStore(home: string, { credentials }: AdsConfig): Promise<TokenStore | undefined> {
  if (credentials.kind !== 'refresh') return undefined;
  const [{ tokenFile }, { exclusive }] = await Promise.all([
    import('../connectors/spotify-ads/token-store.ts'),
    import('../embedded/locks.ts'),
  ]);
  return tokenFile({
    directory: home,
    name: 'ads-token',
    configured: credentials.refreshToken,
    lock: (file, signal) => exclusive(file, tokenPatience, signal),
  });
}
