import { mix, type Random, random } from '../shared/random.ts';
import { siteFields } from './fields.ts';
import type {
  Board,
  Field,
  Group,
  IssueType,
  LinkType,
  Named,
  Project,
  Sprint,
  Status,
  User,
} from './model.ts';
import { components, familyNames, givenNames, goals, projectNames, timeZones } from './words.ts';

const DAY = 86_400_000;
const CADENCE = 14 * DAY;

/** Everything of the company but its issues. */
export interface Company {
  readonly users: readonly User[];
  readonly groups: readonly Group[];
  readonly projects: readonly Project[];
  readonly statuses: readonly Status[];
  readonly issueTypes: readonly IssueType[];
  readonly priorities: readonly Named[];
  readonly resolutions: readonly Named[];
  readonly linkTypes: readonly LinkType[];
  readonly fields: readonly Field[];
  readonly boards: readonly Board[];
  readonly sprints: readonly Sprint[];
  /** History begins here … */
  readonly start: number;
  /** … and ends here; everything generated lies before. */
  readonly end: number;
}

export interface CompanySize {
  readonly seed: number;
  readonly projects: number;
  readonly users: number;
  /** The first user is the account that signs in, with this address. */
  readonly email: string;
  readonly timeZone: string;
  /** The end of the generated history, epoch ms. */
  readonly end: number;
  /** How long the history is. */
  readonly years: number;
}

const statuses: readonly Status[] = [
  { id: '10000', name: 'Backlog', category: 'new' },
  { id: '10001', name: 'To Do', category: 'new' },
  { id: '3', name: 'In Progress', category: 'indeterminate' },
  { id: '10002', name: 'In Review', category: 'indeterminate' },
  { id: '10003', name: 'Blocked', category: 'indeterminate' },
  { id: '10004', name: 'Done', category: 'done' },
  { id: '10005', name: "Won't Do", category: 'done' },
];

const issueTypes: readonly IssueType[] = [
  { id: '10100', name: 'Epic', hierarchyLevel: 1 },
  { id: '10101', name: 'Story', hierarchyLevel: 0 },
  { id: '10102', name: 'Task', hierarchyLevel: 0 },
  { id: '10103', name: 'Bug', hierarchyLevel: 0 },
  { id: '10104', name: 'Sub-task', hierarchyLevel: -1 },
];

const names = (first: number, list: readonly string[]): readonly Named[] =>
  list.map((name, index) => ({ id: String(first + index), name }));

const linkTypes: readonly LinkType[] = [
  { id: '10200', name: 'Blocks', inward: 'is blocked by', outward: 'blocks' },
  { id: '10201', name: 'Relates', inward: 'relates to', outward: 'relates to' },
  { id: '10202', name: 'Duplicate', inward: 'is duplicated by', outward: 'duplicates' },
];

const hex = (r: Random, length: number): string => {
  let text = '';
  while (text.length < length) text += r.int(16).toString(16);
  return text;
};

const uuid = (r: Random): string => `${hex(r, 8)}-${hex(r, 4)}-4${hex(r, 3)}-a${hex(r, 3)}-${hex(r, 12)}`;

const user = (seed: number, index: number, size: CompanySize): User => {
  const r = random(mix(seed, index));
  const accountId = r.chance(0.5) ? `5b${hex(r, 22)}` : `557058:${uuid(r)}`;
  if (index === 0)
    return {
      accountId,
      accountType: 'atlassian',
      displayName: 'Tide Mark',
      email: size.email,
      timeZone: size.timeZone,
      active: true,
    };
  if (index === 1) return { accountId, accountType: 'app', displayName: 'Automation for Jira', active: true };
  if (index === 2) return { accountId, accountType: 'app', displayName: 'Deploy Bot', active: false };
  const displayName = `${r.pick(givenNames)} ${r.pick(familyNames)}`;
  if (index % 23 === 5)
    return { accountId: `qm:${uuid(r)}`, accountType: 'customer', displayName, active: true };
  return {
    accountId,
    accountType: 'atlassian',
    displayName,
    ...(r.chance(0.6) ? { email: `person${index}@example.com` } : {}),
    ...(r.chance(0.7) ? { timeZone: r.pick(timeZones) } : {}),
    active: index % 13 !== 7,
  };
};

const project = (seed: number, index: number, people: readonly User[]): Project => {
  const r = random(mix(seed, index));
  const [key, name, typeKey] = projectNames[index] ?? [`P${index}`, `Project ${index}`, 'software'];
  const id = String(10000 + index);
  return {
    id,
    key,
    name,
    description: `All work on ${name}.`,
    typeKey,
    style: index % 4 === 2 ? 'next-gen' : 'classic',
    category: index % 3 === 0 ? 'Customer facing' : index % 3 === 1 ? 'Internal' : undefined,
    leadId: r.pick(people).accountId,
    archived: false,
    hidden: false,
    components: components
      .slice(0, 3 + r.int(5))
      .map((title, n) => ({ id: String(20000 + index * 20 + n), name: title })),
    versions: Array.from({ length: 6 }, (_, n) => ({
      id: String(30000 + index * 20 + n),
      name: `${key.toLowerCase()}-${1 + Math.floor(n / 3)}.${n % 3}`,
      released: n < 4,
      archived: n === 0,
      releaseDate: `202${3 + Math.floor(n / 3)}-0${1 + (n % 3) * 3}-15`,
    })),
  };
};

const group = (r: Random, name: string, members: readonly User[]): Group => ({
  groupId: uuid(r),
  name,
  members: members.map((member) => member.accountId),
});

const groupsOf = (seed: number, users: readonly User[], projects: readonly Project[]): readonly Group[] => {
  const r = random(mix(seed, 1));
  const people = users.filter((one) => one.accountType === 'atlassian');
  return [
    group(r, 'jira-users', people),
    group(r, 'site-admins', people.slice(0, 3)),
    group(
      r,
      'apps',
      users.filter((one) => one.accountType === 'app'),
    ),
    group(
      r,
      'contractors & partners',
      people.filter((_, index) => index % 9 === 4),
    ),
    group(r, 'nobody-yet', []),
    ...projects.map((one) =>
      group(
        r,
        `team-${one.key.toLowerCase()}`,
        people.filter(() => r.chance(0.25)),
      ),
    ),
  ];
};

const sprintsOf = (
  seed: number,
  board: number,
  key: string,
  start: number,
  end: number,
  first: number,
): readonly Sprint[] => {
  const r = random(mix(seed, board));
  const shift = r.int(14) * DAY;
  const count = Math.ceil((end - start - shift) / CADENCE);
  return Array.from({ length: count + 2 }, (_, n) => {
    const begins = start + shift + n * CADENCE + 9 * 3_600_000;
    const ends = begins + CADENCE - 16 * 3_600_000;
    const state = ends <= end ? 'closed' : begins < end ? 'active' : 'future';
    // A sprint further ahead than the next one has no dates yet.
    const planned = n <= count;
    return {
      id: first + n,
      name: `${key} Sprint ${n + 1}`,
      state,
      boardId: board,
      goal: r.chance(0.6) ? r.pick(goals) : '',
      start: planned ? begins : undefined,
      end: planned ? ends : undefined,
      complete: state === 'closed' ? Math.min(ends + r.int(36) * 600_000, end) : undefined,
    };
  });
};

/** The company of this seed: the same words and numbers each time. */
export const company = (size: CompanySize): Company => {
  const end = size.end;
  const start = end - Math.round(size.years * 365.25) * DAY;
  const userSeed = mix(size.seed, 101);
  const users = Array.from({ length: size.users }, (_, index) => user(userSeed, index, size));
  const people = users.filter((one) => one.accountType === 'atlassian' && one.active);
  const projectSeed = mix(size.seed, 102);
  const projects = Array.from({ length: size.projects }, (_, index) => project(projectSeed, index, people));
  const boards: Board[] = [];
  const sprints: Sprint[] = [];
  for (const [index, one] of projects.entries()) {
    if (one.typeKey !== 'software') continue;
    const id = boards.length + 1;
    const type = index % 5 === 4 ? 'kanban' : one.style === 'next-gen' ? 'simple' : 'scrum';
    boards.push({ id, name: `${one.key} board`, type, projectId: one.id, shows: [] });
    if (type === 'kanban') continue;
    sprints.push(...sprintsOf(mix(size.seed, 103), id, one.key, start, end, sprints.length + 1));
  }
  const firstProject = projects[0];
  if (firstProject !== undefined) {
    // A programme board: shows sprints that were made on other boards.
    const shows = sprints.filter((one) => one.boardId <= 2 && one.id % 4 !== 0).map((one) => one.id);
    boards.push({
      id: boards.length + 1,
      name: 'Programme',
      type: 'scrum',
      projectId: firstProject.id,
      shows,
    });
  }
  return {
    users,
    groups: groupsOf(mix(size.seed, 104), users, projects),
    projects,
    statuses,
    issueTypes,
    priorities: names(1, ['Highest', 'High', 'Medium', 'Low', 'Lowest']),
    resolutions: names(10300, ['Done', "Won't Do", 'Duplicate']),
    linkTypes,
    fields: siteFields.filter(({ scope }) => scope === undefined || projects.some(({ id }) => id === scope)),
    boards,
    sprints,
    start,
    end,
  };
};
