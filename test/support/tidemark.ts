import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TrackerSimulator } from '../../simulators/jira/server.ts';
import type { AdsSimulator } from '../../simulators/spotify-ads/server.ts';
import { type Running, run } from './processes.ts';

const program = new URL('../../src/tidemark.js', import.meta.url);

/** The variables of a run into this warehouse; nothing of the tester's own environment. */
const into = (databaseUrl: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: os.tmpdir(),
  DATABASE_URL: databaseUrl,
});

/** The variables of a run between this tracker and this warehouse. */
export const environment = (
  tracker: Pick<TrackerSimulator, 'url' | 'email' | 'token'>,
  databaseUrl: string,
  more: NodeJS.ProcessEnv = {},
): NodeJS.ProcessEnv => ({
  ...into(databaseUrl),
  TRACKER_BASE_URL: tracker.url,
  TRACKER_EMAIL: tracker.email,
  TRACKER_API_TOKEN: tracker.token,
  ...more,
});

/** The same between this ads platform and this warehouse, as fast as both can. */
export const adsEnvironment = (
  platform: Pick<AdsSimulator, 'url' | 'tokens' | 'sdkHeader' | 'storage'>,
  databaseUrl: string,
  more: NodeJS.ProcessEnv = {},
): NodeJS.ProcessEnv => ({
  ...into(databaseUrl),
  ADS_BASE_URL: platform.url,
  ADS_ACCESS_TOKEN: platform.tokens.token,
  ADS_SDK_HEADER: platform.sdkHeader,
  ADS_REPORT_HOSTS: new URL(platform.storage.origin).host,
  ADS_REQUESTS_PER_SECOND: '0',
  ADS_REPORT_REQUESTS_PER_SECOND: '0',
  ...more,
});

/** Runs `tidemark <words…>` as a process of its own, in a directory without any settings. */
export const tidemark = (words: readonly string[], env: NodeJS.ProcessEnv): Running =>
  run(program, words, { env, cwd: nowhere() });

const nowhere = (): string => {
  const directory = path.join(os.tmpdir(), 'tidemark-nowhere');
  fs.mkdirSync(directory, { recursive: true });
  return directory;
};
