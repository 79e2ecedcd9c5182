import type { Truths } from './truth.ts';
import type { Issue, Sprint, World } from './world.ts';

const listed = (value: string | undefined): readonly string[] => value?.match(/\d+/g) ?? [];

/** The value of a field at an instant: what the last change until then made it, else what the next one found, else today's. */
function valueAt(issue: Issue, field: string, at: number, today: string | undefined): string | undefined {
  const changes = issue.changes.filter((change) => change.field === field);
  const latest = changes.findLast((change) => change.at <= at);
  if (latest !== undefined) return latest.became;
  const next = changes.find((change) => change.at > at);
  return next === undefined ? today : next.was;
}

const sprintField = 'customfield_10020';

export const isIn = (issue: Issue, sprint: Sprint, at: number): boolean =>
  issue.created <= at &&
  listed(valueAt(issue, sprintField, at, issue.sprints.join(', '))).includes(sprint.id);

export const categoryAt = (issue: Issue, at: number): string | undefined =>
  issue.stays.findLast(({ from }) => from <= at)?.category;

/** Whether it came in after the start and before the end. */
export function cameLate(issue: Issue, sprint: Sprint, end: number): boolean {
  const start = sprint.start ?? Number.POSITIVE_INFINITY;
  const moments = issue.changes.filter(({ field }) => field === sprintField).map(({ at }) => at);
  return [issue.created, ...moments].some(
    (at) => at > start && at < end && isIn(issue, sprint, at) && !isIn(issue, sprint, at - 0.001),
  );
}

/** What became of each issue that was in the sprint at some time. */
function membersOf({ issues, now }: World, sprint: Sprint) {
  const end = sprint.state === 'closed' ? (sprint.completed ?? sprint.end ?? now) : now;
  return issues.map((issue) => {
    const committed = isIn(issue, sprint, sprint.start ?? Number.POSITIVE_INFINITY);
    const added = cameLate(issue, sprint, end);
    const inAtEnd = isIn(issue, sprint, end - 0.001);
    return { issue, committed, added, inAtEnd, done: inAtEnd && categoryAt(issue, end) === 'done' };
  });
}

export const sprints: Truths = {
  'How much of each sprint was carried over?': (world) =>
    world.sprints
      .filter(({ state, completed }) => state === 'closed' && (completed ?? 0) >= world.now - 90 * 86_400_000)
      .map((sprint) => {
        const members = membersOf(world, sprint);
        const count = (fits: (member: (typeof members)[number]) => boolean): number =>
          members.filter(fits).length;
        return [
          ...[sprint.board, sprint.name, count((one) => one.committed), count((one) => one.added)],
          count((one) => (one.committed || one.added) && !one.inAtEnd),
          ...[count((one) => one.done), count((one) => one.inAtEnd && !one.done)],
        ];
      }),
  'Which issues came into a running sprint?': (world) =>
    world.sprints
      .filter(({ state }) => state === 'active')
      .flatMap((sprint) =>
        membersOf(world, sprint)
          .filter(({ added }) => added)
          .map(({ issue }) => [sprint.name, issue.key, issue.type, firstIn(issue, sprint)]),
      ),
};

/** As Postgres writes it. */
function firstIn(issue: Issue, sprint: Sprint): string {
  const moments = issue.changes.filter(({ field }) => field === sprintField).map(({ at }) => at);
  const first = [issue.created, ...moments].find((at) => isIn(issue, sprint, at)) ?? 0;
  return new Date(first)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.?0*Z$/, '+00');
}
