import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, longest first; those that mostly wait (`fault/postgres`, `unit/scheduler`) beside others that work. The runner only
 * knows how long they took where it has run before: not in a fresh clone.
 */
const longest = [
  'unit/server/api/serve',
  'contract/spotify-ads/sync',
  'model/crash-sample',
  'fault/postgres',
  'fault/processes',
  'contract/cases',
  'unit/scheduler/worker',
  'contract/worklog-feed',
  'contract/planner',
  'unit/cli/commands',
  'unit/cli/demo',
  'unit/scheduler/queue',
  'contract/connectors',
  'unit/connectors/dagu/streams',
  'contract/spotify-ads/missing',
  'contract/resuming',
  'model/tracker.model',
  'unit/cli/night',
  'unit/cli/compare',
  'contract/lineage',
  'unit/engine/facts',
  'contract/field-catalogue',
  'contract/late-visibility',
  'contract/guides/pages',
  'contract/guides/backup',
  'unit/embedded/embedded',
  'model/ads.model',
  'unit/warehouse/migrate',
  'unit/cli/sites',
  'contract/sprints',
  'unit/engine/bulk-lists',
  'contract/open-readers',
  'unit/server/dashboard/browser',
];

/** Long files first, so that no worker is left alone with one at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = longest.indexOf(
        relative(`${this.ctx.config.root}/test`, moduleId).replace('.test.ts', ''),
      );
      return place < 0 ? longest.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
