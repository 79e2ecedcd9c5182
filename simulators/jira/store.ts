import { idOf, placeOf } from './issues.ts';
import type { Issue } from './model.ts';
import type { Plan } from './plan.ts';

/**
 * The issues, by place (creation order). Only those that were changed are kept; the others are made again from their seed when
 * they are asked for. What search and order need of every issue stands in plain arrays.
 */
export interface Store {
  readonly size: number;
  /** The issue at this place as it is now; throws RangeError beyond the end. Deleted ones are as they last were. */
  at(place: number): Issue;
  isLive(place: number): boolean;
  /** The place of an issue by id, deleted ones too; undefined if there never was one. */
  find(id: string): number | undefined;
  /** The live issue that has, or ever had, this key. */
  findKey(key: string): number | undefined;
  /** The key it has now. */
  keyOf(place: number): string;
  created(place: number): number;
  updated(place: number): number;
  projectId(place: number): string;
  number(place: number): number;
  /** Grows with each change of this issue. */
  version(place: number): number;
  /** Grows with each change of any issue. */
  readonly generation: number;
  /** The live issues ordered by (project key as text, number): the order of `ORDER BY key ASC`. */
  readonly byKey: readonly number[];
  /** The live issues that are or were in this sprint, in the order of their creation. */
  inSprint(sprintId: number): readonly number[];
  put(place: number, issue: Issue): void;
  /** Appends a new issue; its id must be `nextId`. */
  add(issue: Issue): number;
  readonly nextId: string;
  remove(place: number): void;
  restore(place: number): void;
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
  const keys = new Map<string, number>();
  const old = new Map<string, number>();
  let generation = 0;

  const need = (list: readonly (number | string)[], place: number): void => {
    if (!(place >= 0 && place < list.length)) throw new RangeError(`there is no issue at ${place}`);
  };
  const keyOf = (place: number): string => {
    need(project, place);
    return `${keyOfProject(project[place] ?? '')}-${number[place]}`;
  };
  const compare = (a: number, b: number): number => {
    if (project[a] === project[b]) return (number[a] ?? 0) - (number[b] ?? 0);
    return keyOfProject(project[a] ?? '') < keyOfProject(project[b] ?? '') ? -1 : 1;
  };
  for (let place = 0; place < created.length; place++) keys.set(keyOf(place), place);
  for (const [place, moves] of plan.moves)
    for (const { from } of moves)
      old.set(`${keyOfProject(projectIds[from.project] ?? '')}-${from.number}`, place);
  const byKey = created.map((_, place) => place).sort(compare);

  /** Where the place stands in `byKey`, or would stand. */
  const rank = (place: number): number => {
    let low = 0;
    let high = byKey.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(byKey[middle] ?? 0, place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const unrank = (place: number): void => {
    const found = rank(place);
    if (byKey[found] === place) byKey.splice(found, 1);
  };
  const bump = (place: number): void => {
    versions.set(place, (versions.get(place) ?? 0) + 1);
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
    at: (place) => {
      need(created, place);
      return changed.get(place) ?? make(place);
    },
    isLive: (place) => place >= 0 && place < created.length && !dead.has(place),
    find: (id) => {
      const place = placeOf(id);
      return place >= 0 && place < created.length ? place : undefined;
    },
    findKey: (key) => {
      const place = keys.get(key) ?? old.get(key);
      return place === undefined || dead.has(place) ? undefined : place;
    },
    keyOf,
    created: (place) => created[place] ?? Number.NaN,
    updated: (place) => updated[place] ?? Number.NaN,
    projectId: (place) => project[place] ?? '',
    number: (place) => number[place] ?? Number.NaN,
    version: (place) => versions.get(place) ?? 0,
    inSprint: (sprintId) => {
      const planned = (plan.members.get(sprintId) ?? []).filter(
        (place) => !changed.has(place) && !dead.has(place),
      );
      const joined = [...changed].flatMap(([place, issue]) =>
        issue.sprintIds.includes(sprintId) && !dead.has(place) ? [place] : [],
      );
      return joined.length === 0 ? planned : [...planned, ...joined].sort((a, b) => a - b);
    },
    put: (place, issue) => {
      need(created, place);
      const moves = issue.projectId !== project[place] || issue.number !== number[place];
      if (moves) {
        unrank(place);
        old.set(keyOf(place), place);
        keys.delete(keyOf(place));
      }
      changed.set(place, issue);
      created[place] = issue.created;
      updated[place] = issue.updated;
      project[place] = issue.projectId;
      number[place] = issue.number;
      if (moves) {
        keys.set(keyOf(place), place);
        if (!dead.has(place)) byKey.splice(rank(place), 0, place);
      }
      bump(place);
    },
    add: (issue) => {
      const place = created.length;
      created.push(issue.created);
      updated.push(issue.updated);
      project.push(issue.projectId);
      number.push(issue.number);
      changed.set(place, issue);
      keys.set(keyOf(place), place);
      byKey.splice(rank(place), 0, place);
      bump(place);
      return place;
    },
    remove: (place) => {
      need(created, place);
      if (dead.has(place)) return;
      unrank(place);
      dead.add(place);
      bump(place);
    },
    restore: (place) => {
      need(created, place);
      if (!dead.delete(place)) return;
      byKey.splice(rank(place), 0, place);
      bump(place);
    },
  };
};
