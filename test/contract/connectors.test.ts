/** Every connector keeps the same promises. A new one joins by being listed here. */
import { expect, test } from 'vitest';
import { github } from '../../examples/github-issues/github.ts';
import { startGitHub } from '../../examples/github-issues/server.ts';
import { inhabit } from '../../simulators/dagu/company.ts';
import { startWorkflow } from '../../simulators/dagu/server.ts';
import { startTracker } from '../../simulators/jira/server.ts';
import { startAds } from '../../simulators/spotify-ads/server.ts';
import { checkConnector } from '../../simulators/testing/index.ts';
import { dagu, jira, spotifyAds } from '../../src/connectors/index.ts';
import { night } from '../support/ads-rig.ts';
import { testDatabase } from '../support/postgres.ts';
import { smallSite } from '../support/small-site.ts';

const tracker = async () => {
  const { url, email, token: apiToken, close } = await startTracker({ ...smallSite, dialect: 'vendor' });
  const settings = (baseUrl: string) => ({ baseUrl, email, apiToken });
  return { close, check: (databaseUrl: string) => checkConnector(jira, { url, settings, databaseUrl }) };
};

const ads = async () => {
  const few = { campaigns: 1, adSetsPerCampaign: 1, adsPerAdSet: 1, days: 3 };
  const platform = await startAds({ seed: 7, ...few, now: night, csv: { polls: 0 } });
  const { url, tokens, sdkHeader, state, storage, close } = platform;
  const settings = (baseUrl: string) => ({
    baseUrl,
    accessToken: tokens.token,
    sdkHeader,
    accountIds: [...state.accounts.keys()].join(),
    start: '2026-06-27',
    reportHosts: new URL(storage.origin).host,
    requestsPerSecond: 0,
    reportRequestsPerSecond: 0,
  });
  return {
    close,
    check: (databaseUrl: string) => checkConnector(spotifyAds, { url, settings, databaseUrl }),
  };
};

const workflow = async () => {
  // Its clock stands: a run in the middle would go on between two readings.
  const engine = await startWorkflow({ dialect: 'dagu-v2', now: new Date() });
  inhabit(engine, { seed: 7 });
  const { url, close } = engine;
  const settings = (baseUrl: string) => ({ baseUrl });
  return { close, check: (databaseUrl: string) => checkConnector(dagu, { url, settings, databaseUrl }) };
};

const example = async () => {
  const { url, close } = await startGitHub({ issues: 130 });
  const settings = (baseUrl: string) => ({
    repository: 'octocat/hello-world',
    token: 'github-example',
    baseUrl,
  });
  return { close, check: (databaseUrl: string) => checkConnector(github, { url, settings, databaseUrl }) };
};

test.each([
  ['jira', tracker],
  ['spotifyAds', ads],
  ['dagu', workflow],
  ['github', example],
])('%s keeps what every connector promises', async (_, start) => {
  const database = await testDatabase();
  const { check, close } = await start();
  try {
    await expect(check(database.url)).resolves.toBeUndefined();
  } finally {
    await close();
    await database.drop();
  }
});
