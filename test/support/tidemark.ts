import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TrackerSimulator } from '../../src/simulator/tracker/server.ts';
import { type Running, run } from './processes.ts';

const program = new URL('../../src/tidemark.js', import.meta.url);

/** The variables of a run between this tracker and this warehouse; nothing of the tester's own environment. */
export const environment = (
  tracker: Pick<TrackerSimulator, 'url' | 'email' | 'token'>,
  databaseUrl: string,
  more: NodeJS.ProcessEnv = {},
): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: os.tmpdir(),
  DATABASE_URL: databaseUrl,
  TRACKER_BASE_URL: tracker.url,
  TRACKER_EMAIL: tracker.email,
  TRACKER_API_TOKEN: tracker.token,
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
