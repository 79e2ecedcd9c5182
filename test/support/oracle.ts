import type { ChangeItem, Issue } from '../../simulators/jira/model.ts';
import { POINTS, SPRINT } from '../../simulators/jira/model.ts';
import type { Oracle, OracleIssue } from '../../simulators/jira/oracle.ts';
import type { Rig } from './rig.ts';

/** What a comparison must leave out. */
export interface Comparison {
  /** The tracker has the contract's seven endpoints only: no vocabulary, no groups, no history, no sprints of boards, no tails of lists. */
  readonly bare?: boolean;
  /** No reconciliation was made yet: rows of deleted issues may still be live. */
  readonly deletedMayLive?: boolean;
  /** Only issues and what comes with them are compared. */
  readonly issuesOnly?: boolean;
  /** Ids of issues that are not compared, nor what hangs on them. */
  readonly except?: readonly string[];
}

/** The two sides of a comparison: a rig is one, and so are a truth that was taken down earlier and a warehouse by itself. */
export interface Sides {
  readonly tracker: Pick<Rig['tracker'], 'oracle'>;
  readonly rows: Rig['rows'];
}

type Cells = Readonly<Record<string, unknown>>;

interface Compared {
  readonly table: string;
  readonly key: readonly string[];
  readonly rows: readonly Cells[];
  /** Rows of the warehouse that are looked at; default: all live ones. */
  readonly where?: string;
  /** Rows that the warehouse may have besides. */
  readonly alsoFine?: (row: Cells) => boolean;
}

/**
 * Compares the live rows of every table of the tracker with the simulator's truth, cell by cell; instants to the microsecond. Gives one
 * line a difference; none means equal. Columns the truth does not know (texts made of documents, bookkeeping) are not looked at, nor what
 * an issue says of other issues' keys and names (it is as old as the issue's last change) or of links to deleted ones.
 */
export async function differences(rig: Sides, how: Comparison = {}): Promise<readonly string[]> {
  const found: string[] = [];
  for (const compared of expectations(rig.tracker.oracle(), how)) {
    const { table, key, where = '' } = compared;
    if (how.issuesOnly === true && !/^(issues|issue_(?!types).*|comments|worklogs)$/.test(table)) continue;
    const [{ tombstones = false } = {}] = await rig.rows<{ tombstones: boolean }>(
      `select exists (select from pg_attribute where attrelid = format('tracker.%I', $1::text)::regclass
         and attname = '_deleted_at') as tombstones`,
      [table],
    );
    const conditions = [tombstones ? '_deleted_at is null' : 'true', where === '' ? 'true' : where].join(
      ' and ',
    );
    const stored = await rig.rows<{ row: string }>(
      `select to_jsonb(t)::text as row from tracker.${table} t where ${conditions}`,
    );
    const actual = new Map(stored.map(({ row }) => rowOf(row, key)));
    const expected = new Map(compared.rows.map((row) => [keyOf(row, key), row]));
    for (const [name, row] of expected) {
      const there = actual.get(name);
      if (there === undefined) found.push(`${table} ${name}: missing`);
      else
        for (const [column, value] of Object.entries(row))
          if (canonical(there[column]) !== canonical(value))
            found.push(
              `${table} ${name}: ${column} is ${canonical(there[column])}, should be ${canonical(value)}`,
            );
    }
    for (const [name, row] of actual)
      if (!expected.has(name) && compared.alsoFine?.(row) !== true)
        found.push(`${table} ${name}: should not be there`);
  }
  return found;
}

/** The differences of issues and of what comes with them. */
export const issueDifferences = (rig: Sides, how: Comparison = {}): Promise<readonly string[]> =>
  differences(rig, { ...how, issuesOnly: true });

const keyOf = (row: Cells, key: readonly string[]): string => key.map((name) => String(row[name])).join('/');

const rowOf = (text: string, key: readonly string[]): [string, Cells] => {
  const row: Cells = JSON.parse(text);
  const { custom_fields } = row;
  const custom =
    typeof custom_fields === 'object' && custom_fields !== null ? Object.keys(custom_fields).sort() : null;
  return [keyOf(row, key), { ...row, custom_field_ids: custom }];
};

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
const emptyToNull = (text: string): string | null => (text === '' ? null : text);

const category = { new: 'todo', indeterminate: 'in_progress', done: 'done' } as const;

function expectations(truth: Oracle, how: Comparison): readonly Compared[] {
  const bare = how.bare === true;
  const except = new Set(how.except);
  const left = [...truth.issues.values()].filter((issue) => !issue.visible || except.has(issue.id));
  const gone = [...truth.issues.values()].filter((issue) => issue.visible && issue.deleted);
  const issues = [...truth.issues.values()].filter(
    (issue) => issue.visible && !issue.deleted && !except.has(issue.id),
  );
  const known = new Set(issues.map((issue) => issue.id));
  // What hangs on issues that are not compared is not compared; of deleted issues only the issue itself is.
  const ignored = [...left, ...gone].map((issue) => issue.id);
  const ofCompared = (column: string): string =>
    ignored.length === 0 ? 'true' : `${column} not in (${ignored.join(', ')})`;
  const each = <T>(list: (issue: OracleIssue) => readonly T[], row: (one: T, issue: OracleIssue) => Cells) =>
    issues.flatMap((issue) => list(issue).map((one) => row(one, issue)));
  const projects = new Map(truth.projects.map((project) => [project.id, project]));
  const boards = truth.boards.filter((board) => projects.get(board.projectId)?.hidden !== true);
  const told = new Set(truth.sprintIssues.map((one) => one.sprintId));
  const sprints = truth.sprints.filter((sprint) => !bare || told.has(sprint.id));
  /** Where no list tells of them they are those that issues are in; what one was in before stays. */
  const listed = <T extends { readonly id: string }>(all: readonly T[], of: (issue: Issue) => string) => {
    const used = new Set(issues.map(of));
    return bare ? all.filter(({ id }) => used.has(id)) : all;
  };
  const orKnown = (all: readonly { readonly id: string }[]) =>
    bare ? { alsoFine: (row: Cells) => all.some(({ id }) => Number(id) === row.id) } : {};
  const childOf = { where: ofCompared('issue_id') };
  const complete = (list: readonly unknown[]): boolean => !bare || list.length <= 20;
  const shortLists = (of: (issue: Issue) => readonly unknown[]): string =>
    `${ofCompared('issue_id')}${issues
      .filter((issue) => !complete(of(issue)))
      .map((issue) => ` and issue_id <> ${issue.id}`)
      .join('')}`;

  return [
    {
      table: 'projects',
      key: ['id'],
      rows: truth.projects
        .filter((one) => !one.hidden)
        .map((one) => ({
          id: Number(one.id),
          key: one.key,
          name: one.name,
          description: one.description,
          type: one.typeKey,
          style: one.style,
          category: one.category ?? null,
          lead_user_id: one.leadId,
          archived: one.archived,
        })),
      alsoFine: (row) => projects.get(String(row.id))?.hidden === true,
    },
    {
      table: 'fields',
      key: ['id'],
      rows: truth.fields.map((one) => ({
        id: one.id,
        name: one.name,
        custom: one.custom,
        schema_type: one.schema.type,
        items_type: one.schema.items ?? null,
        schema_custom: one.schema.custom ?? null,
      })),
    },
    {
      table: 'users',
      key: ['id'],
      rows: truth.users.map((one) => ({
        id: one.accountId,
        display_name: one.displayName,
        email: one.email ?? null,
        active: one.active,
        time_zone: one.timeZone ?? null,
        account_type: one.accountType,
      })),
    },
    {
      table: 'groups',
      key: ['id'],
      rows: bare ? [] : truth.groups.map((one) => ({ id: one.groupId, name: one.name })),
    },
    {
      table: 'group_members',
      key: ['group_id', 'user_id'],
      rows: bare
        ? []
        : truth.groups.flatMap((group) =>
            group.members.map((user) => ({ group_id: group.groupId, user_id: user })),
          ),
    },
    {
      table: 'statuses',
      key: ['id'],
      rows: listed(truth.statuses, ({ statusId }) => statusId).map((one) => ({
        id: Number(one.id),
        name: one.name,
        category: category[one.category],
      })),
      ...orKnown(truth.statuses),
    },
    {
      table: 'issue_types',
      key: ['id'],
      rows: listed(truth.issueTypes, ({ typeId }) => typeId).map((one) => ({
        id: Number(one.id),
        name: one.name,
        subtask: one.hierarchyLevel === -1,
        hierarchy_level: bare ? null : one.hierarchyLevel,
      })),
      ...orKnown(truth.issueTypes),
    },
    {
      table: 'priorities',
      key: ['id'],
      rows: listed(truth.priorities, ({ priorityId }) => priorityId).map((one) => ({
        id: Number(one.id),
        name: one.name,
        rank: bare ? null : truth.priorities.indexOf(one) + 1,
      })),
      ...orKnown(truth.priorities),
    },
    {
      table: 'boards',
      key: ['id'],
      rows: boards.map((one) => ({
        id: one.id,
        name: one.name,
        type: one.type,
        project_id: Number(one.projectId),
      })),
      alsoFine: (row) =>
        !boards.some((board) => board.id === row.id) && truth.boards.some((board) => board.id === row.id),
    },
    {
      table: 'sprints',
      key: ['id'],
      rows: sprints.map((one) => ({
        id: one.id,
        name: one.name,
        state: one.state,
        board_id: one.boardId,
        ...(bare ? {} : { goal: emptyToNull(one.goal) }),
        start_at: instant(one.start),
        end_at: instant(one.end),
        completed_at: instant(one.complete),
      })),
      ...(bare ? { alsoFine: (row: Cells) => truth.sprints.some((one) => one.id === row.id) } : {}),
    },
    {
      table: 'board_sprints',
      key: ['board_id', 'sprint_id'],
      rows: bare
        ? sprints.map((one) => ({ board_id: one.boardId, sprint_id: one.id }))
        : truth.boardSprints.map((one) => ({ board_id: one.boardId, sprint_id: one.sprintId })),
      ...(bare ? { alsoFine: (row: Cells) => truth.sprints.some((one) => one.id === row.sprint_id) } : {}),
    },
    {
      table: 'sprint_issues',
      key: ['sprint_id', 'issue_id'],
      rows: truth.sprintIssues
        .filter((one) => known.has(one.issueId))
        .map((one) => ({ sprint_id: one.sprintId, issue_id: Number(one.issueId) })),
      where: left.length === 0 ? 'true' : `issue_id not in (${left.map((issue) => issue.id).join(', ')})`,
    },
    {
      table: 'issues',
      key: ['id'],
      rows: issues.map((issue) => issueCells(truth, issue)),
      where: left.length === 0 ? 'true' : `id not in (${left.map((issue) => issue.id).join(', ')})`,
      ...(how.deletedMayLive === true
        ? { alsoFine: (row: Cells) => truth.issues.get(String(row.id))?.deleted === true }
        : {}),
    },
    {
      table: 'issue_labels',
      key: ['issue_id', 'label'],
      rows: each(
        (issue) => [...new Set(issue.labels)],
        (label, issue) => ({ issue_id: Number(issue.id), label }),
      ),
      ...childOf,
    },
    {
      table: 'issue_components',
      key: ['issue_id', 'component_id'],
      rows: each(
        (issue) => issue.componentIds,
        (id, issue) => ({
          issue_id: Number(issue.id),
          component_id: Number(id),
          name: projects.get(issue.projectId)?.components.find((one) => one.id === id)?.name ?? id,
        }),
      ),
      ...childOf,
    },
    {
      table: 'issue_versions',
      key: ['issue_id', 'kind', 'version_id'],
      rows: each(
        (issue) => issue.fixVersionIds,
        (id, issue) => {
          const version = projects.get(issue.projectId)?.versions.find((one) => one.id === id);
          return {
            issue_id: Number(issue.id),
            kind: 'fix',
            version_id: Number(id),
            name: version?.name ?? id,
            released: version?.released ?? null,
            archived: version?.archived ?? null,
            release_date: version?.releaseDate ?? null,
          };
        },
      ),
      ...childOf,
    },
    {
      table: 'issue_links',
      key: ['issue_id', 'link_id', 'direction'],
      rows: each(
        (issue) => issue.links.filter((link) => truth.issues.get(link.otherId)?.deleted === false),
        (link, issue) => ({
          issue_id: Number(issue.id),
          link_id: Number(link.id),
          direction: link.direction,
          type_id: Number(link.typeId),
          other_issue_id: Number(link.otherId),
        }),
      ),
      where: `${ofCompared('issue_id')} and ${
        gone.length === 0 ? 'true' : `other_issue_id not in (${gone.map((issue) => issue.id).join(', ')})`
      }`,
    },
    {
      table: 'issue_sprints',
      key: ['issue_id', 'sprint_id'],
      rows: each(
        (issue) => [...new Set(issue.sprintIds)],
        (sprint, issue) => ({ issue_id: Number(issue.id), sprint_id: sprint }),
      ),
      ...childOf,
    },
    {
      table: 'issue_changelog',
      key: ['history_id', 'item'],
      rows: bare
        ? []
        : each(
            (issue) =>
              issue.history.flatMap((change) => change.items.map((item, place) => ({ change, item, place }))),
            ({ change, item, place }, issue) => ({
              history_id: Number(change.id),
              item: place,
              issue_id: Number(issue.id),
              changed_at: instant(change.at),
              author_id: change.authorId ?? null,
              ...changeCells(item),
            }),
          ),
      ...childOf,
    },
    {
      table: 'comments',
      key: ['id'],
      rows: each(
        (issue) => (complete(issue.comments) ? issue.comments : []),
        (one, issue) => ({
          id: Number(one.id),
          issue_id: Number(issue.id),
          author_id: one.authorId,
          update_author_id: one.updateAuthorId,
          body_adf: one.body,
          is_public: true,
          created_at: instant(one.created),
          updated_at: instant(one.updated),
        }),
      ),
      where: shortLists((issue) => issue.comments),
    },
    {
      table: 'worklogs',
      key: ['id'],
      rows: each(
        (issue) => (complete(issue.worklogs) ? issue.worklogs : []),
        (one, issue) => ({
          id: Number(one.id),
          issue_id: Number(issue.id),
          author_id: one.authorId,
          update_author_id: one.updateAuthorId,
          started_at: instant(one.started),
          time_spent_seconds: one.seconds,
          comment_adf: one.comment ?? null,
          created_at: instant(one.created),
          updated_at: instant(one.updated),
        }),
      ),
      where: shortLists((issue) => issue.worklogs),
    },
    {
      table: 'issue_keys',
      key: ['key', 'issue_id'],
      rows: each(
        (issue) => [...new Set(bare ? [issue.key] : [issue.key, ...issue.oldKeys])],
        (key, issue) => ({ key, issue_id: Number(issue.id) }),
      ),
      ...childOf,
      // Without a changelog the former keys are those that were met.
      ...(bare
        ? {
            alsoFine: (row: Cells) =>
              truth.issues.get(String(row.issue_id))?.oldKeys.includes(String(row.key)) === true,
          }
        : {}),
    },
  ];
}

const changeCells = (item: ChangeItem): Cells => ({
  field_id: item.fieldId,
  field_name: item.field,
  from_id: item.from,
  from_text: item.fromString,
  to_id: item.to,
  to_text: item.toString,
});

const resolutions: Readonly<Record<string, string>> = {
  10300: 'Done',
  10301: "Won't Do",
  10302: 'Duplicate',
};

function issueCells(truth: Oracle, issue: OracleIssue): Cells {
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
  return {
    id: Number(issue.id),
    key: issue.key,
    project_id: Number(issue.projectId),
    issue_type_id: Number(issue.typeId),
    status_id: Number(issue.statusId),
    priority_id: Number(issue.priorityId),
    status_category: category[truth.statuses.find((one) => one.id === issue.statusId)?.category ?? 'new'],
    issue_type: truth.issueTypes.find((one) => one.id === issue.typeId)?.name ?? null,
    is_subtask: truth.issueTypes.find((one) => one.id === issue.typeId)?.hierarchyLevel === -1,
    priority: truth.priorities.find((one) => one.id === issue.priorityId)?.name ?? null,
    resolution_id: number(issue.resolutionId),
    resolution: issue.resolutionId === null ? null : resolutions[issue.resolutionId],
    // A parent that was deleted vanishes without its children being changed.
    ...(parent?.deleted === true
      ? {}
      : { parent_id: number(issue.parentId), epic_id: level === 1 ? number(issue.parentId) : null }),
    assignee_id: issue.assigneeId,
    reporter_id: issue.reporterId,
    creator_id: issue.creatorId,
    summary: issue.summary,
    description_adf: issue.description,
    labels: issue.labels,
    components: named(issue.componentIds, project?.components),
    fix_versions: named(issue.fixVersionIds, project?.versions),
    affects_versions: [],
    due_date: issue.due,
    created_at: instant(issue.created),
    updated_at: instant(issue.updated),
    resolved_at: instant(issue.resolved),
    status_category_changed_at: instant(lastStatus?.at ?? issue.created),
    story_points: issue.storyPoints,
    original_estimate_seconds: issue.originalSeconds,
    remaining_estimate_seconds: issue.remainingSeconds,
    time_spent_seconds: issue.spentSeconds === 0 ? null : issue.spentSeconds,
    votes: 0,
    watchers: 1,
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
  const digests: Record<string, string> = {};
  for (const { name } of tables) {
    const [row] = await rig.rows<{ digest: string }>(
      `select coalesce(md5(string_agg(to_jsonb(t)::text, ',' order by to_jsonb(t)::text)), '') as digest from tracker.${name} t`,
    );
    digests[name] = row?.digest ?? '';
  }
  return digests;
}
