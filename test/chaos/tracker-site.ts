import { startTracker } from '../../simulators/jira/server.ts';
import type { Change } from '../model/steps.ts';
import { worldOf } from '../model/world.ts';
import { differences, issueDifferences } from '../support/oracle.ts';
import { misbehave, type Place, type Site, wireTo } from './site.ts';

/** What the trackers that do not misbehave leave out. */
const leftOut =
  'statuses issue_types priorities users groups group_members boards sprints board_sprints sprint_issues'.split(
    ' ',
  );

export async function trackerSite({ name, seed, bad }: Place): Promise<Site> {
  const tracker = await startTracker({
    seed,
    issues: 25,
    projects: 2,
    users: 6,
    years: 0.1,
    now: new Date('2026-03-10T09:00:00Z'),
    dialect: seed % 2 === 0 ? 'contract' : 'vendor',
    latencyMs: bad ? 40 : 2,
  });
  const world = worldOf(tracker);
  if (bad) misbehave(tracker, bad.draw);
  const way = bad ? await wireTo(tracker.url) : { wire: undefined, url: tracker.url };
  return {
    name,
    connector: 'jira',
    exclude: bad ? [] : leftOut,
    variables: { BASE_URL: way.url, EMAIL: tracker.email, API_TOKEN: tracker.token, CONCURRENCY: '2' },
    asks: [undefined, undefined, undefined, 'DOES=full', 'DOES=reconcile'],
    script: tracker.script,
    errors: tracker.errors,
    wire: way.wire,
    change(draw) {
      const issue = draw.between(0, 60);
      const other = draw.between(0, 60);
      const project = draw.between(0, 1);
      tracker.clock.advance(1_000);
      world.change(
        draw.oneOf<Change>([
          { is: 'create', project },
          { is: 'edit', issue },
          { is: 'label', issue },
          { is: 'comment', issue },
          { is: 'drop comment', issue },
          { is: 'worklog', issue },
          { is: 'sprint', issue, sprint: other },
          { is: 'link', issue, other },
          { is: 'move', issue, project },
          { is: 'delete', issue },
        ]),
      );
    },
    calm: world.calm,
    remove() {
      const { issues } = tracker.oracle();
      const gone = [...issues.values()].find(({ visible, deleted }) => visible && !deleted);
      if (gone === undefined) throw new Error(`${name} has no issue to delete`);
      tracker.state.delete(gone.id);
      return async (rows) => {
        const marked = await rows(
          `select from tracker.issues join ops.sources using (source_id)
          where name = $1 and id = $2 and _deleted_at is not null`,
          [name, gone.id],
        );
        return marked.length === 1 ? [] : [`issue ${gone.id} was deleted, and is not marked`];
      };
    },
    equal: (rows) => issueDifferences({ tracker, rows }, { source: name }),
    // Members of sprints that were completed long ago are read by full syncs only.
    ...(bad && { equalAfterFull: (rows) => differences({ tracker, rows }, { source: name }) }),
    async close() {
      await way.wire?.close();
      await tracker.close();
    },
  };
}
