import { onTestFinished } from 'vitest';
import { startTracker, type TrackerOptions, type TrackerSimulator } from '../../simulators/jira/server.ts';
import { status } from '../../simulators/shared/faults.ts';
import { openTracker, type TrackerDeps, type TrackerSettings } from '../../src/connectors/jira/source.ts';
import { basic } from '../../src/http/auth.ts';
import { smallSite } from './small-site.ts';
import { hasty, openSourceRig, type SourceRig, type SourceRun } from './source-rig.ts';

export { hasty };

/** A tracker to read, a warehouse of its own, and runs between the two. */
export interface Rig extends SourceRig<RigRun> {
  readonly tracker: TrackerSimulator;
}

/** What differs for one run. */
export interface RigRun extends SourceRun {
  readonly settings?: Partial<TrackerSettings>;
  readonly http?: TrackerDeps['http'];
}

/** How this tracker is read, as fast as it answers. */
export const settingsFor = (tracker: TrackerSimulator): TrackerSettings => ({
  baseUrl: tracker.url,
  auth: basic(tracker.email, { reveal: () => tracker.token }),
  start: new Date('2000-01-01T00:00:00Z'),
  changes: 'auto',
  groups: [],
});

export async function openRig(
  options: TrackerOptions = {},
  settings: Partial<TrackerSettings> = {},
): Promise<Rig> {
  const site = { seed: 7, issues: 300, projects: 3, users: 30, years: 0.5 };
  const tracker = await startTracker({ ...site, ...options });
  const rig = await openSourceRig<RigRun>(
    'tracker',
    (_, how) =>
      openTracker(
        { ...settingsFor(tracker), ...settings, ...how.settings },
        { http: { ...hasty, concurrency: 4, ...how.http } },
      ),
    {
      lookbackMs: 86_400_000,
      createdWindowMs: 180 * 86_400_000,
      historyStart: new Date('2000-01-01T00:00:00Z'),
    },
  );
  return {
    ...rig,
    tracker,
    async close() {
      await tracker.close();
      await rig.close();
    },
  };
}

/** A rig on the small site, closed at the end of the test. */
export async function testRig(
  options: TrackerOptions = {},
  settings: Partial<TrackerSettings> = {},
): Promise<Rig> {
  const rig = await openRig({ ...smallSite, ...options }, settings);
  onTestFinished(() => rig.close());
  return rig;
}

/** The search refuses sprints, so that their issues are read from their own lists, as where it pages by number. */
export const readListsOfSprints = ({ tracker }: Rig) =>
  tracker.script.at(
    {
      endpoint: '/rest/api/3/search/jql',
      times: Number.POSITIVE_INFINITY,
      match: ({ body }) => /"jql":"sprint = /.test(JSON.stringify(body) ?? ''),
    },
    status(400),
  );
