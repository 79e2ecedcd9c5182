import type { Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { notListening } from '../listening.ts';
import { toJson } from '../progress/json.ts';
import { plural } from '../text.ts';
import { untilStopped } from '../until.ts';

/** Starts the simulated sources and keeps them up until asked to stop. Prints the lines that belong into `.env`. */
export const simulate: Verb<{
  readonly seed: number;
  readonly issues: number;
  readonly port: number;
  readonly dialect: 'contract' | 'vendor';
  readonly latency: number;
}> = async (context, { seed, issues, port, dialect, latency }) => {
  const { out, err, json, quiet, parts, signal } = context;
  if (!quiet && !json) err.line(`making a company with ${plural(issues, 'issue')} (seed ${seed})`);
  const { startTracker } = await import('../../../simulators/jira/server.ts');
  const listened = startTracker({ seed, issues, port, dialect, latencyMs: latency }).catch(
    (error: unknown) => {
      throw notListening(error, '--port (0 takes a free one)');
    },
  );
  const tracker = parts.keep(await listened, (part) => part.close());
  const { startAds } = await import('../../../simulators/spotify-ads/server.ts');
  const ads = parts.keep(await startAds({ seed, dialect, latencyMs: latency, days: 90 }), (part) =>
    part.close(),
  );
  const { startWorkflow } = await import('../../../simulators/dagu/server.ts');
  const { inhabit } = await import('../../../simulators/dagu/company.ts');
  const api = dialect === 'vendor' ? 'dagu-v2' : dialect;
  const engine = parts.keep(
    await startWorkflow({ dialect: api, token: engineToken, latencyMs: latency }),
    (part) => part.close(),
  );
  inhabit(engine, { seed });
  const variables = {
    // A warehouse of its own: what is synced later with real credentials must not lie in the same tables.
    TIDEMARK_HOME: '.tidemark/simulated',
    TRACKER_BASE_URL: tracker.url,
    TRACKER_EMAIL: tracker.email,
    TRACKER_API_TOKEN: tracker.token,
    ADS_BASE_URL: ads.url,
    ADS_ACCESS_TOKEN: ads.tokens.token,
    ADS_SDK_HEADER: ads.sdkHeader,
    ADS_ACCOUNT_IDS: [...ads.state.accounts.keys()].join(','),
    ADS_REPORT_HOSTS: new URL(ads.storage.origin).host,
    WORKFLOW_BASE_URL: engine.url,
    WORKFLOW_TOKEN: engineToken,
    WORKFLOW_DAGS: [...engine.state.dags.keys()].join(','),
  };
  if (json) out.line(toJson({ dialect, seed, issues, env: variables }));
  else for (const [name, value] of Object.entries(variables)) out.line(`${name}=${value}`);
  if (!quiet && !json)
    err.line(
      'Put these lines into .env (without the DATABASE_URL of a real warehouse) and run `tidemark sync`. Ctrl-C ends the sources.',
    );
  await untilStopped(signal);
  return exit.ok;
};

const engineToken = 'simulated-engine-token';
