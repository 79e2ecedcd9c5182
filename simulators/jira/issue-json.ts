import { type Entities, entities } from './entities.ts';
import {
  type Adf,
  type Change,
  type Comment,
  type Field,
  FLAGGED,
  type Issue,
  isShown,
  POINTS,
  SPRINT,
  type Worklog,
} from './model.ts';
import type { TrackerState } from './state.ts';
import { stampIn } from './zones.ts';

/** What of each issue is wanted. */
export interface Projection {
  /** Field names; `*all`, `*navigable` and `-name` as at the vendor. */
  readonly fields: readonly string[];
  /** With the newest entries of the changelog. */
  readonly changelog: boolean;
  /** As the agile API writes issues: text instead of documents, and its own four fields. */
  readonly agile: boolean;
  /** Only what was asked for: an issue of which only the id is wanted has nothing else. */
  readonly sparse: boolean;
}

/** How long the lists are that come inside an issue; the rest must be asked for. */
export interface EmbeddedLimits {
  readonly changelog: number;
  readonly comments: number;
  readonly worklogs: number;
}

/** Writes one issue. The bytes are those of a JSON object. */
export interface IssueWriter {
  write(issue: Issue, projection: Projection): string | Buffer;
  changes(changes: readonly Change[]): readonly string[];
  comments(issue: Issue, agile?: boolean): readonly string[];
  worklogs(issue: Issue, agile?: boolean): readonly string[];
  /** The names of the fields that a projection shows. */
  names(projection: Projection): readonly string[];
}

/** A document as plain text, as the agile API and version 2 write it. */
export const text = (node: unknown): string => {
  if (typeof node !== 'object' || node === null) return '';
  if ('text' in node && typeof node.text === 'string') return node.text;
  if ('type' in node && node.type === 'hardBreak') return '\n';
  if (!('content' in node) || !Array.isArray(node.content)) return '';
  const block =
    'type' in node && (node.type === 'doc' || node.type === 'bulletList' || node.type === 'listItem');
  return node.content.map(text).join(block ? '\n' : '');
};

const page = (name: string, items: readonly string[], limit: number): string => {
  const shown = items.slice(0, limit);
  return `{"${name}":[${shown.join(',')}],"maxResults":${limit},"total":${items.length},"startAt":0}`;
};

const hours = (seconds: number): string => {
  const h = Math.floor(seconds / 3600);
  const m = Math.floor((seconds % 3600) / 60);
  return [h > 0 ? `${h}h` : '', m > 0 || h === 0 ? `${m}m` : ''].filter((one) => one !== '').join(' ');
};

/** Texts of things that many issues show; forgotten as soon as any fact of the site changes. */
const cached = (state: TrackerState, replacer?: (key: string, value: unknown) => unknown) => {
  const known = new Map<string, string>();
  let facts = state.facts;
  return (key: string, make: () => unknown): string => {
    if (facts !== state.facts || known.size > 50_000) {
      known.clear();
      facts = state.facts;
    }
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = JSON.stringify(make() ?? null, replacer);
    known.set(key, made);
    return made;
  };
};

const hiddenFromNavigable = new Set(['comment', 'worklog', 'subtasks']);

/** What lean issues leave out of the things inside them. */
const ballast = new Set([
  'self',
  'avatarUrls',
  'iconUrl',
  'description',
  'colorName',
  'projectCategory',
  'goal',
  'accountType',
  'timeZone',
]);

/** `lean`: without links to itself, pictures, absent custom fields and the details of related issues; about a third of the size. */
export const issueWriter = (
  state: TrackerState,
  base: string,
  limits: EmbeddedLimits,
  lean = false,
): IssueWriter => {
  const en: Entities = entities(state, base);
  const once = cached(state, lean ? (key, value) => (ballast.has(key) ? undefined : value) : undefined);
  const self = (path: string): string => (lean ? '' : `"self":"${en.api}${path}",`);
  const json = JSON.stringify;
  const stamp = (at: number | null): string => (at === null ? 'null' : `"${stampIn(state.timeZone, at)}"`);
  const rich = (document: Adf | null | undefined, agile: boolean): string =>
    document === null || document === undefined ? 'null' : json(agile ? text(document) : document);
  const user = (id: string | null | undefined): string =>
    id === null || id === undefined ? 'null' : once(`u${id}`, () => en.userOf(id));
  const oneOf = <T>(
    kind: string,
    list: ReadonlyMap<string, T>,
    id: string | null,
    write: (one: T) => unknown,
  ): string => {
    if (id === null) return 'null';
    return once(kind + id, () => {
      const one = list.get(id);
      return one === undefined ? undefined : write(one);
    });
  };
  const status = (issue: Issue): string => oneOf('s', state.statuses, issue.statusId, en.status);
  const issueType = (issue: Issue): string => oneOf('t', state.issueTypes, issue.typeId, en.issueType);
  const priority = (issue: Issue): string => oneOf('p', state.priorities, issue.priorityId, en.priority);
  const keyOf = (issue: Issue): string => `${state.projects.get(issue.projectId)?.key ?? ''}-${issue.number}`;

  /** Another issue as it is shown inside this one. */
  const brief = (id: string): string => {
    const position = state.store.find(id);
    if (position === undefined || !state.store.isLive(position)) return 'null';
    return once(`i${id}`, () => {
      if (lean) return { id, key: state.store.keyOf(position) };
      const other = state.store.at(position);
      const parse = (part: string): unknown => JSON.parse(part);
      return {
        id,
        key: keyOf(other),
        self: `${en.api}/issue/${id}`,
        fields: {
          summary: other.summary,
          status: parse(status(other)),
          priority: parse(priority(other)),
          issuetype: parse(issueType(other)),
        },
      };
    });
  };
  const links = (issue: Issue): string => {
    const written = issue.links.flatMap((link) => {
      const other = brief(link.otherId);
      const kind = state.linkTypes.get(link.typeId);
      if (other === 'null' || kind === undefined) return [];
      const type = {
        id: kind.id,
        name: kind.name,
        inward: kind.inward,
        outward: kind.outward,
        self: `${en.api}/issueLinkType/${kind.id}`,
      };
      return [
        `{"id":"${link.id}",${self(`/issueLink/${link.id}`)}"type":${json(type)},"${link.direction}Issue":${other}}`,
      ];
    });
    return `[${written.join(',')}]`;
  };

  const changes = (list: readonly Change[]): readonly string[] =>
    list.map((one) => {
      const author = one.authorId === undefined ? '' : `"author":${user(one.authorId)},`;
      return `{"id":"${one.id}",${author}"created":${stamp(one.at)},"items":${json(one.items)}}`;
    });
  const comment = (one: Comment, issue: Issue, agile: boolean): string =>
    `{${self(`/issue/${issue.id}/comment/${one.id}`)}"id":"${one.id}","author":${user(one.authorId)},"body":${rich(one.body, agile)},"updateAuthor":${user(one.updateAuthorId)},"created":${stamp(one.created)},"updated":${stamp(one.updated)},"jsdPublic":true}`;
  const worklog = (one: Worklog, issue: Issue, agile: boolean): string => {
    const said = one.comment === undefined ? '' : `"comment":${rich(one.comment, agile)},`;
    const { type, value, identifier } = one.visibility ?? {};
    const limited = one.visibility ? `"visibility":${json({ type, value, identifier })},` : '';
    return `{${self(`/issue/${issue.id}/worklog/${one.id}`)}"author":${user(one.authorId)},"updateAuthor":${user(one.updateAuthorId)},${said}${limited}"created":${stamp(one.created)},"updated":${stamp(one.updated)},"started":${stamp(one.started)},"timeSpent":"${hours(one.seconds)}","timeSpentSeconds":${one.seconds},"id":"${one.id}","issueId":"${issue.id}"}`;
  };
  const comments = (issue: Issue, agile = false): readonly string[] =>
    issue.comments.map((one) => comment(one, issue, agile));
  const worklogs = (issue: Issue, agile = false): readonly string[] =>
    issue.worklogs.filter(isShown).map((one) => worklog(one, issue, agile));

  const spent = (issue: Issue): number => issue.worklogs.reduce((all, one) => all + one.seconds, 0);
  const tracking = (issue: Issue): string => {
    const seconds = spent(issue);
    return json({
      ...(issue.originalSeconds === null
        ? {}
        : { originalEstimate: hours(issue.originalSeconds), originalEstimateSeconds: issue.originalSeconds }),
      ...(issue.remainingSeconds === null
        ? {}
        : {
            remainingEstimate: hours(issue.remainingSeconds),
            remainingEstimateSeconds: issue.remainingSeconds,
          }),
      ...(seconds === 0 ? {} : { timeSpent: hours(seconds), timeSpentSeconds: seconds }),
    });
  };
  const parts = (issue: Issue, kind: 'components' | 'versions', ids: readonly string[]): string => {
    const project = state.projects.get(issue.projectId);
    const written = ids.map((id) =>
      once(kind + id, () => {
        if (kind === 'components') {
          const found = project?.components.find((one) => one.id === id);
          return found === undefined ? { id, name: id } : en.component(found);
        }
        const found = project?.versions.find((one) => one.id === id);
        return found === undefined ? { id, name: id } : en.version(found);
      }),
    );
    return `[${written.join(',')}]`;
  };

  type Write = (issue: Issue, agile: boolean) => string;
  const agileSprint = (id: number): string =>
    once(`as${id}`, () => {
      const one = state.sprints.get(id);
      return one === undefined ? undefined : en.sprint(one);
    });
  const system: Readonly<Record<string, Write>> = {
    summary: (issue) => json(issue.summary),
    description: (issue, agile) => rich(issue.description, agile),
    issuetype: issueType,
    project: (issue) => oneOf('P', state.projects, issue.projectId, en.project),
    status,
    statuscategorychangedate: (issue) => {
      const last = issue.history.findLast((one) => one.items.some((item) => item.fieldId === 'status'));
      return stamp(last?.at ?? issue.created);
    },
    priority,
    resolution: (issue) => oneOf('r', state.resolutions, issue.resolutionId, en.resolution),
    resolutiondate: (issue) => stamp(issue.resolved),
    assignee: (issue) => user(issue.assigneeId),
    reporter: (issue) => user(issue.reporterId),
    creator: (issue) => user(issue.creatorId),
    created: (issue) => stamp(issue.created),
    updated: (issue) => stamp(issue.updated),
    duedate: (issue) => json(issue.due),
    labels: (issue) => json(issue.labels),
    components: (issue) => parts(issue, 'components', issue.componentIds),
    fixVersions: (issue) => parts(issue, 'versions', issue.fixVersionIds),
    versions: () => '[]',
    issuelinks: links,
    parent: (issue) => (issue.parentId === null ? 'null' : brief(issue.parentId)),
    subtasks: () => '[]',
    timeoriginalestimate: (issue) => String(issue.originalSeconds),
    timeestimate: (issue) => String(issue.remainingSeconds),
    timespent: (issue) => String(spent(issue) || null),
    timetracking: tracking,
    comment: (issue, agile) => page('comments', comments(issue, agile), limits.comments),
    worklog: (issue, agile) => page('worklogs', worklogs(issue, agile), limits.worklogs),
    votes: (issue) => `{"self":"${en.api}/issue/${issue.id}/votes","votes":0,"hasVoted":false}`,
    watches: (issue) => `{"self":"${en.api}/issue/${issue.id}/watchers","watchCount":1,"isWatching":false}`,
    workratio: () => '-1',
    environment: () => 'null',
    [POINTS]: (issue) => json(issue.storyPoints),
    [SPRINT]: (issue) => {
      const written = issue.sprintIds
        .filter((id) => state.sprints.has(id))
        .map((id) =>
          once(`sp${id}`, () => {
            const one = state.sprints.get(id);
            return one === undefined ? undefined : en.sprintValue(one);
          }),
        );
      return written.length === 0 ? 'null' : `[${written.join(',')}]`;
    },
  };
  const agileOnly: Readonly<Record<string, Write>> = {
    sprint: (issue) => {
      const open = issue.sprintIds.findLast(
        (id) => state.sprints.has(id) && state.sprints.get(id)?.state !== 'closed',
      );
      return open === undefined ? 'null' : agileSprint(open);
    },
    closedSprints: (issue) =>
      `[${issue.sprintIds
        .filter((id) => state.sprints.get(id)?.state === 'closed')
        .map(agileSprint)
        .join(',')}]`,
    epic: (issue) => (issue.parentId === null ? 'null' : brief(issue.parentId)),
    flagged: (issue) => String(issue.custom[FLAGGED] !== undefined),
  };
  const withSelf = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && 'id' in value
      ? {
          ...(lean ? {} : { self: `${en.api}/customFieldOption/${String(value.id)}` }),
          ...value,
          ...('child' in value ? { child: withSelf(value.child) } : {}),
        }
      : value;
  const customWriter = (field: Field): Write => {
    const { type, items } = field.schema;
    return (issue) => {
      const value = issue.custom[field.id];
      if (value === undefined || value === null) return 'null';
      if (type === 'user' && typeof value === 'string') return user(value);
      if (items === 'user' && Array.isArray(value))
        return `[${value.map((one) => user(String(one))).join(',')}]`;
      if (type === 'datetime' && typeof value === 'number') return stamp(value);
      if (items === 'option' && Array.isArray(value)) return json(value.map(withSelf));
      return json(type === 'option' || type === 'option-with-child' ? withSelf(value) : value);
    };
  };
  const writerOf = (name: string, agile: boolean): Write | undefined => {
    if (Object.hasOwn(system, name)) return system[name];
    if (agile && Object.hasOwn(agileOnly, name)) return agileOnly[name];
    const field = state.fields.get(name);
    return field === undefined ? undefined : customWriter(field);
  };

  const names = ({ fields, agile }: Projection): readonly string[] => {
    const shown = new Set<string>();
    const all = [...state.fields.keys(), ...(agile ? Object.keys(agileOnly) : [])];
    const onlyLess = fields.length > 0 && fields.every((one) => one.startsWith('-'));
    for (const name of onlyLess ? ['*navigable', ...fields] : fields) {
      if (name === '*all') for (const one of all) shown.add(one);
      else if (name === '*navigable')
        for (const one of all) if (!hiddenFromNavigable.has(one)) shown.add(one);
      if (name.startsWith('-')) shown.delete(name.slice(1));
      else if (!name.startsWith('*')) shown.add(name);
    }
    return [...shown];
  };

  /** The writers of a projection, worked out once while the site's fields stay as they are. */
  const writers = new Map<string, readonly (readonly [name: string, write: Write | undefined])[]>();
  let factsOfWriters = state.facts;
  const writersOf = (
    projection: Projection,
  ): readonly (readonly [name: string, write: Write | undefined])[] => {
    if (factsOfWriters !== state.facts) {
      writers.clear();
      factsOfWriters = state.facts;
    }
    const id = `${projection.agile}:${projection.fields.join(',')}`;
    const known = writers.get(id);
    if (known !== undefined) return known;
    const made = names(projection).map((name) => [name, writerOf(name, projection.agile)] as const);
    writers.set(id, made);
    return made;
  };

  const write = (issue: Issue, projection: Projection): string | Buffer => {
    const { raw } = issue;
    const whole = raw?.get('issue');
    if (whole !== undefined) return whole;
    const pieces: (string | Buffer)[] = [];
    let line = '{';
    const member = (name: string, value: string | Buffer): void => {
      const comma = line.endsWith('{') ? '' : ',';
      if (typeof value === 'string') {
        line += `${comma}"${name}":${value}`;
        return;
      }
      pieces.push(`${line}${comma}"${name}":`, value);
      line = '';
    };
    const own = (name: string, value: string): string | Buffer => raw?.get(`issue.${name}`) ?? value;
    const wanted = writersOf(projection);
    const idOnly = projection.sparse && wanted.every(([name]) => name === 'id');
    if (!idOnly && !lean)
      member('expand', '"operations,versionedRepresentations,editmeta,changelog,renderedFields"');
    member('id', own('id', `"${issue.id}"`));
    if (idOnly && !projection.changelog) return finish();
    member('self', own('self', `"${en.api}/issue/${issue.id}"`));
    member('key', own('key', json(keyOf(issue))));
    const bare = projection.sparse && wanted.every(([name]) => name === 'id' || name === 'key');
    if (!bare) {
      line += ',"fields":{';
      for (const [name, writeField] of wanted) {
        const exact = raw?.get(name);
        if (exact !== undefined) member(name, exact);
        else if (writeField !== undefined) {
          const value = writeField(issue, projection.agile);
          if (!lean || value !== 'null' || !name.startsWith('customfield_')) member(name, value);
        }
      }
      if (raw !== undefined && projection.fields.includes('*all')) {
        const shown = new Set(wanted.map(([name]) => name));
        for (const [name, exact] of raw)
          if (!shown.has(name) && !name.startsWith('issue.')) member(name, exact);
      }
      line += '}';
    }
    if (projection.changelog) {
      const newest = issue.history.slice(-limits.changelog).reverse();
      line += `,"changelog":{"startAt":0,"maxResults":${newest.length},"total":${issue.history.length},"histories":[${changes(newest).join(',')}]}`;
    }
    return finish();

    function finish(): string | Buffer {
      line += '}';
      if (pieces.length === 0) return line;
      return Buffer.concat(
        [...pieces, line].map((one) => (typeof one === 'string' ? Buffer.from(one) : one)),
      );
    }
  };
  return { write, changes, comments, worklogs, names };
};
