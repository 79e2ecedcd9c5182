import { type Kysely, sql } from 'kysely';

/** The issue tracker's tables: entities with tombstones, and the relations and history that hang on them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

interface Made {
  readonly about: string;
  /** Key columns behind source_id. */
  readonly key: string;
  /** Entities are tombstoned and carry a content hash and what has no column; relations and history do not. */
  readonly entity: boolean;
  /** Type and comment of each column. */
  readonly columns: Readonly<Record<string, readonly [type: string, about: string]>>;
  readonly indexes?: readonly string[];
  /** Rows of about 2 to 8 kB: without this Postgres compresses each of them twice, once staged and once here. */
  readonly wide?: boolean;
}

const issueOf = 'The issue, see tracker.issues.id.';
const personOf = (who: string): string => `${who}, see tracker.users.id; null if nobody or no longer known.`;
const adf = (what: string): string =>
  `${what} as delivered (Atlassian Document Format); null where the source gives plain text.`;

const tables: Readonly<Record<string, Made>> = {
  projects: {
    about: 'Projects of the tracker, one row each.',
    key: 'id',
    entity: true,
    columns: {
      id: ['bigint not null', 'Project id of the source; stable.'],
      key: ['text not null', 'Project key as issue keys begin with it, e.g. PROJ; may change.'],
      name: ['text not null', 'Name as people see it.'],
      description: ['text', 'Description as plain text.'],
      type: ['text', 'Type key of the source, e.g. software, service_desk, business.'],
      style: ['text', 'classic (company-managed) or next-gen (team-managed), where the source says.'],
      category: ['text', 'Name of the project category.'],
      lead_user_id: ['text', personOf('The project lead')],
      archived: ['boolean not null default false', 'True when the project is archived.'],
      url: ['text', 'Address that the project itself states, if any.'],
    },
  },
  fields: {
    about: 'Fields an issue can have, system and custom ones, one row each.',
    key: 'id',
    entity: true,
    columns: {
      id: [
        'text not null',
        'Field id, e.g. summary or customfield_10016; the key within issues.custom_fields.',
      ],
      name: ['text not null', "Name, in the language of the sync's account; names may repeat."],
      custom: ['boolean not null', 'True for custom fields.'],
      schema_type: ['text', 'Type of the value, e.g. string, number, option, array.'],
      items_type: ['text', 'Type of the elements where schema_type is array.'],
      schema_custom: ['text', 'Type key of a custom field, e.g. com.pyxis.greenhopper.jira:gh-sprint.'],
      description: ['text', 'Description as plain text.'],
    },
  },
  users: {
    about: 'People and apps with an account at the tracker, one row each.',
    key: 'id',
    entity: true,
    columns: {
      id: ['text not null', 'Account id; where the source has none, its user key or name.'],
      display_name: ['text', 'Name as shown.'],
      email: ['text', 'E-mail address, where the person shows it.'],
      active: ['boolean', 'False for deactivated accounts.'],
      time_zone: ['text', "The person's IANA time zone, e.g. Europe/Berlin, where shown."],
      locale: ['text', "The person's language, e.g. en_US, where shown."],
      account_type: ['text', 'atlassian, app, customer or unknown.'],
    },
  },
  groups: {
    about: 'User groups, one row each.',
    key: 'id',
    entity: true,
    columns: {
      id: ['text not null', 'Group id; where the source has none, its name.'],
      name: ['text not null', 'Name as people see it.'],
    },
  },
  group_members: {
    about: 'Which users are in which groups; one row per group and user.',
    key: 'group_id, user_id',
    entity: false,
    columns: {
      group_id: ['text not null', 'The group, see tracker.groups.id.'],
      user_id: ['text not null', 'The member, see tracker.users.id.'],
    },
  },
  boards: {
    about: 'Scrum and Kanban boards, one row each.',
    key: 'id',
    entity: true,
    columns: {
      id: ['bigint not null', 'Board id of the source.'],
      name: ['text not null', 'Name as people see it.'],
      type: ['text', 'scrum, kanban or simple.'],
      project_id: ['bigint', 'The project it is located in, see tracker.projects.id; null if none.'],
    },
  },
  sprints: {
    about: 'Sprints, one row each.',
    key: 'id',
    entity: true,
    columns: {
      id: ['bigint not null', 'Sprint id of the source.'],
      name: ['text not null', 'Name as people see it.'],
      state: ['text not null', 'future, active or closed.'],
      board_id: ['bigint', 'The board it was created on, see tracker.boards.id.'],
      goal: ['text', 'Sprint goal.'],
      created_at: ['timestamptz', 'When it was created (UTC), where the source says.'],
      start_at: [
        'timestamptz',
        'When it starts or started (UTC); null for sprints that are not planned yet.',
      ],
      end_at: ['timestamptz', 'When it is planned to end (UTC).'],
      completed_at: ['timestamptz', 'When it was closed (UTC); null while it is open.'],
    },
  },
  board_sprints: {
    about: 'On which boards a sprint shows; one row per board and sprint.',
    key: 'board_id, sprint_id',
    entity: false,
    columns: {
      board_id: ['bigint not null', 'The board, see tracker.boards.id.'],
      sprint_id: ['bigint not null', 'The sprint, see tracker.sprints.id.'],
    },
    indexes: ['(source_id, sprint_id)'],
  },
  sprint_issues: {
    about: 'Which issues a sprint holds now, as the sprint itself lists them; one row per sprint and issue.',
    key: 'sprint_id, issue_id',
    entity: false,
    columns: {
      sprint_id: ['bigint not null', 'The sprint, see tracker.sprints.id.'],
      issue_id: ['bigint not null', issueOf],
    },
    indexes: ['(source_id, issue_id)'],
  },
  statuses: {
    about: 'Workflow statuses, one row each.',
    key: 'id',
    entity: true,
    columns: {
      id: ['bigint not null', 'Status id of the source; names may repeat.'],
      name: ['text not null', "Name, in the language of the sync's account."],
      description: ['text', 'Description as plain text.'],
      category: [
        "text not null check (category in ('todo', 'in_progress', 'done', 'unknown'))",
        'What the status means: todo, in_progress, done, or unknown where the source does not say.',
      ],
      project_id: [
        'bigint',
        'The project it belongs to, see tracker.projects.id; null for statuses of all projects.',
      ],
    },
  },
  issue_types: {
    about: 'Issue types, one row each.',
    key: 'id',
    entity: true,
    columns: {
      id: ['bigint not null', 'Issue type id of the source; names may repeat.'],
      name: ['text not null', "Name, in the language of the sync's account."],
      description: ['text', 'Description as plain text.'],
      subtask: ['boolean not null default false', 'True for types of sub-tasks.'],
      hierarchy_level: [
        'integer',
        '-1 sub-task, 0 ordinary, 1 epic, higher above; null where the source does not say.',
      ],
      project_id: [
        'bigint',
        'The project it belongs to, see tracker.projects.id; null for types of all projects.',
      ],
    },
  },
  priorities: {
    about: 'Issue priorities, one row each.',
    key: 'id',
    entity: true,
    columns: {
      id: ['bigint not null', 'Priority id of the source.'],
      name: ['text not null', "Name, in the language of the sync's account."],
      description: ['text', 'Description as plain text.'],
      rank: ['integer', 'Place in the order of the source, where it says; smaller is more urgent.'],
    },
  },
  issues: {
    about: 'Issues, one row each, as last read.',
    key: 'id',
    entity: true,
    wide: true,
    columns: {
      id: ['bigint not null', 'Issue id; stable, unlike the key.'],
      key: [
        'text not null',
        'Issue key, e.g. PROJ-7; changes when the issue moves. Former keys: tracker.issue_keys.',
      ],
      project_id: ['bigint not null', 'The project, see tracker.projects.id.'],
      issue_type_id: ['bigint', 'The type, see tracker.issue_types.id.'],
      status_id: ['bigint not null', 'The status now, see tracker.statuses.id.'],
      priority_id: ['bigint', 'The priority, see tracker.priorities.id.'],
      resolution_id: ['bigint', 'Resolution id; null while unresolved.'],
      resolution: ['text', "Resolution name, in the language of the sync's account; null while unresolved."],
      parent_id: [
        'bigint',
        'The parent issue, see tracker.issues.id: of a sub-task its task, of a task its epic.',
      ],
      epic_id: ['bigint', 'The epic, see tracker.issues.id, where the source states its id.'],
      epic_key: ['text', 'Key of the epic as the source states it.'],
      assignee_id: ['text', personOf('The assignee')],
      reporter_id: ['text', personOf('The reporter')],
      creator_id: ['text', personOf('Who created it')],
      summary: ['text', 'The title line.'],
      description: ['text', 'Description as plain text.'],
      description_adf: ['json', adf('Description')],
      environment: ['text', 'Environment as plain text.'],
      environment_adf: ['json', adf('Environment')],
      labels: ["text[] not null default '{}'", 'Labels; one row each in tracker.issue_labels.'],
      components: [
        "text[] not null default '{}'",
        'Names of components; with ids in tracker.issue_components.',
      ],
      fix_versions: [
        "text[] not null default '{}'",
        'Names of fix versions; with ids in tracker.issue_versions.',
      ],
      affects_versions: [
        "text[] not null default '{}'",
        'Names of affected versions; with ids in tracker.issue_versions.',
      ],
      security_level: ['text', 'Name of the security level; null if everybody of the project may see it.'],
      due_date: ['date', 'Due day; a calendar day without a time zone.'],
      created_at: ['timestamptz not null', 'When it was created (UTC).'],
      updated_at: [
        'timestamptz not null',
        'When the source last changed it (UTC); tells newer versions from older.',
      ],
      resolved_at: ['timestamptz', 'When it was resolved (UTC); null while unresolved.'],
      status_category_changed_at: [
        'timestamptz',
        'When its status category last changed (UTC), where delivered.',
      ],
      story_points: [
        'numeric',
        'Story points, exactly as entered; null if not estimated or no such field is known.',
      ],
      original_estimate_seconds: ['bigint', 'Original estimate in seconds of work.'],
      remaining_estimate_seconds: ['bigint', 'Remaining estimate in seconds of work.'],
      time_spent_seconds: ['bigint', 'Time logged in seconds of work, without sub-tasks.'],
      votes: ['bigint', 'How many people voted for it.'],
      watchers: ['bigint', 'How many people watch it.'],
      custom_fields: [
        "jsonb not null default '{}'",
        'Field id to value for every custom field that is set: options by label, people by account id, several as array. Names: tracker.fields.',
      ],
    },
    // Not unique: keys may swap between two issues within one transaction.
    indexes: ['(source_id, key)', '(source_id, project_id)', '(updated_at)'],
  },
  issue_labels: {
    about: 'Labels of issues; one row per issue and label.',
    key: 'issue_id, label',
    entity: false,
    columns: {
      issue_id: ['bigint not null', issueOf],
      label: ['text not null', 'The label, as written.'],
    },
  },
  issue_components: {
    about: 'Components of issues; one row per issue and component.',
    key: 'issue_id, component_id',
    entity: false,
    columns: {
      issue_id: ['bigint not null', issueOf],
      component_id: ['bigint not null', 'Component id of the source.'],
      name: ['text', 'Component name when the issue was read.'],
    },
  },
  issue_versions: {
    about: 'Fix versions and affected versions of issues; one row per issue, kind and version.',
    key: 'issue_id, kind, version_id',
    entity: false,
    columns: {
      issue_id: ['bigint not null', issueOf],
      kind: [
        "text not null check (kind in ('fix', 'affected'))",
        'fix: will be or was fixed in it; affected: shows the fault.',
      ],
      version_id: ['bigint not null', 'Version id of the source.'],
      name: ['text', 'Version name when the issue was read.'],
      released: ['boolean', 'True when the version is released.'],
      archived: ['boolean', 'True when the version is archived.'],
      release_date: ['date', 'Day of release, planned or real; a calendar day without a time zone.'],
    },
  },
  issue_links: {
    about: 'Links between issues as each end shows them; one row per issue, link and direction.',
    key: 'issue_id, link_id, direction',
    entity: false,
    columns: {
      issue_id: ['bigint not null', issueOf],
      link_id: ['bigint not null', 'Link id; the same at both ends.'],
      direction: [
        "text not null check (direction in ('outward', 'inward'))",
        'outward: this issue stands at the active end (blocks); inward: at the passive end (is blocked by).',
      ],
      type_id: ['bigint', 'Id of the link type.'],
      type_name: ['text', 'Name of the link type, e.g. Blocks.'],
      outward: ['text', 'How the active end reads, e.g. blocks.'],
      inward: ['text', 'How the passive end reads, e.g. is blocked by.'],
      other_issue_id: ['bigint', 'The issue at the other end, see tracker.issues.id.'],
      other_issue_key: ['text', 'Its key when this was read.'],
    },
  },
  issue_sprints: {
    about:
      "Sprints that an issue is or was in, from the issue's own sprint field; one row per issue and sprint.",
    key: 'issue_id, sprint_id',
    entity: false,
    columns: {
      issue_id: ['bigint not null', issueOf],
      sprint_id: ['bigint not null', 'The sprint, see tracker.sprints.id.'],
      name: ['text', 'Sprint name as last seen on the issue.'],
      state: ['text', 'future, active or closed, as last seen on the issue.'],
      board_id: ['bigint', 'Board of the sprint, see tracker.boards.id, as last seen on the issue.'],
      goal: ['text', 'Sprint goal as last seen on the issue.'],
      start_at: ['timestamptz', 'Start (UTC) as last seen on the issue.'],
      end_at: ['timestamptz', 'Planned end (UTC) as last seen on the issue.'],
      completed_at: ['timestamptz', 'When it was closed (UTC) as last seen on the issue.'],
    },
    indexes: ['(source_id, sprint_id)'],
  },
  issue_changelog: {
    about: 'Every change of every field of an issue; one row per changed field.',
    key: 'history_id, item',
    entity: false,
    columns: {
      history_id: ['bigint not null', 'Id of the change; the fields changed together share it.'],
      item: ['smallint not null', 'Place of the field within the change, from 0.'],
      issue_id: ['bigint not null', issueOf],
      changed_at: ['timestamptz not null', 'When it was changed (UTC).'],
      author_id: ['text', personOf('Who changed it')],
      field_id: [
        'text not null',
        'Field id, see tracker.fields.id; the field name where the source gives no id.',
      ],
      field_name: ['text not null', 'Field name at the time.'],
      from_id: ['text', 'Value before, as id where the field has ids.'],
      from_text: ['text', 'Value before, as people read it.'],
      to_id: ['text', 'Value after, as id where the field has ids.'],
      to_text: ['text', 'Value after, as people read it.'],
    },
    indexes: ['(source_id, issue_id, changed_at)', '(changed_at)'],
  },
  comments: {
    about: 'Comments on issues, one row each, as last read.',
    key: 'id',
    entity: true,
    wide: true,
    columns: {
      id: ['bigint not null', 'Comment id of the source.'],
      issue_id: ['bigint not null', issueOf],
      author_id: ['text', personOf('The author')],
      update_author_id: ['text', personOf('Who edited it last')],
      body: ['text', 'The comment as plain text.'],
      body_adf: ['json', adf('The comment')],
      visibility: ['text', 'Who may see it, e.g. role:Administrators; null if everybody who sees the issue.'],
      is_public: ['boolean', 'Service desk: true when customers see it; null elsewhere.'],
      created_at: ['timestamptz not null', 'When it was written (UTC).'],
      updated_at: [
        'timestamptz not null',
        'When it was last edited (UTC); equals created_at if the source says nothing.',
      ],
    },
    indexes: ['(source_id, issue_id)'],
  },
  worklogs: {
    about: 'Time logged on issues, one row per entry, as last read.',
    key: 'id',
    entity: true,
    columns: {
      id: ['bigint not null', 'Worklog id of the source.'],
      issue_id: ['bigint not null', issueOf],
      author_id: ['text', personOf('Who did the work')],
      update_author_id: ['text', personOf('Who edited the entry last')],
      started_at: ['timestamptz not null', 'When the work began (UTC).'],
      time_spent_seconds: ['bigint not null', 'Duration of the work in seconds.'],
      comment: ['text', 'What was done, as plain text.'],
      comment_adf: ['json', adf('What was done')],
      visibility: ['text', 'Who may see it, e.g. role:Administrators; null if everybody who sees the issue.'],
      created_at: ['timestamptz', 'When the entry was made (UTC).'],
      updated_at: ['timestamptz', 'When the entry was last edited (UTC).'],
    },
    indexes: ['(source_id, issue_id)', '(started_at)'],
  },
  issue_keys: {
    about:
      'Every key an issue has or had, so that old keys still lead to it; the key of today is tracker.issues.key.',
    key: 'key, issue_id',
    entity: false,
    columns: {
      key: ['text not null', 'Issue key, current or former.'],
      issue_id: ['bigint not null', issueOf],
    },
  },
};

const own: Made['columns'] = {
  source_id: ['smallint not null', 'The source, see ops.sources.'],
};

const bookkeeping: Made['columns'] = {
  _synced_at: [
    'timestamptz not null default now()',
    "When this row's content last changed here (not: last seen).",
  ],
  _run_id: ['bigint', 'The run that wrote this content, see ops.runs.'],
};

const entityBookkeeping: Made['columns'] = {
  _deleted_at: ['timestamptz', 'When it was found to be gone at the source; null while it lives.'],
  _row_hash: ['bigint', '64-bit hash of the content; an equal hash means that nothing is written.'],
  _extra: [
    'jsonb',
    'What the source gives and no column holds, and raw values of an unexpected type with the reason.',
  ],
};

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const statements: readonly string[] = Object.entries(tables).flatMap(([name, made]) => {
  const columns = Object.entries({
    ...own,
    ...made.columns,
    ...bookkeeping,
    ...(made.entity ? entityBookkeeping : {}),
  });
  const lines = columns.map(([column, [type]]) => `${column} ${type}`);
  return [
    `create table tracker.${name} (\n  ${[...lines, `primary key (source_id, ${made.key})`].join(',\n  ')}\n)`,
    `comment on table tracker.${name} is ${quoted(made.about)}`,
    ...(made.wide === true ? [`alter table tracker.${name} set (toast_tuple_target = 8160)`] : []),
    ...(made.indexes ?? []).map((on) => `create index on tracker.${name} ${on}`),
    ...columns.map(
      ([column, [, about]]) => `comment on column tracker.${name}.${column} is ${quoted(about)}`,
    ),
  ];
});
