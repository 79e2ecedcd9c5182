/** All three simulated sources on local ports, as `tidemark simulate` starts them. */
import { inhabit } from './dagu/company.ts';
import { startWorkflow } from './dagu/server.ts';
import { startTracker } from './jira/server.ts';
import { startAds } from './spotify-ads/server.ts';

export interface SimulatorOptions {
  readonly seed: number;
  readonly issues: number;
  /** Port of the tracker; 0 takes a free one. */
  readonly port: number;
  readonly dialect: 'contract' | 'vendor';
  /** Delay of each answer, ms. */
  readonly latencyMs: number;
}

const token = 'simulated-engine-token';

/** Gives the environment variables that configure the sources. Throws what kept the tracker from listening on its port. */
export async function startSources({ seed, issues, port, dialect, latencyMs }: SimulatorOptions) {
  const tracker = await startTracker({ seed, issues, port, dialect, latencyMs });
  const ads = await startAds({ seed, dialect, latencyMs, days: 90 });
  const engineDialect = dialect === 'vendor' ? 'dagu-v2' : dialect;
  const engine = await startWorkflow({ dialect: engineDialect, token, latencyMs });
  inhabit(engine, { seed });
  return {
    environment: {
      // Its own warehouse, because rows of a real source must not lie in the same tables.
      TIDEMARK_HOME: '.tidemark/simulated',
      TRACKER_BASE_URL: tracker.url,
      TRACKER_EMAIL: tracker.email,
      TRACKER_API_TOKEN: tracker.token,
      ADS_BASE_URL: ads.url,
      ADS_ACCESS_TOKEN: ads.tokens.token,
      ADS_SDK_HEADER: ads.sdkHeader,
      ADS_ACCOUNT_IDS: [...ads.state.accounts.keys()].join(','),
      ADS_REPORT_HOSTS: new URL(ads.storage.origin).host,
      // The platform has no other users, so the rate needs no limit.
      ADS_REQUESTS_PER_SECOND: '0',
      ADS_REPORT_REQUESTS_PER_SECOND: '0',
      WORKFLOW_BASE_URL: engine.url,
      WORKFLOW_TOKEN: token,
      WORKFLOW_DAGS: [...engine.state.dags.keys()].join(','),
    },
    close: () => Promise.all([engine.close(), ads.close(), tracker.close()]),
  };
}
