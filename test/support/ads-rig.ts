import { type AdsOptions, type AdsSimulator, startAds } from '../../simulators/spotify-ads/server.ts';
import { type AdsSettings, openAds } from '../../src/connectors/spotify-ads/source.ts';
import { type PlannedStream, plan } from '../../src/engine/preview.ts';
import { replayRejects } from '../../src/engine/replay.ts';
import { hasty, openSourceRig, type SourceRig, type SourceRun } from './source-rig.ts';

/** An ads platform to read, a warehouse of its own, and runs between the two. */
export interface AdsRig extends Omit<SourceRig<AdsRun>, 'notes'> {
  readonly platform: AdsSimulator;
  /** Messages of the notes so far. */
  readonly notes: readonly string[];
  plan(window: { from: Date; to: Date }): Promise<readonly PlannedStream[]>;
  replay(): ReturnType<typeof replayRejects>;
}

/** What differs for one run. */
export interface AdsRun extends SourceRun {
  readonly settings?: Partial<AdsSettings>;
}

/** The platform's clock stays at this instant, 02:00 of the night. */
export const night = new Date('2026-06-30T02:00:00Z');

export async function openAdsRig(
  options: AdsOptions = {},
  settings: Partial<AdsSettings> = {},
): Promise<AdsRig> {
  const platform = await startAds({ seed: 7, now: night, csv: { polls: 0 }, ...options });
  const start = new Date('2026-01-01T00:00:00Z');
  const { notes, ...rig } = await openSourceRig<AdsRun>(
    'ads',
    (note, how) =>
      openAds(
        {
          baseUrl: platform.url,
          credentials: { kind: 'token', accessToken: { reveal: () => platform.tokens.token } },
          sdkHeader: platform.sdkHeader,
          accountIds: options.dialect === 'vendor' ? [] : [...platform.state.accounts.keys()],
          start,
          reportHosts: [new URL(platform.storage.origin).host],
          restateDays: [3, 14, 90],
          concurrency: 4,
          requestsPerSecond: 0,
          reportRequestsPerSecond: 0,
          ...settings,
          ...how.settings,
        },
        { http: { ...hasty, version: '1.2.3' }, note },
      ),
    { historyStart: start },
  );
  return {
    ...rig,
    platform,
    get notes() {
      return notes();
    },
    replay: () => rig.during((deps) => replayRejects(deps, {})),
    plan: (window) => rig.during((deps) => plan(deps, { window })),
    async close() {
      await platform.close();
      await rig.close();
    },
  };
}
