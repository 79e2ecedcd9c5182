import { mix, type Random, random } from '../shared/random.ts';
import type { Company } from './company.ts';
import type { Sprint } from './model.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** An issue moved to another project: it got a new key, and the old one still leads to it. */
export interface Move {
  readonly at: number;
  readonly from: { readonly project: number; readonly number: number };
  readonly to: { readonly project: number; readonly number: number };
}

/** One end of a link between two issues. */
export interface PlannedLink {
  readonly id: string;
  /** Index into the company's link types. */
  readonly type: number;
  readonly direction: 'inward' | 'outward';
  readonly other: number;
}

/** When the things of an issue's life happen: cheap enough to be worked out for all issues at the start. */
export interface Sketch {
  /** Continues where the sketch stopped: what else the issue needs is drawn from here. */
  readonly random: Random;
  readonly created: number;
  /** Index into the company's projects, before any move. */
  readonly project: number;
  readonly type: 'Epic' | 'Story' | 'Task' | 'Bug' | 'Sub-task';
  readonly sprints: readonly { readonly sprint: Sprint; readonly at: number }[];
  readonly started: number | undefined;
  readonly done: number | undefined;
  readonly updated: number;
}

/** What must be known of every issue before any is made: where it stands in each order, and who its parent is. */
export interface Plan {
  readonly count: number;
  readonly created: number[];
  readonly updated: number[];
  /** Index into the company's projects, after all moves. */
  readonly project: number[];
  readonly number: number[];
  /** Index of the parent issue, or -1. */
  readonly parent: readonly number[];
  readonly moves: ReadonlyMap<number, readonly Move[]>;
  /** By the index of either end: the same link stands at both. */
  readonly links: ReadonlyMap<number, readonly PlannedLink[]>;
  /** By sprint id: the issues that were in it. */
  readonly members: ReadonlyMap<number, readonly number[]>;
  /** The next free number of each project. */
  readonly next: number[];
  sketch(index: number): Sketch;
}

const sketching = (company: Company, seed: number, count: number): ((index: number) => Sketch) => {
  const { start, end, projects } = company;
  let sum = 0;
  const heaviness = projects.map((_, index) => {
    sum += 1 / (index + 1) ** 0.7;
    return sum;
  });
  const boards = new Map(
    company.boards.filter((one) => one.shows.length === 0).map((one) => [one.projectId, one.id]),
  );
  const sprints = projects.map((project) =>
    company.sprints.filter((one) => one.boardId === boards.get(project.id)),
  );
  const typeOf = (roll: number): Sketch['type'] =>
    roll < 0.04 ? 'Epic' : roll < 0.14 ? 'Sub-task' : roll < 0.45 ? 'Story' : roll < 0.75 ? 'Task' : 'Bug';

  return (index) => {
    const r = random(mix(seed, index));
    const created = Math.floor(start + (end - start) * ((index + r.next()) / count));
    const roll = r.next() * sum;
    const project = heaviness.findIndex((upTo) => roll < upTo);
    const type = typeOf(r.next());
    const joined: { sprint: Sprint; at: number }[] = [];
    const own = sprints[project] ?? [];
    if (own.length > 0 && type !== 'Epic' && r.chance(0.75)) {
      const from = created + r.int(21 * DAY);
      const found = own.findIndex((one) => one.end === undefined || one.end > from);
      let position = found === -1 ? own.length - 1 : found;
      let at = created + 60_000;
      for (;;) {
        const sprint = own[position];
        if (sprint === undefined) break;
        const soonest = Math.min(at, end - 1);
        const planned = Math.max(soonest, (sprint.start ?? soonest) - r.int(2 * DAY));
        // Into a sprint that is still ahead an issue was put at some time until now.
        at = planned < end ? planned : Math.floor(soonest + r.next() * (end - soonest));
        joined.push({ sprint, at });
        const following = own[position + 1];
        if (following === undefined || following.state === 'future' || joined.length > 4 || !r.chance(0.18))
          break;
        position += 1;
        at = following.start ?? at;
      }
    }
    let started: number | undefined;
    let done: number | undefined;
    const last = joined.at(-1)?.sprint;
    const first = joined[0];
    if (last === undefined || first === undefined) {
      const slowness = type === 'Epic' ? 8 : 1;
      const begin = created + 60_000 + r.around(6 * DAY * slowness);
      const finish = begin + HOUR + r.around(9 * DAY * slowness);
      started = begin < end ? begin : undefined;
      done = finish < end ? finish : undefined;
    } else if (last.state !== 'future') {
      const begin = first.at + 60_000 + r.int(3 * DAY);
      const room = Math.min(last.end ?? end, end) - (last.start ?? begin);
      const finish = Math.max((last.start ?? begin) + (0.15 + 0.85 * r.next()) * room, begin + HOUR);
      started = begin < end && r.chance(0.93) ? begin : undefined;
      done =
        started !== undefined && finish < end && r.chance(last.state === 'closed' ? 0.94 : 0.5)
          ? finish
          : undefined;
    }
    started = started === undefined ? undefined : Math.floor(started);
    done = done === undefined ? undefined : Math.floor(done);
    const settled = Math.max(created, joined.at(-1)?.at ?? 0, started ?? 0, done ?? 0);
    const later = Math.floor(r.chance(0.5) ? settled + r.around(4 * DAY) : settled);
    return {
      random: r,
      created,
      project,
      type,
      sprints: joined,
      started,
      done,
      updated: later < end ? later : settled,
    };
  };
};

/** Plans `count` issues of the company: 200,000 take well under a second. */
export const plan = (company: Company, seed: number, count: number): Plan => {
  const sketch = sketching(company, seed, count);
  const next = company.projects.map(() => 1);
  const lastEpic = new Map<number, number>();
  const lastStory = new Map<number, number>();
  const made = {
    created: [] as number[],
    updated: [] as number[],
    project: [] as number[],
    number: [] as number[],
    parent: [] as number[],
  };
  const moves = new Map<number, Move[]>();
  const links = new Map<number, PlannedLink[]>();
  const members = new Map<number, number[]>();
  const luck = random(mix(seed, -1));
  const take = (project: number): number => {
    const number = next[project] ?? 1;
    next[project] = number + 1;
    return number;
  };
  for (let index = 0; index < count; index++) {
    const { created, updated, project, type, sprints } = sketch(index);
    for (const { sprint } of sprints) {
      const inside = members.get(sprint.id);
      if (inside === undefined) members.set(sprint.id, [index]);
      else inside.push(index);
    }
    made.created.push(created);
    made.updated.push(updated);
    made.project.push(project);
    made.number.push(take(project));
    const parent = type === 'Epic' ? undefined : (type === 'Sub-task' ? lastStory : lastEpic).get(project);
    made.parent.push(parent ?? -1);
    if (type === 'Epic') lastEpic.set(project, index);
    if (type === 'Story' || type === 'Bug') lastStory.set(project, index);
    if (index > 0 && luck.chance(0.05)) {
      const other = luck.int(index);
      const common = { id: String(50_000 + index), type: luck.int(company.linkTypes.length) };
      links.set(index, [...(links.get(index) ?? []), { ...common, direction: 'outward', other }]);
      links.set(other, [...(links.get(other) ?? []), { ...common, direction: 'inward', other: index }]);
    }
    if (index === 0 || company.projects.length < 2 || !luck.chance(0.004)) continue;
    const moved = luck.int(index);
    const from = { project: made.project[moved] ?? 0, number: made.number[moved] ?? 0 };
    const target = (from.project + 1 + luck.int(company.projects.length - 1)) % company.projects.length;
    const to = { project: target, number: take(target) };
    moves.set(moved, [...(moves.get(moved) ?? []), { at: created, from, to }]);
    made.project[moved] = to.project;
    made.number[moved] = to.number;
    made.updated[moved] = Math.max(made.updated[moved] ?? 0, created);
  }
  return { count, ...made, moves, links, members, next, sketch };
};
