import type { Project } from '../../simulators/jira/model.ts';
import type { TrackerSimulator } from '../../simulators/jira/server.ts';
import type { Change } from './steps.ts';

const minute = 60_000;

/** How far the clock may fall behind its highest stand, and the index behind the writes: together less than the lookback of the runs. */
const mostBack = 40 * minute;

/** Of more deletions than twenty at once the reconciliation would not believe a single one. */
const mostDead = 18;

/** The tracker with a memory of what was done to it and when: what a warehouse may be expected to know at each moment. */
export interface World {
  readonly tracker: TrackerSimulator;
  change(change: Change): void;
  /** When an issue was last written, by the tracker's clock; its own `updated` if never. */
  writtenAt(id: string): number;
  /** Issues whose present state no filter by `updated` is sure to show, or that look older than they once were: a full sync takes them. */
  readonly silent: ReadonlySet<string>;
  /** Since when everything of a project can be seen; Infinity while it is hidden. */
  visibleSince(projectId: string): number;
  restoredAt(id: string): number;
  /** Issues that joined or left a list other than their own: sprints long completed are not looked at for that every time. */
  readonly stirred: ReadonlySet<string>;
  /** Sprints that were deleted. */
  readonly dropped: ReadonlySet<number>;
  /** How much older than its real time a write may look, or how much later it may be shown. */
  slack(): number;
  /** Nothing is hidden, the index has caught up, the clock is where it was highest or later. */
  calm(): void;
}

export function worldOf(tracker: TrackerSimulator): World {
  const { state, clock } = tracker;
  const written = new Map<string, number>();
  const restored = new Map<string, number>();
  const visible = new Map<string, number>();
  const silent = new Set<string>();
  const stirred = new Set<string>();
  const dropped = new Set<number>();
  /** The highest `updated` that an issue ever had. */
  const newest = new Map<string, number>();
  let highest = clock.now().getTime();
  let lag = 0;
  let back = 0;
  let serial = 0;

  const now = (): number => clock.now().getTime();
  const live = (): readonly string[] =>
    Array.from({ length: state.store.size }, (_, place) => place).flatMap((place) =>
      state.store.isLive(place) ? [state.store.at(place).id] : [],
    );
  for (const id of live()) newest.set(id, state.issue(id).updated);
  const dead = (): readonly string[] =>
    Array.from({ length: state.store.size }, (_, place) => place).flatMap((place) =>
      state.store.isLive(place) ? [] : [state.store.at(place).id],
    );
  const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)];
  const project = (n: number): Project | undefined => pick([...state.projects.values()], n);
  const isHidden = (id: string): boolean => state.projects.get(state.issue(id).projectId)?.hidden === true;

  /** One of the last of its project: with nothing left in it, a deleted issue and a hidden project look the same. */
  const isRare = (id: string): boolean =>
    live().filter((other) => state.issue(other).projectId === state.issue(id).projectId).length < 4;

  /** Notes a write that `updated` shows. A write to a hidden issue is not shown once the issue is visible again. */
  const wrote = (id: string): void => {
    written.set(id, now());
    const { updated } = state.issue(id);
    const isDatedBack = updated < (newest.get(id) ?? 0);
    newest.set(id, Math.max(updated, newest.get(id) ?? 0));
    if (isHidden(id) || isDatedBack) silent.add(id);
    else silent.delete(id);
  };
  const moveClock = (minutes: number): void => {
    highest = Math.max(highest, now());
    const next = now() + minutes * minute;
    if (next < highest - mostBack) return;
    clock.set(new Date(next));
    highest = Math.max(highest, next);
    back = Math.max(back, highest - next);
  };

  const remove = (id: string): void => {
    if (dead().length >= mostDead || isRare(id)) return;
    state.delete(id);
    stirred.add(id);
  };

  const change = (what: Change): void => {
    serial += 1;
    if ('issue' in what) {
      const id = pick(live(), what.issue);
      if (id !== undefined) touch(what, id);
      return;
    }
    if (what.is === 'cull') {
      // By key, as the list is walked.
      const first = state.store.byKey.filter((place) => state.store.isLive(place)).slice(0, what.many);
      for (const place of first) remove(state.store.at(place).id);
    }
    if (what.is === 'create') {
      const home = project(what.project);
      if (home !== undefined)
        wrote(state.create(home.key, { summary: `Issue ${serial}`, labels: [`l${serial}`] }).id);
    }
    if (what.is === 'hide' || what.is === 'show') {
      const which = project(what.project);
      const others = [...state.projects.values()].filter((one) => !one.hidden && one.id !== which?.id);
      // An account that may see nothing at all is another case.
      if (which === undefined || which.hidden === (what.is === 'hide') || others.length === 0) return;
      if (what.is === 'hide') state.hideProject(which.key);
      else state.showProject(which.key);
      visible.set(which.id, what.is === 'hide' ? Number.POSITIVE_INFINITY : now());
      // An incremental read has missed what changed while it was hidden.
      for (const id of live())
        if (state.issue(id).projectId === which.id) {
          silent.add(id);
          stirred.add(id);
        }
    }
    if (what.is === 'restore') {
      const id = pick(dead(), what.which);
      if (id === undefined) return;
      state.restore(id);
      restored.set(id, now());
      stirred.add(id);
      // Issues that point at it show it again without being written.
      for (const other of live()) {
        const { parentId, links } = state.issue(other);
        if (parentId === id || links.some((link) => link.otherId === id)) silent.add(other);
      }
      silent.add(id);
    }
    if (what.is === 'lag') {
      state.indexLagMs = what.minutes * minute;
      lag = Math.max(lag, state.indexLagMs);
    }
    if (what.is === 'clock') moveClock(what.minutes);
    if (what.is === 'new sprint') {
      const boards = [...state.boards.values()].filter((one) => one.type === 'scrum');
      const board = pick(boards, what.which);
      if (board !== undefined) state.addSprint(board.id);
    }
    if (what.is === 'drop sprint') {
      const id = pick([...state.sprints.keys()], what.which);
      const isIn = (issue: string): boolean => id !== undefined && state.issue(issue).sprintIds.includes(id);
      // What is brought back would name it.
      if (id === undefined || state.sprints.size < 3 || dead().some(isIn)) return;
      const members = live().filter(isIn);
      state.deleteSprint(id);
      dropped.add(id);
      for (const member of members) {
        stirred.add(member);
        wrote(member);
      }
    }
    if (what.is === 'new person') state.addUser({ displayName: `Person ${serial}` });
    if (what.is === 'group') {
      const group = pick([...state.groups.values()], what.which);
      const person = pick([...state.users.keys()], serial);
      if (group === undefined || person === undefined) return;
      if (group.members.includes(person)) state.removeFromGroup(group.groupId, person);
      else state.addToGroup(group.groupId, person);
    }
    if (what.is === 'rename status') {
      const id = pick([...state.statuses.keys()], what.which);
      if (id !== undefined) state.renameStatus(id, `Status ${serial}`);
    }
  };

  const touch = (what: Extract<Change, { readonly issue: number }>, id: string): void => {
    const issue = state.issue(id);
    const unseen = isHidden(id);
    switch (what.is) {
      case 'edit':
        state.update(id, { summary: `Edited ${serial}`, statusId: serial % 2 === 0 ? '10001' : '3' });
        break;
      case 'silent edit':
        state.update(id, { summary: `Silently ${serial}` }, { bump: false });
        written.set(id, now());
        silent.add(id);
        return;
      case 'label':
        if (issue.labels.length > 2) state.removeLabel(id, issue.labels[0] ?? '');
        else state.addLabel(id, `label-${serial}`);
        break;
      case 'comment':
        state.addComment(id, `Comment ${serial}`);
        break;
      case 'edit comment':
      case 'drop comment': {
        const [comment] = issue.comments;
        if (comment === undefined) return;
        if (what.is === 'edit comment') state.editComment(id, comment.id, `Edited ${serial}`);
        else state.deleteComment(id, comment.id);
        break;
      }
      case 'worklog':
        state.addWorklog(id, 60 * serial);
        break;
      case 'drop worklog': {
        const [worklog] = issue.worklogs;
        if (worklog === undefined) return;
        state.deleteWorklog(id, worklog.id);
        break;
      }
      case 'touch':
        state.touch(id);
        break;
      case 'delete':
        remove(id);
        return;
      case 'move': {
        const to = project(what.project);
        if (to === undefined || to.id === issue.projectId || isRare(id)) return;
        state.move(id, to.key);
        if (to.hidden || unseen) stirred.add(id);
        break;
      }
      case 'sprint': {
        const sprint = pick([...state.sprints.keys()], what.sprint);
        if (sprint === undefined) return;
        state.moveToSprint(id, sprint);
        stirred.add(id);
        break;
      }
      case 'link': {
        const other = pick(live(), what.other);
        if (other === undefined || other === id) return;
        state.link(id, other);
        wrote(other);
        break;
      }
    }
    wrote(id);
    // A hidden issue that a write made visible: `updated` shows that.
    if (unseen && !isHidden(id)) silent.delete(id);
  };

  return {
    tracker,
    change,
    writtenAt: (id) => written.get(id) ?? state.issue(id).updated,
    silent,
    stirred,
    dropped,
    visibleSince: (projectId) => visible.get(projectId) ?? 0,
    restoredAt: (id) => restored.get(id) ?? 0,
    slack: () => lag + back,
    calm: () => {
      for (const one of state.projects.values())
        if (one.hidden) change({ is: 'show', project: placeOf(one) });
      state.indexLagMs = 0;
      // Everything was written before this moment, and everything is shown at it.
      clock.set(new Date(Math.max(now(), highest) + lag + minute));
      highest = now();
    },
  };

  function placeOf(one: Project): number {
    return [...state.projects.keys()].indexOf(one.id);
  }
}
