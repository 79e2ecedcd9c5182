import type { Truths } from './truth.ts';
import {
  dateOf,
  days,
  grouped,
  type Issue,
  monthOf,
  percentile,
  pointsAt,
  type Stay,
  sum,
  type World,
  weekOf,
} from './world.ts';

const hour = 3_600_000;
const day = 24 * hour;

interface Life {
  readonly issue: Issue;
  readonly started: number | undefined;
  readonly doneAt: number | undefined;
  readonly reopened: readonly number[];
  readonly arrivals: readonly number[];
}

/** When an issue first started, when it arrived in done, and when it left it again. */
export function lifeOf(issue: Issue): Life {
  const pairs = issue.stays.map((stay, n) => [issue.stays[n - 1], stay] as const);
  const isDone = (stay: Stay | undefined): boolean => stay?.category === 'done';
  const arrivals = pairs.filter(([was, is]) => isDone(is) && !isDone(was)).map(([, is]) => is.from);
  const reopened = pairs.filter(([was, is]) => isDone(was) && !isDone(is)).map(([, is]) => is.from);
  return {
    issue,
    started: issue.stays.find(({ category }) => category === 'in_progress')?.from,
    doneAt: isDone(issue.stays.at(-1)) ? arrivals.at(-1) : undefined,
    reopened,
    arrivals,
  };
}

const lives = ({ issues }: World): readonly Life[] => issues.map(lifeOf);

/** Cycle times of what is done and was ever started. */
const finished = (world: World) =>
  lives(world).flatMap(({ issue, started, doneAt }) =>
    started === undefined || doneAt === undefined ? [] : [{ issue, doneAt, days: days(doneAt - started) }],
  );

const pastStays = (world: World) =>
  world.issues.flatMap((issue) =>
    issue.stays.flatMap((stay) =>
      stay.to === undefined ? [] : [{ issue, ...stay, days: days(stay.to - stay.from) }],
    ),
  );

/** Hours of the days from Monday to Friday between two instants; the demo has no holidays. */
function workingHours(from: number, to: number): number {
  let all = 0;
  for (let at = from; at < to; ) {
    const midnight = (Math.floor(at / day) + 1) * day;
    const weekday = new Date(at).getUTCDay();
    if (weekday !== 0 && weekday !== 6) all += Math.min(midnight, to) - at;
    at = midnight;
  }
  return all / hour;
}

const today = ({ now }: World): number => Math.floor(now / day) * day;

export const flow: Truths = {
  'How long does work take, month by month?': (world) =>
    grouped(
      finished(world),
      (each) => [monthOf(each.doneAt), each.issue.project],
      (group) => {
        const took = group.map((each) => each.days);
        return [group.length, percentile(0.5, took), percentile(0.85, took)];
      },
    ),
  'How long do reviews take?': (world) =>
    grouped(
      pastStays(world).filter(({ status }) => status === 'In Review'),
      ({ issue }) => [issue.project],
      (group) => {
        const took = group.map((each) => each.days);
        return [group.length, percentile(0.5, took), took.filter((each) => each > 5).length];
      },
    ),
  'Where does work wait?': (world) =>
    grouped(
      pastStays(world).filter(({ issue }) => issue.project === 'WEB'),
      ({ status, category }) => [status, category],
      (group) => [group.length, sum(group.map((each) => each.days))],
    ),
  'Which issues were reopened most often?': (world) =>
    lives(world)
      .filter(({ reopened }) => reopened.length > 0)
      .sort((a, b) => b.reopened.length - a.reopened.length || (a.issue.key < b.issue.key ? -1 : 1))
      .slice(0, 20)
      .map(({ issue, reopened, doneAt }) => [
        issue.key,
        issue.type,
        reopened.length,
        doneAt === undefined ? 'f' : 't',
      ]),
  'Does the backlog grow?': (world) => {
    const mine = lives(world).filter(({ issue }) => issue.project === 'WEB');
    const weeks = new Set(Array.from({ length: 78 }, (_, n) => weekOf(today(world) - n * day)));
    return [...weeks].map((week) => {
      const count = (list: readonly number[]): number => list.filter((at) => weekOf(at) === week).length;
      const created = count(mine.map(({ issue }) => issue.created));
      const done = count(mine.flatMap(({ arrivals }) => arrivals));
      return [week, created, done, created - done + count(mine.flatMap(({ reopened }) => reopened))];
    });
  },
  'Which work in progress is too old?': (world) => {
    const usual = new Map(
      grouped(
        finished(world).filter(({ doneAt }) => doneAt >= world.now - 365 * day),
        ({ issue }) => [issue.project],
        (group) => [
          percentile(
            0.85,
            group.map((each) => each.days),
          ),
        ],
      ).map(([project, p85]) => [project, Number(p85)]),
    );
    return lives(world).flatMap(({ issue, started }) => {
      const p85 = usual.get(issue.project);
      const age = days(world.now - (started ?? world.now));
      if (issue.category !== 'in_progress' || p85 === undefined || age <= Number(p85.toFixed(1))) return [];
      return [[issue.key, issue.stays.at(-1)?.status, world.people.get(issue.assignee ?? ''), age, p85]];
    });
  },
  'What is blocked, and by what?': `select p.key, i.key, o.key, s.name
    from tracker.issue_links l, tracker.issues i, tracker.issues o, tracker.projects p, tracker.statuses s, tracker.statuses own
    where l.inward = 'is blocked by' and l.direction = 'inward' and i.id = l.issue_id and o.id = l.other_issue_id
      and p.id = i.project_id and s.id = o.status_id and s.category <> 'done' and own.id = i.status_id
      and own.category <> 'done' and num_nulls(i._deleted_at, o._deleted_at) = 2`,
  'Who has too much to do?': (world) =>
    grouped(
      world.issues.filter(({ category }) => category !== 'done'),
      ({ assignee }) => [world.people.get(assignee ?? '') ?? ''],
      (group) => {
        const points = group.flatMap((each) => each.points ?? []);
        return [
          group.length,
          group.filter(({ category }) => category === 'in_progress').length,
          group.filter(({ due }) => due !== null && due !== undefined && due < dateOf(world.now)).length,
          points.length === 0 ? undefined : sum(points),
        ];
      },
    )
      .toSorted(([nameA, a], [nameB, b]) => Number(b) - Number(a) || (String(nameA) < String(nameB) ? -1 : 1))
      .slice(0, 15),
  'How fast is the first response?': (world) =>
    grouped(
      world.issues
        .filter(({ created }) => created >= today(world) - 180 * day)
        .map((issue) => ({
          issue,
          first: world.comments.find(
            (one) => one.issue === issue.id && one.isPublic && one.author !== issue.reporter,
          ),
        })),
      ({ issue }) => [monthOf(issue.created)],
      (group) => {
        const answered = group.flatMap(({ issue, first }) =>
          first === undefined ? [] : [workingHours(issue.created, first.at)],
        );
        return [group.length, answered.length, percentile(0.5, answered)];
      },
    ),
  'How many bugs are resolved within ten working days?': (world) =>
    grouped(
      world.issues.filter(({ type, resolved }) => type === 'Bug' && typeof resolved === 'number'),
      ({ project }) => [project],
      (group) => {
        const inTime = group.filter((each) => workingHours(each.created, each.resolved ?? 0) <= 240).length;
        return [group.length, inTime, inTime / group.length];
      },
    ),
  'How far are the releases?': `with named as (
      select distinct v.version_id, v.name, v.release_date, i.id, p.key, s.category
      from tracker.issues i join tracker.projects p on p.id = i.project_id join tracker.statuses s on s.id = i.status_id
      join tracker.issue_versions v on v.issue_id = i.id and v.kind = 'fix' where i._deleted_at is null)
    select min(key), name, release_date, count(*), sum((category = 'done')::int), avg((category = 'done')::int)
    from named group by version_id, name, release_date order by release_date desc nulls first, 1, 2 limit 10`,
  'How did work in progress develop?': (world) =>
    Array.from({ length: 30 }, (_, n) => today(world) - n * day).map((midnight) => {
      const categories = world.issues
        .filter(({ project, created }) => project === 'WEB' && created < midnight)
        .map(({ stays }) => stays.findLast(({ from }) => from < midnight)?.category);
      const count = (of: string): number | undefined => categories.filter((each) => each === of).length;
      return [dateOf(midnight - day), count('todo'), count('in_progress'), count('done')];
    }),
  'How do bugs come in and go out?': (world) => {
    const bugs = lives(world).filter(({ issue }) => issue.type === 'Bug');
    const events = [
      ...bugs.map(({ issue }) => ({ at: issue.created, what: 'created' })),
      ...bugs.flatMap(({ arrivals }) => arrivals.map((at) => ({ at, what: 'done' }))),
      ...bugs.flatMap(({ reopened }) => reopened.map((at) => ({ at, what: 'reopened' }))),
    ];
    return grouped(
      events,
      ({ at }) => [monthOf(Date.parse(weekOf(at)))],
      (group) => ['created', 'done', 'reopened'].map((of) => group.filter(({ what }) => what === of).length),
    );
  },
  'Where did the work stand four weeks ago?': (world) => {
    const then = world.now - 28 * day;
    const existing = world.issues.filter(({ project, created }) => project === 'WEB' && created <= then);
    return grouped(
      existing,
      (issue) => [issue.stays.findLast(({ from }) => from <= then)?.status ?? ''],
      (group) => {
        const points = group.flatMap((issue) => pointsAt(issue, then) ?? []);
        return [group.length, points.length === 0 ? undefined : sum(points)];
      },
    );
  },
  'How many hours went into each epic?': `with recursive up as (
      select id as issue_id, id, parent_id, issue_type_id from tracker.issues where _deleted_at is null
      union all
      select up.issue_id, p.id, p.parent_id, p.issue_type_id from up join tracker.issues p on p.id = up.parent_id)
    select e.key, round(sum(w.time_spent_seconds) / 3600.0, 2)
    from up join tracker.issue_types t on t.id = up.issue_type_id and t.name = 'Epic'
    join tracker.issues e on e.id = up.id join tracker.worklogs w on w.issue_id = up.issue_id and w._deleted_at is null
    group by 1 order by 2 desc, 1 limit 20`,
  'How many days does it take to fix a bug?': (world) =>
    grouped(
      lives(world).filter(({ issue, doneAt }) => issue.type === 'Bug' && doneAt !== undefined),
      ({ issue }) => [issue.project],
      (bugs) => {
        const leads = bugs.map(({ issue, doneAt = 0 }) => days(doneAt - issue.created));
        const cycles = bugs.flatMap(({ started, doneAt = 0 }) =>
          started === undefined ? [] : [days(doneAt - started)],
        );
        return [bugs.length, sum(leads) / leads.length, sum(cycles) / cycles.length, cycles.length];
      },
    ),
  'Who logged how many hours?': `select u.display_name, to_char(w.started_at at time zone z.name, 'YYYY-MM-01'),
      round(sum(w.time_spent_seconds) / 3600.0, 2)
    from tracker.worklogs w join tracker.issues i on i.id = w.issue_id and i._deleted_at is null
    left join tracker.users u on u.id = w.author_id
    cross join lateral (select coalesce((select z.name from pg_timezone_names z where z.name = u.time_zone), 'UTC') as name) z
    where w._deleted_at is null and (w.started_at at time zone z.name)::date >= current_date - 90 group by 1, 2`,
};
