import type { Truths } from './truth.ts';
import { dateOf, dayMs, type Issue, pointsAt, type Sprint, sum, valueAt, type World } from './world.ts';

const listed = (value: string | undefined): readonly string[] => value?.match(/\d+/g) ?? [];

const sprintField = 'customfield_10020';

const isIn = (issue: Issue, sprint: Sprint, at: number): boolean =>
  issue.created <= at &&
  listed(valueAt(issue, sprintField, at, issue.sprints.join(', '))).includes(sprint.id);

const categoryAt = (issue: Issue, at: number): string | undefined =>
  issue.stays.findLast(({ from }) => from <= at)?.category;

/** When it first came in after the start and before the end. */
function cameLate(issue: Issue, sprint: Sprint, end: number): number | undefined {
  const start = sprint.start ?? Number.POSITIVE_INFINITY;
  const moments = issue.changes.filter(({ field }) => field === sprintField).map(({ at }) => at);
  return [issue.created, ...moments].find(
    (at) => at > start && at < end && isIn(issue, sprint, at) && !isIn(issue, sprint, at - 0.001),
  );
}

/** What is left at the end of each day, until now. */
function burndown({ issues, now }: World, sprint: Sprint) {
  const first = Math.floor((sprint.start ?? 0) / dayMs) * dayMs;
  const planned = Math.floor((sprint.end ?? 0) / dayMs) * dayMs;
  const scopeAt = (at: number): readonly Issue[] => issues.filter((issue) => isIn(issue, sprint, at));
  const pointsOf = (some: readonly Issue[], at: number): number =>
    sum(some.map((issue) => pointsAt(issue, at)));
  const endOf = (day: number): number => Math.min(day + dayMs - 0.001, now);
  const all = pointsOf(scopeAt(endOf(first)), endOf(first));
  return Array.from({ length: Math.floor((now - first) / dayMs) + 1 }, (_, n) => first + n * dayMs).map(
    (day) => {
      const end = endOf(day);
      const scope = scopeAt(end);
      const open = scope.filter((issue) => categoryAt(issue, end) !== 'done');
      const ideal = (all * Math.max(0, planned - day)) / (planned - first);
      return [sprint.name, dateOf(day), scope.length, open.length, pointsOf(open, end), ideal];
    },
  );
}

/** What became of each issue that was in the sprint at some time. */
function membersOf({ issues, now }: World, sprint: Sprint) {
  const end = sprint.state === 'closed' ? (sprint.completed ?? sprint.end ?? now) : now;
  return issues.map((issue) => {
    const committed = isIn(issue, sprint, sprint.start ?? Number.POSITIVE_INFINITY);
    const cameAt = cameLate(issue, sprint, end);
    const added = cameAt !== undefined;
    const inAtEnd = isIn(issue, sprint, end - 0.001);
    return { issue, committed, added, cameAt, inAtEnd, done: inAtEnd && categoryAt(issue, end) === 'done' };
  });
}

export const sprints: Truths = {
  'What is the velocity of a board?': (world) =>
    world.sprints
      .filter(({ board, state }) => board === 'WEB board' && state === 'closed')
      .filter(({ completed }) => (completed ?? 0) >= world.now - 120 * dayMs)
      .map((sprint) => {
        const members = membersOf(world, sprint);
        const points = (of: readonly { readonly issue: Issue; readonly at: number | undefined }[]): number =>
          sum(of.map(({ issue, at }) => pointsAt(issue, at ?? 0)));
        const committed = points(
          members.filter((one) => one.committed).map(({ issue }) => ({ issue, at: sprint.start })),
        );
        const added = points(
          members.filter((one) => one.added).map(({ issue, cameAt }) => ({ issue, at: cameAt })),
        );
        const done = points(
          members.filter((one) => one.done).map(({ issue }) => ({ issue, at: sprint.completed })),
        );
        return [sprint.name, committed, added, done, committed === 0 ? undefined : done / committed];
      }),
  'How does the running sprint burn down?': (world) =>
    world.sprints
      .filter(({ board, state }) => board === 'WEB board' && state === 'active')
      .flatMap((sprint) => burndown(world, sprint)),
  'How much of each sprint was carried over?': (world) =>
    world.sprints
      .filter(({ state, completed }) => state === 'closed' && (completed ?? 0) >= world.now - 90 * dayMs)
      .map((sprint) => {
        const members = membersOf(world, sprint);
        const count = (fits: (member: (typeof members)[number]) => boolean): number =>
          members.filter(fits).length;
        return [
          sprint.board,
          sprint.name,
          count((one) => one.committed),
          count((one) => one.added),
          count((one) => (one.committed || one.added) && !one.inAtEnd),
          count((one) => one.done),
          count((one) => one.inAtEnd && !one.done),
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
