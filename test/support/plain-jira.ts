import {
  type Asked,
  type Script,
  type ScriptedServer,
  scriptedServer,
} from '../../simulators/testing/server.ts';

type Members = Readonly<Record<string, unknown>>;

/** What a path answers instead of its own answer. */
export interface Instead {
  /** A regular expression that must match the whole path, without the query. */
  readonly path: string;
  readonly method?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A small Jira, as differences from a plain one. */
export interface PlainJira {
  /** `fields` over those of a plain issue; `histories` is the whole changelog, oldest first. */
  readonly issues?: readonly (Members & {
    readonly id: number;
    readonly key: string;
    readonly fields?: Members;
    readonly histories?: readonly unknown[];
  })[];
  /** Fields of the site besides those that every site has. */
  readonly fields?: readonly Members[];
  readonly boards?: readonly (Members & { readonly id: number })[];
  /** Each shows on the board of its `originBoardId`. */
  readonly sprints?: readonly (Members & { readonly id: number })[];
  /** Lists of the site by their path, e.g. `/rest/api/3/status`. */
  readonly lists?: Readonly<Record<string, readonly unknown[]>>;
  readonly answers?: readonly Instead[];
}

const project = { id: '10000', key: 'ABC', name: 'A project', projectTypeKey: 'software', archived: false };
const category = (id: number, key: string, name: string) => ({ id, key, name });
const statuses = [
  { id: '1', name: 'To Do', statusCategory: category(2, 'new', 'To Do') },
  { id: '2', name: 'Doing', statusCategory: category(4, 'indeterminate', 'In Progress') },
  { id: '3', name: 'Done', statusCategory: category(3, 'done', 'Done') },
];
const issueType = { id: '10001', name: 'Task', subtask: false, hierarchyLevel: 0 };
const priority = { id: '3', name: 'Medium' };
const person = { accountId: 'acc-1', accountType: 'atlassian', displayName: 'Ada Example', active: true };
/** A server of one's own has no account ids. */
const namedPerson = { key: 'JIRAUSER1', name: 'ada', displayName: 'Ada Example', active: true };

const system = ['summary', 'status', 'assignee', 'priority', 'description', 'labels'].map((id) => ({
  id,
  key: id,
  name: id,
  custom: false,
  schema: { type: 'any', system: id },
}));

const started = '2024-03-01T09:00:00.000+0000';

/**
 * Starts it. It speaks the cloud's paths (`/rest/api/3`, page tokens) and those of a server (`/rest/api/2`,
 * offsets with totals); `answers` can close either.
 */
export const plainJira = (site: PlainJira = {}): Promise<ScriptedServer> => {
  const issues = (site.issues ?? []).map((one) => issueOf(one));
  const instead = (site.answers ?? []).map((one) => ({ ...one, fits: new RegExp(`^(?:${one.path})$`) }));
  const script: Script = (asked) => {
    const url = new URL(asked.path, 'http://plain.test');
    const planned = instead.find(
      ({ fits, method }) => fits.test(url.pathname) && (method ?? asked.method) === asked.method,
    );
    if (planned !== undefined) {
      const { status = 200, headers = {}, body } = planned;
      return { status, headers, body: typeof body === 'string' ? Buffer.from(body) : body };
    }
    const body = answerOf(site, issues, url, asked);
    if (body !== undefined) return { status: 200, body };
    return { status: 404, body: { errorMessages: [`No endpoint ${url.pathname}`], errors: {} } };
  };
  return scriptedServer(script);
};

const issueOf = ({ id, key, fields, histories = [], ...more }: NonNullable<PlainJira['issues']>[number]) => ({
  id: String(id),
  key,
  fields: {
    project,
    issuetype: issueType,
    status: statuses[0],
    priority,
    summary: 'a thing',
    labels: [],
    created: started,
    updated: '2024-03-03T09:00:00.000+0000',
    ...fields,
  },
  changelog: {
    startAt: 0,
    maxResults: histories.length,
    total: histories.length,
    histories: [...histories].reverse(),
  },
  ...more,
});

type Issue = ReturnType<typeof issueOf>;

/** What an endpoint answers; undefined where the site has no such endpoint. */
const answerOf = (site: PlainJira, issues: readonly Issue[], url: URL, asked: Asked): unknown => {
  const { pathname, searchParams } = url;
  const listed = site.lists?.[pathname];
  const version = /^\/rest\/api\/([23])\//.exec(pathname)?.[1];
  const isServer = version === '2';
  const path = pathname.replace(/^\/rest\/api\/[23]/, '').replace(/^\/rest\/agile\/1\.0/, '/agile');
  const startAt = Number(searchParams.get('startAt') ?? 0);
  const page = (values: readonly unknown[], name = 'values') => ({
    startAt,
    maxResults: 50,
    total: values.length,
    isLast: startAt + 50 >= values.length,
    [name]: values.slice(startAt, startAt + 50),
  });
  const bare = (values: readonly unknown[]) => values.slice(startAt, startAt + 1000);
  const body = asked.body === '' ? {} : (JSON.parse(asked.body) as Members);
  const search = (): readonly Issue[] => {
    const jql = String(body.jql ?? searchParams.get('jql') ?? '');
    const fields = (body.fields ?? searchParams.get('fields')?.split(',') ?? ['*all']) as readonly string[];
    return issues.filter((one) => matches(one, jql)).map((one) => shown(one, fields));
  };
  if (listed !== undefined)
    return path.endsWith('/search') && !path.startsWith('/user') ? page(listed) : listed;
  switch (path) {
    case '/myself':
      return { ...(isServer ? namedPerson : person), emailAddress: 'ada@example.test', timeZone: 'Etc/UTC' };
    case '/serverInfo':
      return { baseUrl: url.origin, version: '1001.0.0', deploymentType: isServer ? 'Server' : 'Cloud' };
    case '/field':
      return [...system, ...(site.fields ?? [])];
    case '/project':
      return isServer ? [project] : undefined;
    case '/field/search':
      return isServer ? undefined : page([...system, ...(site.fields ?? [])]);
    case '/project/search':
      return isServer ? undefined : page([project]);
    case '/status':
      return statuses;
    case '/issuetype':
      return [issueType];
    case '/priority':
      return [priority];
    case '/priority/search':
      return isServer ? undefined : page([priority]);
    case '/users/search':
      return isServer ? undefined : bare([person]);
    case '/user/search':
      return bare([isServer ? namedPerson : person]);
    case '/group/bulk':
      return isServer ? undefined : page([]);
    case '/groups/picker':
      return { header: 'Showing 0 of 0 matching groups', total: 0, groups: [] };
    case '/search/jql':
      return isServer ? undefined : { issues: search(), isLast: true };
    case '/search/approximate-count':
      return isServer ? undefined : { count: search().length };
    case '/search': {
      const found = search();
      const from = Number(body.startAt ?? startAt);
      const most = Number(body.maxResults ?? 50);
      return isServer
        ? { startAt: from, maxResults: most, total: found.length, issues: found.slice(from, from + most) }
        : undefined;
    }
    case '/agile/board':
      return page(site.boards ?? []);
    default:
      return detailOf(site, issues, path, page);
  }
};

const detailOf = (
  site: PlainJira,
  issues: readonly Issue[],
  path: string,
  page: (values: readonly unknown[], name?: string) => unknown,
): unknown => {
  const [, kind, id, list] = /^\/(issue|agile\/board|agile\/sprint)\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
  if (kind === 'agile/board' && list === 'sprint')
    return page((site.sprints ?? []).filter(({ originBoardId }) => String(originBoardId) === id));
  if (kind === 'agile/sprint' && list === 'issue')
    return page(
      issues.filter((one) => isInSprint(one, String(id))),
      'issues',
    );
  const issue = kind === 'issue' ? issues.find((one) => one.id === id || one.key === id) : undefined;
  if (issue === undefined) return undefined;
  const fields: Readonly<Record<string, unknown>> = issue.fields;
  const listOf = (name: string, inside: string) =>
    page((fields[name] as Record<string, readonly unknown[]> | undefined)?.[inside] ?? [], inside);
  if (list === undefined) return issue;
  if (list === 'changelog') return page([...issue.changelog.histories].reverse());
  if (list === 'comment') return listOf('comment', 'comments');
  return list === 'worklog' ? listOf('worklog', 'worklogs') : undefined;
};

/** Sprints have numbers as ids, everything else has text. */
const isInSprint = (issue: Issue, sprint: string): boolean =>
  new RegExp(`"id":${sprint}\\b`).test(JSON.stringify(issue.fields));

const shown = (issue: Issue, fields: readonly string[]): Issue => {
  const all = fields.includes('*all');
  const kept = Object.entries(issue.fields).filter(([name]) => all || fields.includes(name));
  return { ...issue, fields: Object.fromEntries(kept) as Issue['fields'] };
};

/**
 * Bounds of `created` and `updated`, read in UTC, `id in (…)`, and `sprint = …`; whatever else a query says is taken
 * to hold.
 */
const matches = (issue: Issue, jql: string): boolean => {
  const sprint = /\bsprint\s*=\s*(\d+)/.exec(jql)?.[1];
  if (sprint !== undefined && !isInSprint(issue, sprint)) return false;
  for (const [, field, sign, literal = ''] of jql.matchAll(
    /(created|updated)\s*(>=|<=|<|>)\s*("[^"]*"|-?\d[\d-]*)/g,
  )) {
    const value = Date.parse(field === 'created' ? issue.fields.created : issue.fields.updated);
    const text = literal.replaceAll('"', '');
    const bound = /^-?\d+$/.test(text)
      ? Number(text)
      : Date.parse(`${text.replace(' ', 'T').replaceAll('/', '-')}Z`);
    const holds = { '>=': value >= bound, '<=': value <= bound, '<': value < bound, '>': value > bound }[
      sign as '<'
    ];
    if (!holds) return false;
  }
  const ids = /\b(?:id|issue|key)\s+in\s*\(([^)]*)\)/i.exec(jql)?.[1];
  return ids === undefined || ids.split(',').some((one) => [issue.id, issue.key].includes(one.trim()));
};
