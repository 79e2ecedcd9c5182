import { text } from '../../simulators/jira/issue-json.ts';
import type { Comment, Group, Issue, Worklog } from '../../simulators/jira/model.ts';
import { POINTS, SPRINT } from '../../simulators/jira/model.ts';
import type { Oracle, OracleIssue } from '../../simulators/jira/oracle.ts';
import type { Rig } from './rig.ts';

/** What a comparison must leave out. */
export interface Comparison {
  /** The tracker has the contract's seven endpoints only: no vocabulary, no groups, no history, no sprints of boards, no rest of long lists. */
  readonly bare?: boolean;
  /** The tracker is a Jira Data Center: people and groups without types and ids, text instead of documents, epics by links. */
  readonly server?: boolean;
  /** No reconciliation was made yet: rows of deleted issues may still be live. */
  readonly deletedMayLive?: boolean;
  /** Only issues and what comes with them are compared. */
  readonly issuesOnly?: boolean;
  /** Ids of issues that are not compared, nor what hangs on them. */
  readonly except?: readonly string[];
  /** Only rows of this source, by its name in `ops.sources`: the warehouse has several. */
  readonly source?: string;
}

/** The two sides of a comparison: a rig is one, and so are a truth that was taken down earlier and a warehouse by itself. */
export interface Sides {
  readonly tracker: Pick<Rig['tracker'], 'oracle'>;
  readonly rows: Rig['rows'];
}

type Cells = Readonly<Record<string, unknown>>;

/** The rows that a table should have. */
interface Compared {
  readonly key: readonly string[];
  readonly rows: readonly Cells[];
  /** Rows of the warehouse that are looked at; default: all live ones. */
  readonly where?: string;
  /** Rows that the warehouse may have besides. */
  readonly alsoFine?: ((row: Cells) => boolean) | undefined;
}

const ofIssues = /^(issues|issue_(?!types).*|comments|worklogs)$/;

/**
 * Compares the live rows of every table of the tracker with the simulator's truth, cell by cell; instants to the microsecond. Gives one
 * line a difference; none means equal. Columns the truth does not know (texts made of documents, bookkeeping) are not looked at, nor what
 * an issue says of other issues' keys and names (it is as old as the issue's last change) or of links to deleted ones.
 */
export async function differences(rig: Sides, how: Comparison = {}): Promise<readonly string[]> {
  const tables = Object.entries(expectations(rig.tracker.oracle(), how)).filter(
    ([table]) => how.issuesOnly !== true || ofIssues.test(table),
  );
  const ofSource =
    how.source === undefined
      ? ''
      : ` and source_id = (select source_id from ops.sources where name = '${how.source}')`;
  const selects = tables.map(
    ([table, { where = 'true' }]) =>
      `select '${table}' as name, to_jsonb(t)::text as row from tracker.${table} t where (${where})${ofSource}`,
  );
  const stored = Map.groupBy(
    await rig.rows<{ name: string; row: string }>(selects.join(' union all ')),
    ({ name }) => name,
  );
  return tables.flatMap(([table, compared]) => {
    const rows = (stored.get(table) ?? []).map(({ row }) => JSON.parse(row) as Cells);
    return wrongIn(
      compared,
      rows.filter((row) => (row._deleted_at ?? null) === null),
    ).map((line) => `${table} ${line}`);
  });
}

function wrongIn({ key, rows, alsoFine }: Compared, stored: readonly Cells[]): readonly string[] {
  const keyOf = (row: Cells): string => key.map((name) => String(row[name])).join('/');
  const actual = new Map(stored.map((row) => [keyOf(row), { ...row, custom_field_ids: customIds(row) }]));
  const expected = new Map(rows.map((row) => [keyOf(row), row]));
  const missing = [...expected].flatMap(([name, row]) => {
    const found: Cells | undefined = actual.get(name);
    if (found === undefined) return [`${name}: missing`];
    return Object.entries(row).flatMap(([column, value]) => {
      const is = canonical(found[column]);
      const should = canonical(value);
      return is === should ? [] : [`${name}: ${column} is ${is}, should be ${should}`];
    });
  });
  const more = [...actual].filter(([name, row]) => !expected.has(name) && alsoFine?.(row) !== true);
  return [...missing, ...more.map(([name]) => `${name}: should not be there`)];
}

/** The differences of issues and of what comes with them. */
export const issueDifferences = (rig: Sides, how: Comparison = {}): Promise<readonly string[]> =>
  differences(rig, { ...how, issuesOnly: true });

const customIds = ({ custom_fields: fields }: Cells): readonly string[] | null =>
  typeof fields === 'object' && fields !== null ? Object.keys(fields).sort() : null;

/** JSON with sorted keys: equal exactly for equal values. */
const canonical = (value: unknown): string =>
  JSON.stringify(value ?? null, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

/** An instant as Postgres writes it in JSON, session in UTC. */
const instant = (at: number | null | undefined): string | null =>
  at === null || at === undefined ? null : new Date(at).toISOString().replace(/\.?0*Z$/, '+00:00');

const number = (id: string | null): number | null => (id === null ? null : Number(id));

const category = { new: 'todo', indeterminate: 'in_progress', done: 'done' } as const;

/** Each table by its name. */
const expectations = (truth: Oracle, how: Comparison): Readonly<Record<string, Compared>> => {
  const except = new Set(how.except);
  const all = [...truth.issues.values()];
  const left = all.filter((issue) => !issue.visible || except.has(issue.id));
  const gone = all.filter((issue) => issue.visible && issue.deleted);
  const issues = all.filter((issue) => issue.visible && !issue.deleted && !except.has(issue.id));
  return {
    ...vocabulary(truth, issues, how),
    ...planning(truth, issues, left, how.bare === true),
    issues: {
      key: ['id'],
      rows: issues.map((issue) => issueCells(truth, issue, how)),
      where: noneOf('id', left),
      alsoFine: how.deletedMayLive ? (row) => truth.issues.get(String(row.id))?.deleted === true : undefined,
    },
    // What hangs on issues that are not compared is not compared; of deleted issues only the issue itself is.
    ...childTables(truth, issues, [...left, ...gone], gone),
    ...lists(truth, issues, [...left, ...gone], how),
  };
};

const noneOf = (column: string, issues: readonly { readonly id: string }[]): string =>
  issues.length === 0 ? 'true' : `${column} not in (${issues.map(({ id }) => id).join(', ')})`;

/** Projects, people and the words for states. Without lists of them those words are known that issues use or used. */
function vocabulary(
  truth: Oracle,
  issues: readonly OracleIssue[],
  { bare = false, server = false }: Comparison,
) {
  const hidden = new Set(truth.projects.filter((one) => one.hidden).map(({ id }) => Number(id)));
  const words = <T extends { readonly id: string; readonly name: string }>(
    all: readonly T[],
    of: (issue: Issue) => string,
    more: (one: T) => Cells,
  ): Compared => {
    const used = new Set(issues.map(of));
    const shown = bare ? all.filter(({ id }) => used.has(id)) : all;
    return {
      key: ['id'],
      rows: shown.map((one) => ({ id: Number(one.id), name: one.name, ...more(one) })),
      alsoFine: bare ? (row) => all.some(({ id }) => Number(id) === row.id) : undefined,
    };
  };
  const groups = bare ? [] : truth.groups;
  const groupId = (one: Group): string => (server ? one.name : one.groupId);
  return {
    projects: {
      key: ['id'],
      rows: truth.projects
        .filter((one) => !one.hidden)
        .map(({ id, key, name, description, typeKey, style, category, leadId, archived }) => ({
          id: Number(id),
          key,
          name,
          description,
          type: typeKey,
          style: server ? null : style,
          category,
          lead_user_id: leadId,
          archived,
        })),
      alsoFine: (row: Cells) => hidden.has(Number(row.id)),
    },
    fields: {
      key: ['id'],
      rows: truth.fields.map(({ id, name, custom, schema: { type, items, custom: kind } }) => ({
        id,
        name,
        custom,
        schema_type: type,
        items_type: items,
        schema_custom: kind,
      })),
    },
    users: {
      key: ['id'],
      rows: truth.users.map(({ accountId, displayName, email, active, timeZone, accountType }) => ({
        id: accountId,
        display_name: displayName,
        email,
        active,
        time_zone: timeZone,
        account_type: server ? null : accountType,
      })),
    },
    groups: { key: ['id'], rows: groups.map((one) => ({ id: groupId(one), name: one.name })) },
    group_members: {
      key: ['group_id', 'user_id'],
      rows: groups.flatMap((one) => one.members.map((user_id) => ({ group_id: groupId(one), user_id }))),
    },
    statuses: words(
      truth.statuses,
      (issue) => issue.statusId,
      (one) => ({ category: category[one.category] }),
    ),
    issue_types: words(
      truth.issueTypes,
      (issue) => issue.typeId,
      ({ hierarchyLevel: level }) => ({
        subtask: level === -1,
        hierarchy_level: bare || server ? null : level,
      }),
    ),
    priorities: words(
      truth.priorities,
      (issue) => issue.priorityId,
      (one) => ({ rank: bare ? null : truth.priorities.indexOf(one) + 1 }),
    ),
  };
}

/** Boards and sprints. Without lists of sprints those are known that issues are or were in. */
function planning(
  truth: Oracle,
  issues: readonly OracleIssue[],
  left: readonly OracleIssue[],
  bare: boolean,
) {
  const hidden = new Set(truth.projects.filter((one) => one.hidden).map(({ id }) => id));
  const boards = truth.boards.filter(({ projectId }) => !hidden.has(projectId));
  const compared = new Set(issues.map(({ id }) => id));
  const used = new Set(truth.sprintIssues.map(({ sprintId }) => sprintId));
  const sprints = truth.sprints.filter(({ id }) => !bare || used.has(id));
  const pairs = bare ? sprints.map(({ id, boardId }) => ({ sprintId: id, boardId })) : truth.boardSprints;
  const isSprint = (id: unknown): boolean => bare && truth.sprints.some((one) => one.id === id);
  return {
    boards: {
      key: ['id'],
      rows: boards.map(({ id, name, type, projectId }) => ({
        id,
        name,
        type,
        project_id: Number(projectId),
      })),
      alsoFine: (row: Cells) => truth.boards.some(({ id }) => id === row.id),
    },
    sprints: {
      key: ['id'],
      rows: sprints.map(({ id, name, state, boardId, goal, start, end, complete }) => ({
        id,
        name,
        state,
        board_id: boardId,
        start_at: instant(start),
        end_at: instant(end),
        completed_at: instant(complete),
        ...(!bare && { goal: goal === '' ? null : goal }),
      })),
      alsoFine: (row: Cells) => isSprint(row.id),
    },
    board_sprints: {
      key: ['board_id', 'sprint_id'],
      rows: pairs.map(({ boardId, sprintId }) => ({ board_id: boardId, sprint_id: sprintId })),
      alsoFine: (row: Cells) => isSprint(row.sprint_id),
    },
    sprint_issues: {
      key: ['sprint_id', 'issue_id'],
      rows: truth.sprintIssues
        .filter(({ issueId }) => compared.has(issueId))
        .map(({ sprintId, issueId }) => ({ sprint_id: sprintId, issue_id: Number(issueId) })),
      where: noneOf('issue_id', left),
    },
  };
}

/** A row for each thing of each issue, with the issue's id. */
const each = <T>(
  issues: readonly OracleIssue[],
  list: (issue: OracleIssue) => readonly T[],
  row: (one: T, issue: OracleIssue) => Cells,
): readonly Cells[] =>
  issues.flatMap((issue) => list(issue).map((one) => ({ issue_id: Number(issue.id), ...row(one, issue) })));

function childTables(
  truth: Oracle,
  issues: readonly OracleIssue[],
  ignored: readonly OracleIssue[],
  gone: readonly OracleIssue[],
) {
  const projects = new Map(truth.projects.map((project) => [project.id, project]));
  const where = noneOf('issue_id', ignored);
  return {
    issue_labels: {
      key: ['issue_id', 'label'],
      rows: each(
        issues,
        ({ labels }) => [...new Set(labels)],
        (label) => ({ label }),
      ),
      where,
    },
    issue_components: {
      key: ['issue_id', 'component_id'],
      rows: each(
        issues,
        ({ componentIds }) => componentIds,
        (id, { projectId }) => {
          const name = projects.get(projectId)?.components.find((one) => one.id === id)?.name ?? id;
          return { component_id: Number(id), name };
        },
      ),
      where,
    },
    issue_versions: {
      key: ['issue_id', 'kind', 'version_id'],
      rows: each(
        issues,
        ({ fixVersionIds }) => fixVersionIds,
        (id, { projectId }) => {
          const version = projects.get(projectId)?.versions.find((one) => one.id === id);
          const { name = id, released, archived, releaseDate } = version ?? {};
          return { kind: 'fix', version_id: Number(id), name, released, archived, release_date: releaseDate };
        },
      ),
      where,
    },
    issue_links: {
      key: ['issue_id', 'link_id', 'direction'],
      rows: each(
        issues,
        ({ links }) => links.filter(({ otherId }) => truth.issues.get(otherId)?.deleted === false),
        ({ id, direction, typeId, otherId }) => ({
          link_id: Number(id),
          direction,
          type_id: Number(typeId),
          other_issue_id: Number(otherId),
        }),
      ),
      where: `${where} and ${noneOf('other_issue_id', gone)}`,
    },
    issue_sprints: {
      key: ['issue_id', 'sprint_id'],
      rows: each(
        issues,
        ({ sprintIds }) => [...new Set(sprintIds)],
        (sprint_id) => ({ sprint_id }),
      ),
      where,
    },
  };
}

/** What grows with the life of an issue. A bare tracker shows no history, and twenty of a long list. */
function lists(
  truth: Oracle,
  issues: readonly OracleIssue[],
  ignored: readonly OracleIssue[],
  { bare = false, server = false }: Comparison,
) {
  const where = noneOf('issue_id', ignored);
  const whole = (of: (issue: Issue) => readonly unknown[]) => {
    const cut = issues.filter((issue) => bare && of(issue).length > 20);
    const complete = issues.filter((issue) => !bare || of(issue).length <= 20);
    return { complete, where: noneOf('issue_id', [...ignored, ...cut]) };
  };
  const comments = whole((issue) => issue.comments);
  const worklogs = whole((issue) => issue.worklogs);
  const authored = (one: Comment | Worklog): Cells => ({
    id: Number(one.id),
    author_id: one.authorId,
    update_author_id: one.updateAuthorId,
    created_at: instant(one.created),
    updated_at: instant(one.updated),
  });
  return {
    issue_changelog: {
      key: ['history_id', 'item'],
      rows: each(
        bare ? [] : issues,
        ({ history }) =>
          history.flatMap((change) => change.items.map((item, place) => ({ ...change, item, place }))),
        ({ id, place, at, authorId, item }) => ({
          history_id: Number(id),
          item: place,
          changed_at: instant(at),
          author_id: authorId,
          field_id: item.fieldId,
          field_name: item.field,
          from_id: item.from,
          from_text: item.fromString,
          to_id: item.to,
          to_text: item.toString,
        }),
      ),
      where,
    },
    comments: {
      key: ['id'],
      rows: each(
        comments.complete,
        (issue) => issue.comments,
        (one) => ({
          ...authored(one),
          ...(server ? { body: text(one.body), body_adf: null } : { body_adf: one.body, is_public: true }),
        }),
      ),
      where: comments.where,
    },
    worklogs: {
      key: ['id'],
      rows: each(
        worklogs.complete,
        (issue) => issue.worklogs,
        (one) => ({
          ...authored(one),
          started_at: instant(one.started),
          time_spent_seconds: one.seconds,
          comment_adf: server ? null : one.comment,
        }),
      ),
      where: worklogs.where,
    },
    issue_keys: {
      key: ['key', 'issue_id'],
      rows: each(
        issues,
        ({ key, oldKeys }) => [...new Set(bare ? [key] : [key, ...oldKeys])],
        (key) => ({ key }),
      ),
      where,
      // Without a changelog the former keys are those that were met.
      alsoFine: (row: Cells) =>
        bare && truth.issues.get(String(row.issue_id))?.oldKeys.includes(String(row.key)) === true,
    },
  };
}

const resolutions: Readonly<Record<string, string>> = {
  10300: 'Done',
  10301: "Won't Do",
  10302: 'Duplicate',
};

function issueCells(truth: Oracle, issue: OracleIssue, { server = false }: Comparison): Cells {
  const parent = issue.parentId === null ? undefined : truth.issues.get(issue.parentId);
  const project = truth.projects.find((one) => one.id === issue.projectId);
  const level = truth.issueTypes.find((one) => one.id === parent?.typeId)?.hierarchyLevel;
  const lastStatus = issue.history.findLast((change) =>
    change.items.some((item) => item.fieldId === 'status'),
  );
  const named = (
    ids: readonly string[],
    list: readonly { readonly id: string; readonly name: string }[] = [],
  ) => ids.map((id) => list.find((one) => one.id === id)?.name ?? id);
  const type = truth.issueTypes.find((one) => one.id === issue.typeId);
  return {
    id: Number(issue.id),
    key: issue.key,
    project_id: Number(issue.projectId),
    summary: issue.summary,
    issue_type_id: Number(issue.typeId),
    issue_type: type?.name,
    is_subtask: type?.hierarchyLevel === -1,
    status_id: Number(issue.statusId),
    status_category: category[truth.statuses.find((one) => one.id === issue.statusId)?.category ?? 'new'],
    status_category_changed_at: server ? null : instant(lastStatus?.at ?? issue.created),
    priority_id: Number(issue.priorityId),
    priority: truth.priorities.find((one) => one.id === issue.priorityId)?.name,
    resolution_id: number(issue.resolutionId),
    resolution: issue.resolutionId === null ? null : resolutions[issue.resolutionId],
    // A parent that was deleted vanishes without its children being changed.
    ...(parent?.deleted !== true && {
      ...(server
        ? {
            parent_id: level === 0 ? number(issue.parentId) : null,
            epic_key: level === 1 ? parent?.key : null,
          }
        : { parent_id: number(issue.parentId), epic_id: level === 1 ? number(issue.parentId) : null }),
    }),
    assignee_id: issue.assigneeId,
    reporter_id: issue.reporterId,
    creator_id: issue.creatorId,
    ...(server
      ? { description: issue.description && text(issue.description), description_adf: null }
      : { description_adf: issue.description }),
    labels: issue.labels,
    due_date: issue.due,
    components: named(issue.componentIds, project?.components),
    fix_versions: named(issue.fixVersionIds, project?.versions),
    affects_versions: [],
    created_at: instant(issue.created),
    updated_at: instant(issue.updated),
    resolved_at: instant(issue.resolved),
    story_points: issue.storyPoints,
    votes: 0,
    watchers: 1,
    original_estimate_seconds: issue.originalSeconds,
    remaining_estimate_seconds: issue.remainingSeconds,
    time_spent_seconds: issue.spentSeconds === 0 ? null : issue.spentSeconds,
    ...customCells(issue),
  };
}

/** Which custom fields are set. */
const customCells = (issue: Issue): Cells => {
  const set = Object.entries(issue.custom).flatMap(([id, value]) =>
    value === null || value === undefined ? [] : [id],
  );
  if (issue.storyPoints !== null) set.push(POINTS);
  if (issue.sprintIds.length > 0) set.push(SPRINT);
  return { custom_field_ids: set.sort() };
};

/** One digest a table over every row and column, bookkeeping included: equal exactly when nothing was written. */
export async function fingerprint(rig: Rig): Promise<Readonly<Record<string, string>>> {
  const tables = await rig.rows<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'tracker' and table_type = 'BASE TABLE' order by 1",
  );
  const digests = tables.map(
    ({ name }) => `select '${name}' as name,
      coalesce(md5(string_agg(to_jsonb(t)::text, ',' order by to_jsonb(t)::text)), '') as digest from tracker.${name} t`,
  );
  const rows = await rig.rows<{ name: string; digest: string }>(digests.join(' union all '));
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
}
