import { type AdsOptions, type AdsSimulator, startAds } from '../../simulators/spotify-ads/server.ts';
import { type AdsSettings, openAds } from '../../src/connectors/spotify-ads/source.ts';
import type { RunEvent, RunReport } from '../../src/core/run.ts';
import type { RunDeps } from '../../src/engine/context/deps.ts';
import { type PlannedStream, plan } from '../../src/engine/preview.ts';
import { replayRejects } from '../../src/engine/replay.ts';
import { backfill, sync } from '../../src/engine/sync.ts';
import { type TestDatabase, testDatabase } from './postgres.ts';
import { hasty } from './rig.ts';

/** An ads platform to read, a warehouse of its own, and runs between the two: everything real, nothing mocked. */
export interface AdsRig {
  readonly platform: AdsSimulator;
  readonly database: TestDatabase;
  readonly events: readonly RunEvent[];
  /** What was told to people so far. */
  readonly notes: readonly string[];
  sync(options?: { streams?: readonly string[]; full?: boolean }, how?: AdsRun): Promise<RunReport>;
  backfill(options: { from: Date; to: Date; streams?: readonly string[] }, how?: AdsRun): Promise<RunReport>;
  plan(window: { from: Date; to: Date }): Promise<readonly PlannedStream[]>;
  replay(): ReturnType<typeof replayRejects>;
  rows<R extends object = Record<string, unknown>>(
    query: string,
    parameters?: readonly unknown[],
  ): Promise<readonly R[]>;
  close(): Promise<void>;
}

/** What differs for one run. */
export interface AdsRun {
  readonly settings?: Partial<AdsSettings>;
  readonly signal?: AbortSignal;
}

/** The platform's clock stands at 02:00 on this night. */
export const night = new Date('2026-06-30T02:00:00Z');

export async function openAdsRig(
  options: AdsOptions = {},
  settings: Partial<AdsSettings> = {},
): Promise<AdsRig> {
  const platform = await startAds({ seed: 7, now: night, csv: { polls: 0 }, ...options });
  const database = await testDatabase();
  const events: RunEvent[] = [];
  const notes: string[] = [];
  const during = async <T>(how: AdsRun, work: (deps: RunDeps) => Promise<T>): Promise<T> => {
    const observe: RunDeps['observe'] = (event) => {
      events.push(event);
      if (event.type === 'note') notes.push(event.message);
    };
    const source = openAds(
      {
        baseUrl: platform.url,
        credentials: { kind: 'token', accessToken: { reveal: () => platform.tokens.token } },
        sdkHeader: platform.sdkHeader,
        accountIds: options.dialect === 'vendor' ? [] : [...platform.state.accounts.keys()],
        start: new Date('2026-01-01T00:00:00Z'),
        reportHosts: [new URL(platform.storage.origin).host],
        restateDays: [3, 14, 90],
        concurrency: 4,
        requestsPerSecond: 0,
        reportRequestsPerSecond: 0,
        ...settings,
        ...how.settings,
      },
      { http: { ...hasty, version: '1.2.3' }, observe },
    );
    try {
      return await work({
        warehouse: database.warehouse,
        source,
        observe,
        signal: how.signal ?? new AbortController().signal,
        concurrency: 4,
        version: 'test',
        trigger: 'manual',
        lookbackMs: 0,
        createdWindowMs: 0,
        historyStart: new Date('2026-01-01T00:00:00Z'),
      });
    } finally {
      await source.close();
    }
  };
  return {
    platform,
    database,
    events,
    notes,
    sync: (what = {}, how = {}) => during(how, (deps) => sync(deps, what)),
    backfill: (what, how = {}) => during(how, (deps) => backfill(deps, what)),
    replay: () => during({}, (deps) => replayRejects(deps, {})),
    plan: (window) => during({}, (deps) => plan(deps, { window })),
    async rows<R extends object>(query: string, parameters: readonly unknown[] = []) {
      const { rows } = await database.warehouse.pool.query<R>(query, [...parameters]);
      return rows;
    },
    async close() {
      await platform.close();
      await database.drop();
    },
  };
}
