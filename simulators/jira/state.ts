import type { Clock } from '../shared/clock.ts';
import type { Company } from './company.ts';
import { change, issueMaker, moveItems } from './issues.ts';
import {
  type Adf,
  adf,
  type Board,
  type ChangeItem,
  type Comment,
  type Field,
  type Group,
  type Issue,
  type IssueType,
  type LinkType,
  type Named,
  POINTS,
  type Project,
  SPRINT,
  type Sprint,
  type Status,
  type User,
  type Visibility,
  type Worklog,
} from './model.ts';
import { plan } from './plan.ts';
import { createStore, type Store } from './store.ts';

/** What the index of the search still shows of an issue: `issue` undefined means that it does not show it at all. */
interface Lagging {
  readonly until: number;
  readonly issue: Issue | undefined;
}

/** What a caller may change of an issue. */
export type IssuePatch = Partial<
  Omit<Issue, 'id' | 'number' | 'projectId' | 'history' | 'comments' | 'worklogs' | 'oldKeys' | 'raw'>
>;

export interface WriteOptions {
  /** False: `updated` stays as it is and nothing is written in the changelog, as some background jobs do. Default true. */
  readonly bump?: boolean;
}

const need = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw new RangeError(`the tracker has no ${what}`);
  return value;
};

const listed = <K, T>(items: readonly T[], key: (item: T) => K): Map<K, T> =>
  new Map(items.map((item) => [key(item), item]));

/** Everything the simulated tracker holds, and what can happen to it. Unknown ids throw RangeError. Writes are stamped by the clock. */
export class TrackerState {
  readonly store: Store;
  readonly users: Map<string, User>;
  readonly groups: Map<string, Group>;
  readonly projects: Map<string, Project>;
  readonly statuses: Map<string, Status>;
  readonly issueTypes: Map<string, IssueType>;
  readonly priorities: Map<string, Named>;
  readonly resolutions: Map<string, Named>;
  readonly linkTypes: Map<string, LinkType>;
  readonly fields: Map<string, Field>;
  readonly boards: Map<number, Board>;
  readonly sprints: Map<number, Sprint>;
  /** The account that signs in. */
  readonly accountId: string;
  /** The zone in which that account sees times and writes dates in JQL. */
  timeZone: string;
  /** How long the search index is behind the writes, in ms of the tracker's clock. */
  indexLagMs = 0;
  /** Grows when something changes that issues show of others: names, sprints, keys and statuses of linked issues. */
  facts = 0;
  /** Grows with each change at all. */
  changes = 0;
  /** Ids of deleted worklogs, and when that was, oldest first. */
  readonly deletedWorklogs: { readonly id: string; readonly at: number }[] = [];

  readonly #clock: Clock;
  readonly #lagging = new Map<number, Lagging[]>();
  readonly #nextNumbers: Map<string, number>;
  #nextChild: number;
  /** The highest id that a sprint ever had: none is given twice. */
  #lastSprint = 0;

  constructor(
    company: Company,
    options: {
      readonly seed: number;
      readonly issues: number;
      readonly history: number;
      readonly longEvery?: number | undefined;
      readonly timeZone: string;
      readonly clock: Clock;
    },
  ) {
    const planned = plan(company, options.seed, options.issues);
    this.#clock = options.clock;
    this.timeZone = options.timeZone;
    this.users = listed(company.users, (one) => one.accountId);
    this.groups = listed(company.groups, (one) => one.groupId);
    this.projects = listed(company.projects, (one) => one.id);
    this.statuses = listed(company.statuses, (one) => one.id);
    this.issueTypes = listed(company.issueTypes, (one) => one.id);
    this.priorities = listed(company.priorities, (one) => one.id);
    this.resolutions = listed(company.resolutions, (one) => one.id);
    this.linkTypes = listed(company.linkTypes, (one) => one.id);
    this.fields = listed(company.fields, (one) => one.id);
    this.boards = listed(company.boards, (one) => one.id);
    this.sprints = listed(company.sprints, (one) => one.id);
    this.accountId = need(company.users[0], 'users').accountId;
    this.#nextNumbers = new Map(company.projects.map((one, index) => [one.id, planned.next[index] ?? 1]));
    this.#nextChild = 100_000 + options.issues * 256;
    this.store = createStore(
      planned,
      issueMaker(company, planned, options.history, options.longEvery),
      company.projects.map((one) => one.id),
      (id) => this.#project(id).key,
    );
  }

  // Reading

  #project(id: string): Project {
    return need(this.projects.get(id), `project ${id}`);
  }

  /** The position of an issue by id, key or old key, deleted ones by id only. */
  position(idOrKey: string): number {
    return need(this.store.find(idOrKey) ?? this.store.findKey(idOrKey), `issue ${idOrKey}`);
  }

  issue(idOrKey: string): Issue {
    return this.store.at(this.position(idOrKey));
  }

  keyOf(idOrKey: string): string {
    return this.store.keyOf(this.position(idOrKey));
  }

  projectByKey(key: string): Project {
    return need(
      [...this.projects.values()].find((one) => one.key === key || one.id === key),
      `project ${key}`,
    );
  }

  /** The issues whose newest state the search index does not show yet, with what it shows instead. */
  lagging(): ReadonlyMap<number, Issue | undefined> {
    const now = this.#clock.now().getTime();
    const seen = new Map<number, Issue | undefined>();
    for (const [position, entries] of this.#lagging) {
      const waiting = entries.filter((one) => one.until > now);
      const first = waiting[0];
      if (first === undefined) this.#lagging.delete(position);
      else seen.set(position, first.issue);
    }
    return seen;
  }

  // Writing issues

  #now(): number {
    return this.#clock.now().getTime();
  }

  #child(): string {
    this.#nextChild += 1;
    return String(this.#nextChild);
  }

  #lag(position: number | undefined): void {
    if (this.indexLagMs <= 0) return;
    const at = position ?? this.store.size;
    const issue = position !== undefined && this.store.isLive(position) ? this.store.at(position) : undefined;
    this.#lagging.set(at, [
      ...(this.#lagging.get(at) ?? []),
      { until: this.#now() + this.indexLagMs, issue },
    ]);
  }

  #write(position: number, next: Issue): Issue {
    this.#lag(position);
    const was = this.store.at(position);
    const shown = ['summary', 'statusId', 'priorityId', 'typeId', 'projectId', 'number'] as const;
    this.store.put(position, next);
    if (shown.some((name) => was[name] !== next[name])) this.facts += 1;
    this.changes += 1;
    return next;
  }

  #log(issue: Issue, items: readonly ChangeItem[], at: number): Issue['history'] {
    if (items.length === 0) return issue.history;
    return [...issue.history, { id: this.#child(), authorId: this.accountId, at, items }];
  }

  #said(issue: Issue, patch: IssuePatch): readonly ChangeItem[] {
    const named = (
      list: ReadonlyMap<string, { readonly name: string }>,
      id: string | null,
    ): readonly [string | null, string | null] =>
      id === null ? [null, null] : [id, list.get(id)?.name ?? null];
    const person = (id: string | null): readonly [string | null, string | null] =>
      id === null ? [null, null] : [id, this.users.get(id)?.displayName ?? null];
    const sprints = (ids: readonly number[]): readonly [string, string] => [
      ids.join(', '),
      ids.map((id) => this.sprints.get(id)?.name ?? '').join(', '),
    ];
    const items: ChangeItem[] = [];
    const {
      statusId,
      priorityId,
      resolutionId,
      assigneeId,
      reporterId,
      summary,
      labels,
      storyPoints,
      sprintIds,
    } = patch;
    if (statusId !== undefined)
      items.push(
        change('status', 'status', named(this.statuses, issue.statusId), named(this.statuses, statusId)),
      );
    if (priorityId !== undefined)
      items.push(
        change(
          'priority',
          'priority',
          named(this.priorities, issue.priorityId),
          named(this.priorities, priorityId),
        ),
      );
    if (resolutionId !== undefined)
      items.push(
        change(
          'resolution',
          'resolution',
          named(this.resolutions, issue.resolutionId),
          named(this.resolutions, resolutionId),
        ),
      );
    if (assigneeId !== undefined)
      items.push(change('assignee', 'assignee', person(issue.assigneeId), person(assigneeId)));
    if (reporterId !== undefined)
      items.push(change('reporter', 'reporter', person(issue.reporterId), person(reporterId)));
    if (summary !== undefined)
      items.push(change('summary', 'summary', [null, issue.summary], [null, summary]));
    if (labels !== undefined)
      items.push(change('labels', 'labels', [null, issue.labels.join(' ')], [null, labels.join(' ')]));
    if (storyPoints !== undefined)
      items.push(
        change(
          'Story point estimate',
          POINTS,
          [null, issue.storyPoints?.toString() ?? null],
          [null, storyPoints?.toString() ?? null],
        ),
      );
    if (sprintIds !== undefined)
      items.push(change('Sprint', SPRINT, sprints(issue.sprintIds), sprints(sprintIds)));
    return items;
  }

  /** Makes an issue now, in the project with this key; what the patch leaves out is plain. */
  create(projectKey: string, patch: IssuePatch = {}): Issue {
    const project = this.projectByKey(projectKey);
    const number = this.#nextNumbers.get(project.id) ?? 1;
    this.#nextNumbers.set(project.id, number + 1);
    const now = this.#now();
    this.#lag(undefined);
    const issue: Issue = {
      typeId: '10102',
      statusId: '10001',
      priorityId: '3',
      resolutionId: null,
      summary: `New issue ${number}`,
      description: null,
      creatorId: this.accountId,
      reporterId: this.accountId,
      assigneeId: null,
      created: now,
      updated: now,
      resolved: null,
      due: null,
      labels: [],
      componentIds: [],
      fixVersionIds: [],
      parentId: null,
      links: [],
      sprintIds: [],
      storyPoints: null,
      originalSeconds: null,
      remainingSeconds: null,
      custom: {},
      ...patch,
      id: this.store.nextId,
      projectId: project.id,
      number,
      history: [],
      comments: [],
      worklogs: [],
      oldKeys: [],
    };
    this.store.add(issue);
    this.changes += 1;
    return issue;
  }

  /** Changes fields of an issue; unless told otherwise `updated` is now and the changelog tells of it. */
  update(idOrKey: string, patch: IssuePatch, options: WriteOptions = {}): Issue {
    const position = this.position(idOrKey);
    const issue = this.store.at(position);
    if (options.bump === false) return this.#write(position, { ...issue, ...patch });
    const now = this.#now();
    const history = this.#log(issue, this.#said(issue, patch), now);
    return this.#write(position, { ...issue, updated: now, ...patch, history });
  }

  /** Nothing changes but `updated`. */
  touch(idOrKey: string): Issue {
    return this.update(idOrKey, {});
  }

  delete(idOrKey: string): void {
    const position = this.position(idOrKey);
    this.#lag(position);
    this.store.remove(position);
    this.facts += 1;
    this.changes += 1;
  }

  /** Brings a deleted issue back as it was, by id. */
  restore(id: string): void {
    const position = this.position(id);
    this.#lag(position);
    this.store.restore(position);
    this.facts += 1;
    this.changes += 1;
  }

  /** Moves an issue to another project: same id, new key; the old key still finds it. */
  move(idOrKey: string, projectKey: string): Issue {
    const position = this.position(idOrKey);
    const issue = this.store.at(position);
    const from = this.#project(issue.projectId);
    const to = this.projectByKey(projectKey);
    const number = this.#nextNumbers.get(to.id) ?? 1;
    this.#nextNumbers.set(to.id, number + 1);
    const now = this.#now();
    const oldKey = this.store.keyOf(position);
    const history = this.#log(issue, moveItems(from, oldKey, to, `${to.key}-${number}`), now);
    const oldKeys = [...issue.oldKeys, oldKey];
    return this.#write(position, {
      ...issue,
      projectId: to.id,
      number,
      updated: now,
      history,
      oldKeys,
      componentIds: [],
      fixVersionIds: [],
    });
  }

  addLabel(idOrKey: string, label: string): Issue {
    return this.update(idOrKey, { labels: [...this.issue(idOrKey).labels, label] });
  }

  removeLabel(idOrKey: string, label: string): Issue {
    return this.update(idOrKey, { labels: this.issue(idOrKey).labels.filter((one) => one !== label) });
  }

  /** Adds a link, which both issues show; both are updated. */
  link(idOrKey: string, otherIdOrKey: string, typeId = '10200'): void {
    const id = this.#child();
    const one = this.issue(idOrKey);
    const other = this.issue(otherIdOrKey);
    this.update(one.id, { links: [...one.links, { id, typeId, direction: 'outward', otherId: other.id }] });
    this.update(other.id, { links: [...other.links, { id, typeId, direction: 'inward', otherId: one.id }] });
  }

  addComment(idOrKey: string, body: string | Adf, authorId: string = this.accountId): Comment {
    const issue = this.issue(idOrKey);
    const now = this.#now();
    const document = typeof body === 'string' ? adf(body) : body;
    const comment: Comment = {
      id: this.#child(),
      authorId,
      updateAuthorId: authorId,
      body: document,
      created: now,
      updated: now,
    };
    this.#write(this.position(issue.id), { ...issue, updated: now, comments: [...issue.comments, comment] });
    return comment;
  }

  editComment(idOrKey: string, commentId: string, body: string | Adf): void {
    const issue = this.issue(idOrKey);
    need(
      issue.comments.find((one) => one.id === commentId),
      `comment ${commentId}`,
    );
    const now = this.#now();
    const document = typeof body === 'string' ? adf(body) : body;
    const comments = issue.comments.map((one) =>
      one.id === commentId ? { ...one, body: document, updated: now, updateAuthorId: this.accountId } : one,
    );
    this.#write(this.position(issue.id), { ...issue, updated: now, comments });
  }

  deleteComment(idOrKey: string, commentId: string): void {
    const issue = this.issue(idOrKey);
    need(
      issue.comments.find((one) => one.id === commentId),
      `comment ${commentId}`,
    );
    const comments = issue.comments.filter((one) => one.id !== commentId);
    this.#write(this.position(issue.id), { ...issue, updated: this.#now(), comments });
  }

  addWorklog(idOrKey: string, seconds: number, authorId: string = this.accountId): Worklog {
    const issue = this.issue(idOrKey);
    const now = this.#now();
    const times = { started: now - seconds * 1000, created: now, updated: now };
    const worklog: Worklog = {
      id: this.#child(),
      authorId,
      updateAuthorId: authorId,
      comment: undefined,
      seconds,
      ...times,
    };
    this.#write(this.position(issue.id), { ...issue, updated: now, worklogs: [...issue.worklogs, worklog] });
    return worklog;
  }

  editWorklog(idOrKey: string, worklogId: string, seconds: number): void {
    this.#changeWorklog(idOrKey, worklogId, (one) => ({ ...one, seconds }));
  }

  /** Sets who may see a worklog. `bump` false: members of the role come or go, which changes neither the worklog nor its issue. */
  showWorklogTo(
    idOrKey: string,
    worklogId: string,
    visibility: Visibility | undefined,
    { bump = true }: WriteOptions = {},
  ): void {
    const shown = visibility && { visibility };
    this.#changeWorklog(idOrKey, worklogId, ({ visibility: _, ...one }) => ({ ...one, ...shown }), bump);
  }

  #changeWorklog(
    idOrKey: string,
    worklogId: string,
    changed: (worklog: Worklog) => Worklog,
    bump = true,
  ): void {
    const issue = this.issue(idOrKey);
    need(
      issue.worklogs.find((one) => one.id === worklogId),
      `worklog ${worklogId}`,
    );
    const updated = bump ? { updated: this.#now() } : {};
    const worklogs = issue.worklogs.map((one) =>
      one.id === worklogId ? { ...changed(one), ...updated } : one,
    );
    this.#write(this.position(issue.id), { ...issue, ...updated, worklogs });
  }

  /** Moves a worklog to another issue: both are updated, and so is the worklog. */
  moveWorklog(idOrKey: string, worklogId: string, otherIdOrKey: string): void {
    const issue = this.issue(idOrKey);
    const other = this.issue(otherIdOrKey);
    const found = need(
      issue.worklogs.find((one) => one.id === worklogId),
      `worklog ${worklogId}`,
    );
    const updated = this.#now();
    const left = issue.worklogs.filter((one) => one.id !== worklogId);
    this.#write(this.position(issue.id), { ...issue, updated, worklogs: left });
    const worklogs = [...other.worklogs, { ...found, updated }];
    this.#write(this.position(other.id), { ...other, updated, worklogs });
  }

  deleteWorklog(idOrKey: string, worklogId: string): void {
    const issue = this.issue(idOrKey);
    need(
      issue.worklogs.find((one) => one.id === worklogId),
      `worklog ${worklogId}`,
    );
    const worklogs = issue.worklogs.filter((one) => one.id !== worklogId);
    this.deletedWorklogs.push({ id: worklogId, at: this.#now() });
    this.#write(this.position(issue.id), { ...issue, updated: this.#now(), worklogs });
  }

  /**
   * From now on this field is served as exactly this JSON text (or these bytes), whatever the model says; undefined ends it.
   * `issue.id`, `issue.key` and `issue.self` replace the issue's own members, `issue` the entire record. `updated` is bumped
   * (though the text served for it may be another).
   */
  setRaw(idOrKey: string, field: string, json: string | Buffer | undefined): void {
    const position = this.position(idOrKey);
    const { raw: was, ...issue } = this.store.at(position);
    const raw = new Map(was ?? []);
    if (json === undefined) raw.delete(field);
    else raw.set(field, json);
    const next = { ...issue, updated: this.#now() };
    this.#write(position, raw.size === 0 ? next : { ...next, raw });
  }

  // Sprints and boards

  addSprint(boardId: number, patch: Partial<Omit<Sprint, 'id' | 'boardId'>> = {}): Sprint {
    need(this.boards.get(boardId), `board ${boardId}`);
    this.#lastSprint = Math.max(this.#lastSprint, ...this.sprints.keys()) + 1;
    const id = this.#lastSprint;
    const plain = {
      name: `Sprint ${id}`,
      state: 'future',
      goal: '',
      start: undefined,
      end: undefined,
      complete: undefined,
    } as const;
    const sprint: Sprint = { ...plain, ...patch, id, boardId };
    this.#set(this.sprints, id, sprint);
    return sprint;
  }

  updateSprint(id: number, patch: Partial<Omit<Sprint, 'id'>>): void {
    this.#set(this.sprints, id, { ...need(this.sprints.get(id), `sprint ${id}`), ...patch });
  }

  /** Its issues leave it first, each by a change of its own. */
  deleteSprint(id: number): void {
    need(this.sprints.get(id), `sprint ${id}`);
    for (const position of this.store.inSprint(id)) {
      const issue = this.store.at(position);
      this.update(issue.id, { sprintIds: issue.sprintIds.filter((one) => one !== id) });
    }
    for (const board of [...this.boards.values()].filter(({ shows }) => shows.includes(id)))
      this.#set(this.boards, board.id, { ...board, shows: board.shows.filter((one) => one !== id) });
    this.sprints.delete(id);
    this.facts += 1;
    this.changes += 1;
  }

  /** Shows a sprint on one more board than its own. */
  showSprint(sprintId: number, boardId: number): void {
    const board = need(this.boards.get(boardId), `board ${boardId}`);
    this.#set(this.boards, boardId, { ...board, shows: [...board.shows, sprintId] });
  }

  /** The credentials lose sight of a board, and of what it shows, but not of the issues. */
  hideBoard(id: number): void {
    this.#set(this.boards, id, { ...need(this.boards.get(id), `board ${id}`), hidden: true });
  }

  showBoard(id: number): void {
    this.#set(this.boards, id, { ...need(this.boards.get(id), `board ${id}`), hidden: false });
  }

  /** Puts an issue into a sprint besides those it was in; `null` takes it out of those that are not closed. */
  moveToSprint(idOrKey: string, sprintId: number | null): Issue {
    if (sprintId !== null) need(this.sprints.get(sprintId), `sprint ${sprintId}`);
    const closed = this.issue(idOrKey).sprintIds.filter(
      (id) => this.sprints.get(id)?.state === 'closed' && id !== sprintId,
    );
    return this.update(idOrKey, { sprintIds: sprintId === null ? closed : [...closed, sprintId] });
  }

  // People

  addUser(patch: Partial<User> = {}): User {
    const index = this.users.size;
    const one: User = {
      accountId: `557058:added-${index}`,
      accountType: 'atlassian',
      displayName: `New Person ${index}`,
      active: true,
      ...patch,
    };
    this.#set(this.users, one.accountId, one);
    return one;
  }

  updateUser(accountId: string, patch: Partial<Omit<User, 'accountId'>>): void {
    this.#set(this.users, accountId, { ...need(this.users.get(accountId), `user ${accountId}`), ...patch });
  }

  deactivateUser(accountId: string): void {
    this.updateUser(accountId, { active: false });
  }

  /** By name or groupId. */
  group(nameOrId: string): Group {
    return need(
      [...this.groups.values()].find((one) => one.groupId === nameOrId || one.name === nameOrId),
      `group ${nameOrId}`,
    );
  }

  addGroup(name: string, members: readonly string[] = []): Group {
    const group: Group = {
      groupId: `00000000-0000-4000-a000-${String(this.groups.size).padStart(12, '0')}`,
      name,
      members,
    };
    this.#set(this.groups, group.groupId, group);
    return group;
  }

  addToGroup(nameOrId: string, accountId: string): void {
    const group = this.group(nameOrId);
    this.#set(this.groups, group.groupId, { ...group, members: [...group.members, accountId] });
  }

  removeFromGroup(nameOrId: string, accountId: string): void {
    const group = this.group(nameOrId);
    this.#set(this.groups, group.groupId, {
      ...group,
      members: group.members.filter((one) => one !== accountId),
    });
  }

  // The site

  renameStatus(id: string, name: string): void {
    this.#set(this.statuses, id, { ...need(this.statuses.get(id), `status ${id}`), name });
  }

  addField(field: Field): void {
    this.#set(this.fields, field.id, field);
  }

  updateProject(key: string, patch: Partial<Omit<Project, 'id' | 'key'>>): void {
    const project = this.projectByKey(key);
    this.#set(this.projects, project.id, { ...project, ...patch });
  }

  /** The credentials lose sight of the project: its issues vanish from every list and answer 404. */
  hideProject(key: string): void {
    this.updateProject(key, { hidden: true });
  }

  showProject(key: string): void {
    this.updateProject(key, { hidden: false });
  }

  setTimeZone(zone: string): void {
    this.timeZone = zone;
    this.updateUser(this.accountId, { timeZone: zone });
  }

  #set<K, T>(list: Map<K, T>, key: K, value: T): void {
    list.set(key, value);
    this.facts += 1;
    this.changes += 1;
  }
}
