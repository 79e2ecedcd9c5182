import type {
  Board,
  Component,
  Field,
  Group,
  IssueType,
  Named,
  Project,
  Sprint,
  Status,
  User,
  Version,
} from './model.ts';
import type { TrackerState } from './state.ts';
import { stampIn } from './zones.ts';

const colours = { new: 'blue-gray', indeterminate: 'yellow', done: 'green' } as const;
const categoryIds = { new: 2, indeterminate: 4, done: 3 } as const;
const categoryNames = { new: 'To Do', indeterminate: 'In Progress', done: 'Done' } as const;

/** How the tracker writes everything but issues, as JSON values. `base`: its own URL, for `self`. */
export const entities = (state: TrackerState, base: string) => {
  const api = `${base}/rest/api/3`;
  const agile = `${base}/rest/agile/1.0`;
  const avatar = (kind: string, id: string): { readonly '48x48': string } => ({
    '48x48': `${base}/${kind}avatar/${encodeURIComponent(id)}`,
  });

  const user = (one: User) => ({
    self: `${api}/user?accountId=${encodeURIComponent(one.accountId)}`,
    accountId: one.accountId,
    accountType: one.accountType,
    ...(one.email === undefined ? {} : { emailAddress: one.email }),
    avatarUrls: avatar('user', one.accountId.slice(-12)),
    displayName: one.displayName,
    active: one.active,
    ...(one.timeZone === undefined ? {} : { timeZone: one.timeZone }),
  });
  /** A person nobody knows any more is left out of the answer, as at the vendor. */
  const userOf = (accountId: string | null | undefined) => {
    const one = accountId === null || accountId === undefined ? undefined : state.users.get(accountId);
    return one === undefined ? undefined : user(one);
  };
  const status = (one: Status) => ({
    self: `${api}/status/${one.id}`,
    description: '',
    iconUrl: `${base}/images/icons/status.png`,
    name: one.name,
    id: one.id,
    statusCategory: {
      self: `${api}/statuscategory/${categoryIds[one.category]}`,
      id: categoryIds[one.category],
      key: one.category,
      colorName: colours[one.category],
      name: categoryNames[one.category],
    },
  });
  const issueType = (one: IssueType) => ({
    self: `${api}/issuetype/${one.id}`,
    id: one.id,
    description: '',
    iconUrl: `${base}/images/icons/issuetype.png`,
    name: one.name,
    subtask: one.hierarchyLevel === -1,
    hierarchyLevel: one.hierarchyLevel,
  });
  const priority = (one: Named) => ({
    self: `${api}/priority/${one.id}`,
    iconUrl: `${base}/images/icons/priority.png`,
    name: one.name,
    id: one.id,
  });
  const priorityDetails = (one: Named) => ({
    ...priority(one),
    statusColor: '#ff7452',
    description: '',
    isDefault: one.id === '3',
  });
  const resolution = (one: Named) => ({
    self: `${api}/resolution/${one.id}`,
    id: one.id,
    description: '',
    name: one.name,
  });
  const component = (one: Component) => ({ self: `${api}/component/${one.id}`, id: one.id, name: one.name });
  const version = (one: Version) => ({
    self: `${api}/version/${one.id}`,
    id: one.id,
    name: one.name,
    archived: one.archived,
    released: one.released,
    releaseDate: one.releaseDate,
  });
  const category = (name: string) => {
    const id = name === 'Internal' ? '10001' : '10000';
    return { self: `${api}/projectCategory/${id}`, id, name, description: '' };
  };
  const project = (one: Project) => ({
    self: `${api}/project/${one.id}`,
    id: one.id,
    key: one.key,
    name: one.name,
    projectTypeKey: one.typeKey,
    simplified: one.style === 'next-gen',
    avatarUrls: avatar('project', one.id),
    ...(one.category === undefined ? {} : { projectCategory: category(one.category) }),
  });
  const projectListed = (one: Project, expand: ReadonlySet<string>) => ({
    ...project(one),
    expand: 'description,lead,issueTypes,url,projectKeys,permissions,insight',
    style: one.style,
    isPrivate: false,
    properties: {},
    ...(one.archived ? { archived: true } : {}),
    ...(expand.has('description') ? { description: one.description } : {}),
    ...(expand.has('lead') ? { lead: userOf(one.leadId) } : {}),
    ...(expand.has('url') ? { url: '' } : {}),
    ...(expand.has('issueTypes') ? { issueTypes: [...state.issueTypes.values()].map(issueType) } : {}),
  });
  const projectDetails = (one: Project) => ({
    ...projectListed(one, new Set(['description', 'lead', 'issueTypes', 'url'])),
    components: one.components.map(component),
    versions: one.versions.map(version),
    assigneeType: 'UNASSIGNED',
    roles: {},
  });
  const group = (one: Group) => ({ name: one.name, groupId: one.groupId });
  const field = (one: Field) => ({
    id: one.id,
    key: one.id,
    name: one.name,
    schema: one.schema,
    description: '',
    isLocked: false,
    screensCount: 1,
    lastUsed: one.custom
      ? { type: 'TRACKED', value: stampIn(state.timeZone, 1_700_000_000_000) }
      : { type: 'NOT_TRACKED' },
  });
  /** The same as `/field` writes it. */
  const fieldDetails = (one: Field) => ({
    id: one.id,
    key: one.id,
    name: one.name,
    custom: one.custom,
    orderable: true,
    navigable: true,
    searchable: true,
    clauseNames: one.custom ? [`cf[${one.schema.customId ?? one.id}]`, one.name] : [one.id],
    ...(one.scope === undefined ? {} : { scope: { type: 'PROJECT', project: { id: one.scope } } }),
    schema: one.schema,
  });
  const board = (one: Board) => {
    const home = state.projects.get(one.projectId);
    return {
      id: one.id,
      self: `${agile}/board/${one.id}`,
      name: one.name,
      type: one.type,
      ...(home === undefined
        ? {}
        : {
            location: {
              projectId: Number(home.id),
              displayName: `${home.name} (${home.key})`,
              projectName: home.name,
              projectKey: home.key,
              projectTypeKey: home.typeKey,
              name: `${home.name} (${home.key})`,
            },
          }),
    };
  };
  const instant = (name: string, at: number | undefined) =>
    at === undefined ? {} : { [name]: new Date(at).toISOString() };
  const sprint = (one: Sprint) => ({
    id: one.id,
    self: `${agile}/sprint/${one.id}`,
    state: one.state,
    name: one.name,
    ...instant('startDate', one.start),
    ...instant('endDate', one.end),
    ...instant('completeDate', one.complete),
    originBoardId: one.boardId,
    ...(one.goal === '' ? {} : { goal: one.goal }),
  });
  /** The sprint as the custom field of an issue shows it. */
  const sprintValue = (one: Sprint) => ({
    id: one.id,
    name: one.name,
    state: one.state,
    boardId: one.boardId,
    goal: one.goal,
    ...instant('startDate', one.start),
    ...instant('endDate', one.end),
    ...instant('completeDate', one.complete),
  });
  return {
    api,
    agile,
    /** An instant as the account sees it. */
    stamp: (at: number): string => stampIn(state.timeZone, at),
    user,
    userOf,
    status,
    issueType,
    priority,
    priorityDetails,
    resolution,
    component,
    version,
    project,
    projectListed,
    projectDetails,
    group,
    field,
    fieldDetails,
    board,
    sprint,
    sprintValue,
  };
};

export type Entities = ReturnType<typeof entities>;
