import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first. The runner only knows how long they took where it has run before: not in a fresh clone. */
const longest = [
  'fault/postgres',
  'contract/spotify-ads/sync',
  'unit/server/api/serve',
  'model/crash-sample',
  'fault/processes',
  'model/ads.model',
  'fault/http',
  'unit/scheduler/worker',
  'fault/paging',
  'contract/sprints',
  'unit/cli/demo',
  'contract/spotify-ads/missing',
  'unit/cli/commands',
  'unit/embedded/embedded',
  'unit/scheduler/crash',
  'model/tracker.model',
  'unit/engine/nested-lists',
  'unit/connectors/dagu/streams',
  'contract/field-catalogue',
  'unit/engine/late',
  'unit/engine/facts',
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
