import { idOf, placeOf } from './issues.ts';
import type { Issue } from './model.ts';
import type { Plan } from './plan.ts';

/**
 * The issues, by position (creation order). Only those that were changed are kept; the others are made again from their seed when
 * they are asked for. What search and order need of every issue stands in plain arrays.
 */
export interface Store {
  readonly size: number;
  /** The issue at this position as it is now; throws RangeError beyond the end. Deleted ones are as they last were. */
  at(position: number): Issue;
  isLive(position: number): boolean;
  /** The position of an issue by id, deleted ones too; undefined if there never was one. */
  find(id: string): number | undefined;
  /** The live issue that has, or ever had, this key. */
  findKey(key: string): number | undefined;
  /** The key it has now. */
  keyOf(position: number): string;
  created(position: number): number;
  updated(position: number): number;
  projectId(position: number): string;
  number(position: number): number;
  /** Grows with each change of this issue. */
  version(position: number): number;
  /** Grows with each change of any issue. */
  readonly generation: number;
  /** The live issues ordered by (project key as text, number): the order of `ORDER BY key ASC`. */
  readonly byKey: readonly number[];
  /** The live issues created in `[from, to]` (epoch ms), in the order of `byKey`; `byKey` where that is no slower. */
  createdIn(from: number, to: number): readonly number[];
  /** These positions in the order of `byKey`. */
  inOrder(positions: readonly number[]): readonly number[];
  /** The live issues that are or were in this sprint, in the order of their creation. */
  inSprint(sprintId: number): readonly number[];
  put(position: number, issue: Issue): void;
  /** Appends a new issue; its id must be `nextId`. */
  add(issue: Issue): number;
  readonly nextId: string;
  remove(position: number): void;
  restore(position: number): void;
}

/** Builds the store over a plan. `keyOfProject` gives the key by project id. */
export const createStore = (
  plan: Plan,
  make: (index: number) => Issue,
  projectIds: readonly string[],
  keyOfProject: (id: string) => string,
): Store => {
  const created = [...plan.created];
  const updated = [...plan.updated];
  const project = plan.project.map((index) => projectIds[index] ?? '');
  const number = [...plan.number];
  const versions = new Map<number, number>();
  const changed = new Map<number, Issue>();
  const dead = new Set<number>();
  /** Positions follow the times of creation, until a test writes another one. */
  let ascending = true;
  const keys = new Map<string, number>();
  const old = new Map<string, number>();
  let generation = 0;

  const need = (list: readonly (number | string)[], position: number): void => {
    if (!(position >= 0 && position < list.length)) throw new RangeError(`there is no issue at ${position}`);
  };
  const keyOf = (position: number): string => {
    need(project, position);
    return `${keyOfProject(project[position] ?? '')}-${number[position]}`;
  };
  const compare = (a: number, b: number): number => {
    if (project[a] === project[b]) return (number[a] ?? 0) - (number[b] ?? 0);
    return keyOfProject(project[a] ?? '') < keyOfProject(project[b] ?? '') ? -1 : 1;
  };
  for (let position = 0; position < created.length; position++) keys.set(keyOf(position), position);
  for (const [position, moves] of plan.moves)
    for (const { from } of moves)
      old.set(`${keyOfProject(projectIds[from.project] ?? '')}-${from.number}`, position);
  const byKey = created.map((_, position) => position).sort(compare);

  /** Where the position is in `byKey`, or would be. */
  const rank = (position: number): number => {
    let low = 0;
    let high = byKey.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(byKey[middle] ?? 0, position) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const unrank = (position: number): void => {
    const found = rank(position);
    if (byKey[found] === position) byKey.splice(found, 1);
  };
  /** The first position created at this time or later. */
  const since = (time: number): number => {
    let low = 0;
    let high = created.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((created[middle] ?? 0) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const bump = (position: number): void => {
    versions.set(position, (versions.get(position) ?? 0) + 1);
    generation += 1;
  };

  return {
    get size() {
      return created.length;
    },
    get generation() {
      return generation;
    },
    get nextId() {
      return idOf(created.length);
    },
    byKey,
    at: (position) => {
      need(created, position);
      return changed.get(position) ?? make(position);
    },
    isLive: (position) => position >= 0 && position < created.length && !dead.has(position),
    find: (id) => {
      const position = placeOf(id);
      return position >= 0 && position < created.length ? position : undefined;
    },
    findKey: (key) => {
      const position = keys.get(key) ?? old.get(key);
      return position === undefined || dead.has(position) ? undefined : position;
    },
    keyOf,
    created: (position) => created[position] ?? Number.NaN,
    updated: (position) => updated[position] ?? Number.NaN,
    projectId: (position) => project[position] ?? '',
    number: (position) => number[position] ?? Number.NaN,
    version: (position) => versions.get(position) ?? 0,
    createdIn: (from, to) => {
      const first = since(from);
      const count = since(to + 1) - first;
      // Sorting costs more than passing over others.
      if (!ascending || count > created.length / 50) return byKey;
      const found = Array.from({ length: Math.max(0, count) }, (_, at) => first + at);
      return found.filter((position) => !dead.has(position)).sort(compare);
    },
    inOrder: (positions) => positions.toSorted(compare),
    inSprint: (sprintId) => {
      const planned = (plan.members.get(sprintId) ?? []).filter(
        (position) => !changed.has(position) && !dead.has(position),
      );
      const joined = [...changed].flatMap(([position, issue]) =>
        issue.sprintIds.includes(sprintId) && !dead.has(position) ? [position] : [],
      );
      return joined.length === 0 ? planned : [...planned, ...joined].sort((a, b) => a - b);
    },
    put: (position, issue) => {
      need(created, position);
      const moves = issue.projectId !== project[position] || issue.number !== number[position];
      if (moves) {
        unrank(position);
        old.set(keyOf(position), position);
        keys.delete(keyOf(position));
      }
      changed.set(position, issue);
      ascending &&= created[position] === issue.created;
      created[position] = issue.created;
      updated[position] = issue.updated;
      project[position] = issue.projectId;
      number[position] = issue.number;
      if (moves) {
        keys.set(keyOf(position), position);
        if (!dead.has(position)) byKey.splice(rank(position), 0, position);
      }
      bump(position);
    },
    add: (issue) => {
      const position = created.length;
      ascending &&= issue.created >= (created.at(-1) ?? 0);
      created.push(issue.created);
      updated.push(issue.updated);
      project.push(issue.projectId);
      number.push(issue.number);
      changed.set(position, issue);
      keys.set(keyOf(position), position);
      byKey.splice(rank(position), 0, position);
      bump(position);
      return position;
    },
    remove: (position) => {
      need(created, position);
      if (dead.has(position)) return;
      unrank(position);
      dead.add(position);
      bump(position);
    },
    restore: (position) => {
      need(created, position);
      if (!dead.delete(position)) return;
      byKey.splice(rank(position), 0, position);
      bump(position);
    },
  };
};
