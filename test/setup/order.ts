import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first. The runner only knows how long they took where it has run before: not in a fresh clone. */
const longest = [
  'fault/postgres',
  'model/crash-sample',
  'fault/processes',
  'cli/commands',
  'ads/sync',
  'fault/http',
  'cli/demo',
  'fault/values',
  'fault/paging',
  'server/serve',
  'run/facts',
  'contract/zones',
  'model/ads.model',
  'warehouse/embedded',
  'workflow/streams',
  'bi/speed',
  'model/tracker.model',
  'server/ending',
  'schedule/crash',
  'dashboard/browser',
];

/** Long files first, so that no worker is left alone with one at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = longest.indexOf(relative(`${this.ctx.config.root}/test`, moduleId).replace('.test.ts', ''));
      return place < 0 ? longest.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
