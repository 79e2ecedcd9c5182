import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first. The runner only knows how long they took where it has run before: not in a fresh clone. */
const longest = [
  'fault/postgres',
  'model/crash-sample',
  'fault/processes',
  'unit/cli/commands',
  'contract/spotify-ads/sync',
  'fault/http',
  'unit/cli/demo',
  'fault/values',
  'fault/paging',
  'unit/server/api/serve',
  'unit/engine/facts',
  'contract/zones',
  'model/ads.model',
  'unit/embedded/embedded',
  'unit/connectors/dagu/streams',
  'contract/bi/speed',
  'model/tracker.model',
  'unit/scheduler/crash',
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
