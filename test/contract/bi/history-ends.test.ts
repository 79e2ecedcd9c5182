import { expect, onTestFinished, test } from 'vitest';
import { staleFacts } from '../../support/facts.ts';
import { changeColumns, loadVocabulary, reading } from './reading.ts';

/**
 * A history need not agree with its issue: partly imported ones end elsewhere (constructorfabric/insight#3484,
 * mikebowler/jirametrics#44), imported ones are older than their issue, and importers write names without ids.
 */

let history = 0;
/** An item of the changelog of an issue: ids and names before and after. A lower `place` is an older id. */
const change = (
  issue: number,
  at: string,
  field: string,
  ids: readonly [string | null, string | null],
  texts: readonly [string | null, string | null] = ids,
  place?: number,
): string => {
  history += 1;
  const [from, to, fromText, toText] = [...ids, ...texts].map((text) =>
    text === null ? 'null' : `'${text}'`,
  );
  const id = place ?? 1000 + history;
  return `1, ${id}, 0, ${issue}, '${at}', 'ann', '${field}', '${field}', ${from}, ${fromText}, ${to}, ${toText}`;
};
const status = (issue: number, at: string, from: number, to: number, place?: number) =>
  change(issue, at, 'status', [`${from}`, `${to}`], [`was ${from}`, `was ${to}`], place);
/** A change of a status by names alone. */
const named = (issue: number, at: string, from: string | null, to: string | null, field = 'status') =>
  change(issue, at, field, [null, null], [from, to]);

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert('tracker.priorities (source_id, id, name)', [`1, 1, 'Urgent'`, `1, 2, 'Normal'`]);
  await insert('tracker.fields (source_id, id, name, custom, schema_type, role)', [
    `1, 'customfield_1', 'Sprint', true, 'array', 'sprint'`,
    `1, 'customfield_2', 'Story Points', true, 'number', 'story_points'`,
    ...['option', 'number', 'user', 'date', 'string', 'array'].map(
      (type) => `1, 'customfield_${type}', '${type}', true, '${type}', null`,
    ),
    `1, 'duedate', 'Due date', false, 'date', null`,
  ]);
  await insert(
    'ref.history_fields (source, field_id, field_name)',
    [
      ...['option', 'number', 'user', 'date', 'string', 'array'].map((type) => `customfield_${type}`),
      'duedate',
    ].map((field) => `'tracker', '${field}', '${field.replace('customfield_', 'own_')}'`),
  );
  await insert('tracker.sprints (source_id, id, name, state, start_at, end_at, completed_at)', [
    `1, 1, 'One', 'closed', '2024-01-08Z', '2024-01-19Z', '2024-01-20Z'`,
    `1, 2, 'Two', 'active', '2024-01-22Z', '2024-02-02Z', null`,
  ]);
});

interface Issue {
  readonly status?: number;
  readonly created?: string;
  readonly updated?: string;
  readonly resolved?: string;
  /** Further columns, as SQL. */
  readonly more?: Readonly<Record<string, string>>;
}

let issues = 0;
/** An issue with these changes, made by `changes(id)`; deleted when the test ends. Gives its id. */
async function issueWith(issue: Issue, changes: (id: number) => readonly string[] = () => []) {
  issues += 1;
  const id = issues;
  const { status: now = 1, created = '2024-01-01Z', updated = '2024-03-01Z', resolved, more = {} } = issue;
  await insert(
    `tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, created_at, updated_at, resolved_at
      ${Object.keys(more)
        .map((name) => `, ${name}`)
        .join('')})`,
    [
      [
        `1, ${id}, 'END-${id}', 10, 1, ${now}, '${created}', '${updated}'`,
        resolved === undefined ? 'null' : `'${resolved}'`,
        ...Object.values(more),
      ].join(', '),
    ],
  );
  const rows = changes(id);
  if (rows.length > 0) await insert(changeColumns, rows);
  onTestFinished(async () => {
    // Whatever order the rows came in, a rebuild makes the same facts.
    expect(await staleFacts((query) => read(query).then(asRows))).toEqual([]);
    for (const table of ['issue_changelog', 'issue_sprints', 'sprint_issues'])
      await read(`delete from tracker.${table} where source_id = 1 and issue_id = ${id}`);
    await read(`delete from tracker.issues where source_id = 1 and id = ${id}`);
  });
  return id;
}
const asRows = (lines: readonly string[]) => lines.map((line) => ({ line }));

const stays = (id: number) =>
  read(`select status, status_category, entered_at::text, left_at::text, is_inferred
    from bi.issue_status_history where source = 'tracker' and issue_id = '${id}' order by status_sequence`);
const values = (id: number, field: string) =>
  read(`select value_id, value_text, valid_from::text, valid_to::text, is_inferred from bi.issue_field_history
    where source = 'tracker' and issue_id = '${id}' and field_name = '${field}' order by valid_from, valid_to, value_id`);
const check = (name: string) =>
  read(
    `select offending_rows, example_key from bi.quality_checks where source = 'tracker' and check_name = '${name}'`,
  );

test.each<[string, Issue, readonly [number, string][], readonly string[]]>([
  [
    'a done issue is done since it was resolved',
    { status: 4, resolved: '2024-01-05Z' },
    [[2, '2024-01-03Z']],
    [
      'To Do | todo | 2024-01-01 | 2024-01-03 | false',
      'Doing | in_progress | 2024-01-03 | 2024-01-05 | false',
      'Done | done | 2024-01-05 | - | true',
    ],
  ],
  [
    'a done issue that was resolved before its last change is done since its own last change',
    { status: 4, resolved: '2024-01-02Z' },
    [[2, '2024-01-03Z']],
    [
      'To Do | todo | 2024-01-01 | 2024-01-03 | false',
      'Doing | in_progress | 2024-01-03 | 2024-03-01 | false',
      'Done | done | 2024-03-01 | - | true',
    ],
  ],
  [
    'a done issue without a resolution, too',
    { status: 6 },
    [[2, '2024-01-03Z']],
    [
      'To Do | todo | 2024-01-01 | 2024-01-03 | false',
      'Doing | in_progress | 2024-01-03 | 2024-03-01 | false',
      'Closed | done | 2024-03-01 | - | true',
    ],
  ],
  [
    'an issue that was reopened without a change',
    { status: 2 },
    [[4, '2024-01-03Z']],
    [
      'To Do | todo | 2024-01-01 | 2024-01-03 | false',
      'Done | done | 2024-01-03 | 2024-03-01 | false',
      'Doing | in_progress | 2024-03-01 | - | true',
    ],
  ],
  [
    'a status that is deleted is the last one all the same',
    { status: 5 },
    [[2, '2024-01-03Z']],
    [
      'To Do | todo | 2024-01-01 | 2024-01-03 | false',
      'Doing | in_progress | 2024-01-03 | 2024-03-01 | false',
      'Parked | todo | 2024-03-01 | - | true',
    ],
  ],
  [
    'a change that is younger than the issue as it was read: no interval ends before it begins',
    { status: 2, updated: '2024-01-02Z' },
    [[3, '2024-01-03Z']],
    [
      'To Do | todo | 2024-01-01 | 2024-01-03 | false',
      'Review | in_progress | 2024-01-03 | 2024-01-03 | false',
      'Doing | in_progress | 2024-01-03 | - | true',
    ],
  ],
  [
    'a history that ends with the status of the issue gets nothing more',
    { status: 2 },
    [[2, '2024-01-03Z']],
    ['To Do | todo | 2024-01-01 | 2024-01-03 | false', 'Doing | in_progress | 2024-01-03 | - | false'],
  ],
])('the last stay is in the status of the issue: %s', async (_, issue, changes, lines) => {
  const id = await issueWith(issue, (of) => changes.map(([to, at]) => status(of, at, 1, to)));
  expect(await stays(id)).toEqual(lines);
});

test('cycle time, reopenings and flow follow from what was added', async () => {
  const id = await issueWith({ status: 4, resolved: '2024-01-05 12:00Z' }, (of) => [
    status(of, '2024-01-03Z', 1, 2),
  ]);
  await shows(
    `select done_at::text, lead_time_days, cycle_time_days, is_done, status_changes from bi.issue_cycle_times where issue_id = '${id}'`,
    ['2024-01-05 12:00:00+00 | 4.500 | 2.500 | true | 2'],
  );
  await shows(
    `select date_day, change from tracker.flow_daily where category = 'done' and date_day < '2024-02-01' order by 1`,
    [expect.stringMatching(/\| 1$/)],
  );
  await shows(
    `select done_issues from bi.throughput_weekly where source = 'tracker' and week_start = '2024-01-01'`,
    ['1'],
  );
});

test.each<
  [string, Record<string, string>, string, readonly [string | null, string | null], readonly string[]]
>([
  [
    'assignee',
    { assignee_id: `'bob'` },
    'assignee',
    [null, 'ann'],
    [
      '- | - | 2024-01-01 | 2024-01-03 | false',
      'ann | Ann | 2024-01-03 | 2024-03-01 | false',
      'bob | Bob | 2024-03-01 | - | true',
    ],
  ],
  [
    'assignee',
    { assignee_id: 'null' },
    'assignee',
    [null, 'ann'],
    [
      '- | - | 2024-01-01 | 2024-01-03 | false',
      'ann | Ann | 2024-01-03 | 2024-03-01 | false',
      '- | - | 2024-03-01 | - | true',
    ],
  ],
  [
    'priority',
    { priority_id: '2' },
    'priority',
    [null, '1'],
    [
      '- | - | 2024-01-01 | 2024-01-03 | false',
      '1 | Urgent | 2024-01-03 | 2024-03-01 | false',
      '2 | Normal | 2024-03-01 | - | true',
    ],
  ],
  [
    'story_points',
    { story_points: '8' },
    'customfield_2',
    [null, '5'],
    [
      '- | - | 2024-01-01 | 2024-01-03 | false',
      '5 | 5 | 2024-01-03 | 2024-03-01 | false',
      '- | 8 | 2024-03-01 | - | true',
    ],
  ],
  [
    'own_option',
    { custom_fields: `'{"customfield_option": "High"}'` },
    'customfield_option',
    [null, 'Low'],
    [
      '- | - | 2024-01-01 | 2024-01-03 | false',
      'Low | Low | 2024-01-03 | 2024-03-01 | false',
      '- | High | 2024-03-01 | - | true',
    ],
  ],
  [
    'own_user',
    { custom_fields: `'{"customfield_user": "cid"}'` },
    'customfield_user',
    [null, 'ann'],
    [
      '- | - | 2024-01-01 | 2024-01-03 | false',
      'ann | Ann | 2024-01-03 | 2024-03-01 | false',
      'cid | Cid | 2024-03-01 | - | true',
    ],
  ],
  [
    'own_string',
    {},
    'customfield_string',
    [null, 'words'],
    [
      '- | - | 2024-01-01 | 2024-01-03 | false',
      'words | words | 2024-01-03 | 2024-03-01 | false',
      '- | - | 2024-03-01 | - | true',
    ],
  ],
  [
    'duedate',
    { due_date: `'2024-05-02'` },
    'duedate',
    [null, '2024-05-01'],
    [
      '- | - | 2024-01-01 | 2024-01-03 | false',
      '2024-05-01 | 2024-05-01 | 2024-01-03 | 2024-03-01 | false',
      '- | 2024-05-02 | 2024-03-01 | - | true',
    ],
  ],
])('the last value of %s is the issue’s own: %j', async (field, more, fieldId, ids, lines) => {
  const id = await issueWith({ more }, (of) => [change(of, '2024-01-03Z', fieldId, ids)]);
  expect(await values(id, field)).toEqual(lines);
});

test.each([
  ['story_points', { story_points: '8.50' }, 'customfield_2', [null, null], ['', '8.5']],
  [
    'own_number',
    { custom_fields: `'{"customfield_number": 3}'` },
    'customfield_number',
    [null, null],
    ['', '3.0'],
  ],
  // The changelog of dates has the day as id, and words of the reader's language.
  [
    'own_date',
    { custom_fields: `'{"customfield_date": "2024-05-01"}'` },
    'customfield_date',
    ['', '2024-05-01'],
    ['', '1/Mai/24'],
  ],
  // Lists and long texts are written in another way than the issue has them: nothing is said of them.
  [
    'own_array',
    { custom_fields: `'{"customfield_array": ["a", "b"]}'` },
    'customfield_array',
    ['', '[1, 2]'],
    ['', 'a,b'],
  ],
  [
    'own_option',
    { custom_fields: `'{"customfield_option": "High"}'` },
    'customfield_option',
    ['1', '2'],
    ['Low', 'High'],
  ],
] as const)(
  'the same value in other words is no contradiction: %s',
  async (field, more, fieldId, ids, texts) => {
    const id = await issueWith({ more }, (of) => [change(of, '2024-01-03Z', fieldId, ids, texts)]);
    const last = (await values(id, field)).at(-1);
    expect(last).toMatch(/\| 2024-01-03 \| - \| false$/);
  },
);

test('an issue without any changelog has its values since its creation, and none is inferred', async () => {
  const id = await issueWith({
    status: 2,
    more: { assignee_id: `'ann'`, priority_id: '1', story_points: '3' },
  });
  await read(`insert into tracker.issue_sprints (source_id, issue_id, sprint_id) values (1, ${id}, 2)`);
  await shows(
    `select field_name, valid_from::text, valid_to, is_inferred from bi.issue_field_history
      where issue_id = '${id}' and value_text is not null order by 1`,
    ['assignee', 'priority', 'sprint', 'status', 'story_points'].map(
      (name) => `${name} | 2024-01-01 | - | false`,
    ),
  );
});

test('sprint membership ends with what the issue has', async () => {
  const id = await issueWith({ status: 1 }, (of) => [
    change(of, '2024-01-05Z', 'customfield_1', ['', '1'], ['', 'One']),
    // In both all the time, as far as changes say: the first is in each list.
    change(of, '2024-01-10Z', 'customfield_1', ['1', '1, 7'], ['One', 'One, Seven']),
  ]);
  await read(`insert into tracker.issue_sprints (source_id, issue_id, sprint_id) values (1, ${id}, 2)`);
  expect(await values(id, 'sprint')).toEqual([
    '1 | One | 2024-01-05 | 2024-03-01 | true',
    '7 | - | 2024-01-10 | 2024-03-01 | true',
    '2 | Two | 2024-03-01 | - | true',
  ]);
  await shows(
    `select sprint_id, added_at::text, removed_at::text, is_member, is_committed, is_added from bi.sprint_issues
      where issue_id = '${id}' order by 1`,
    ['1 | 2024-01-05 | 2024-03-01 | false | true | false', '2 | 2024-03-01 | - | true | false | true'],
  );
});

test('a done issue whose history lacks its last step counts as done in its sprint', async () => {
  const id = await issueWith({ status: 4, resolved: '2024-01-15Z' }, (of) => [
    change(of, '2024-01-05Z', 'customfield_1', ['', '1'], ['', 'One']),
    status(of, '2024-01-09Z', 1, 2),
  ]);
  await read(`insert into tracker.issue_sprints (source_id, issue_id, sprint_id) values (1, ${id}, 1)`);
  await shows(`select is_done, is_carried_over from bi.sprint_issues where issue_id = '${id}'`, [
    'true | false',
  ]);
  await shows(
    `select remaining_issues from bi.sprint_burndown_daily where sprint_id = '1' and date_day in ('2024-01-14', '2024-01-15') order by date_day`,
    ['1', '0'],
  );
});

test('a sprint that a done issue no longer has was left after it was done, one that it has came with its resolution', async () => {
  const id = await issueWith({ status: 4, resolved: '2024-01-15Z' }, (of) => [
    change(of, '2024-01-05Z', 'customfield_1', ['', '1'], ['', 'One']),
    status(of, '2024-01-15Z', 1, 4),
  ]);
  await insert('tracker.issue_sprints (source_id, issue_id, sprint_id)', [`1, ${id}, 2`]);
  expect(await values(id, 'sprint')).toEqual([
    '1 | One | 2024-01-05 | 2024-03-01 | true',
    '2 | Two | 2024-01-15 | - | true',
  ]);
  await shows(
    `select sprint_id, is_committed, is_done from bi.sprint_issues where issue_id = '${id}' order by 1`,
    ['1 | true | true', '2 | true | true'],
  );
});

test('changes of one instant are ordered so that each begins where the one before ended', async () => {
  // The ids are in the wrong order: a form and two automations in one transaction.
  const at = '2024-01-03Z';
  const id = await issueWith({ status: 4 }, (of) => [
    status(of, '2024-01-02Z', 1, 2, 1),
    status(of, at, 3, 4, 2),
    status(of, at, 2, 3, 3),
    change(of, at, 'assignee', ['ann', 'bob'], undefined, 4),
    change(of, at, 'assignee', ['', 'ann'], undefined, 5),
    change(of, at, 'customfield_1', ['1', '1, 2'], undefined, 6),
    change(of, at, 'customfield_1', ['', '1'], undefined, 7),
    change(of, at, 'fixVersions', ['70', ''], undefined, 8),
    change(of, at, 'fixVersions', ['', '70'], undefined, 9),
    change(of, at, 'customfield_2', [null, null], ['3.0', '5'], 10),
    change(of, at, 'customfield_2', [null, null], ['', '3'], 11),
  ]);
  await read(`update tracker.issues set assignee_id = 'bob', story_points = 5 where id = ${id}`);
  expect((await stays(id)).map((line) => line.replace(/ \|.*/, ''))).toEqual([
    'To Do',
    'Doing',
    'Review',
    'Done',
  ]);
  expect((await values(id, 'assignee')).at(-1)).toBe('bob | Bob | 2024-01-03 | - | false');
  expect((await values(id, 'story_points')).at(-1)).toBe('- | 5 | 2024-01-03 | - | false');
  // The version came and went in one instant.
  expect(await values(id, 'fix_versions')).toEqual([]);
  expect(await check('changes_that_do_not_join')).toEqual(['0 | -']);
});

test('a circle of changes begins where the change before ended; ids decide what is open', async () => {
  const at = '2024-01-03Z';
  const id = await issueWith({ status: 1 }, (of) => [
    status(of, at, 2, 1, 1),
    status(of, at, 1, 2, 2),
    status(of, at, 1, 3, 3),
    status(of, at, 3, 1, 4),
  ]);
  // The issue is in To Do today, so the circle is one from To Do to To Do.
  expect((await stays(id)).map((line) => line.replace(/ \|.*/, ''))).toEqual([
    'To Do',
    'Doing',
    'To Do',
    'Review',
    'To Do',
  ]);
});

test('a chain that cannot be joined keeps the order of the source, and is counted', async () => {
  const at = '2024-01-03Z';
  const id = await issueWith({ status: 4 }, (of) => [
    status(of, at, 2, 3, 1),
    status(of, at, 1, 2, 2),
    status(of, at, 6, 4, 3),
    // From another value than the change before.
    change(of, '2024-01-02Z', 'assignee', ['', 'ann']),
    change(of, '2024-01-04Z', 'assignee', ['bob', '']),
  ]);
  expect((await stays(id)).map((line) => line.replace(/ \|.*/, ''))).toEqual([
    'Doing',
    'Review',
    'Doing',
    'Done',
  ]);
  expect(await check('changes_that_do_not_join')).toEqual([`3 | END-${id}`]);
});

test('a history that is older than its issue begins with its oldest change', async () => {
  const id = await issueWith({ status: 4, created: '2024-01-10Z', more: { assignee_id: `'ann'` } }, (of) => [
    status(of, '2024-01-02Z', 1, 2),
    status(of, '2024-01-06Z', 2, 4),
    change(of, '2024-01-04Z', 'customfield_2', [null, null], ['', '3']),
  ]);
  expect(await stays(id)).toEqual([
    'To Do | todo | 2024-01-02 | 2024-01-02 | false',
    'Doing | in_progress | 2024-01-02 | 2024-01-06 | false',
    'Done | done | 2024-01-06 | - | false',
  ]);
  await shows(
    `select c.lead_time_days, c.cycle_time_days, i.lead_time_days, c.created_at::text
      from bi.issue_cycle_times c join bi.issues i using (source, issue_id) where issue_id = '${id}'`,
    ['4.000 | 4.000 | 4.000 | 2024-01-10'],
  );
  // Fields that never changed are as old, so that an instant has one value of each.
  await shows(
    `select count(*) from bi.issue_field_history where issue_id = '${id}' and field_name in ('status', 'assignee', 'story_points')
      and valid_from <= '2024-01-03Z' and (valid_to > '2024-01-03Z' or valid_to is null)`,
    ['3'],
  );
  await shows('select count(*) from tracker.issue_value_intervals where valid_to < valid_from', ['0']);
});

test('a name without an id is that of the only status, person, priority or sprint that has it', async () => {
  const id = await issueWith(
    { status: 4, more: { assignee_id: `'bob'`, priority_id: '1', priority: `'Urgent'` } },
    (of) => [
      named(of, '2024-01-02Z', 'To Do', 'Doing'),
      named(of, '2024-01-03Z', 'Doing', 'Done'),
      named(of, '2024-01-02Z', null, 'Ann', 'assignee'),
      named(of, '2024-01-03Z', 'Ann', 'Bob', 'assignee'),
      named(of, '2024-01-02Z', 'Normal', 'Urgent', 'priority'),
      named(of, '2024-01-02Z', null, 'One, Two', 'customfield_1'),
    ],
  );
  await read(
    `insert into tracker.issue_sprints (source_id, issue_id, sprint_id) values (1, ${id}, 1), (1, ${id}, 2)`,
  );
  await shows(
    `select field_name, value_id, valid_from::text, is_inferred from bi.issue_field_history
      where issue_id = '${id}' and field_name <> 'story_points' and field_name not like 'own%' and field_name <> 'duedate'
      order by 1, valid_from, value_id`,
    [
      'assignee | - | 2024-01-01 | false',
      'assignee | ann | 2024-01-02 | false',
      'assignee | bob | 2024-01-03 | false',
      'priority | 2 | 2024-01-01 | false',
      'priority | 1 | 2024-01-02 | false',
      'sprint | 1 | 2024-01-02 | false',
      'sprint | 2 | 2024-01-02 | false',
      'status | 1 | 2024-01-01 | false',
      'status | 2 | 2024-01-02 | false',
      'status | 4 | 2024-01-03 | false',
    ],
  );
  expect(await check('names_without_id')).toEqual(['0 | -']);
  expect(await check('histories_ending_elsewhere')).toEqual(['0 | -']);
});

test('a name counts that something had, in the list or in a change of another issue', async () => {
  const id = await issueWith({ status: 2 }, (of) => [
    // Renamed since; and as a German wrote it.
    named(of, '2024-01-02Z', 'Backlog', 'In Arbeit'),
    named(of, '2024-01-03Z', 'In Arbeit', 'Doing'),
  ]);
  const before = await stays(id);
  expect(before.slice(0, 2)).toEqual([
    'Backlog | unknown | 2024-01-01 | 2024-01-02 | true',
    'In Arbeit | unknown | 2024-01-02 | 2024-01-03 | true',
  ]);
  expect(await check('names_without_id')).toEqual([`2 | END-${id}`]);
  await read(
    `insert into tracker.statuses (source_id, id, name, category) values (1, 50, 'Backlog', 'todo')`,
  );
  await read(`update tracker.statuses set name = 'Ideas' where id = 50`);
  await issueWith({ status: 3 }, (of) => [
    change(of, '2024-02-02Z', 'status', ['1', '3'], ['Zu tun', 'In Arbeit']),
  ]);
  expect((await stays(id)).slice(0, 2)).toEqual([
    'Ideas | todo | 2024-01-01 | 2024-01-02 | false',
    'Review | in_progress | 2024-01-02 | 2024-01-03 | false',
  ]);
  expect(await check('names_without_id')).toEqual(['0 | -']);
});

test('a name that two have is kept as a name; at the end it means the issue’s own', async () => {
  await insert('tracker.statuses (source_id, id, name, category)', [
    `1, 60, 'Twice', 'done'`,
    `1, 61, 'Twice', 'done'`,
  ]);
  await insert('tracker.users (source_id, id, display_name)', [`1, 'eve', 'Eve'`, `1, 'eve-2', 'Eve'`]);
  const id = await issueWith({ status: 61, more: { assignee_id: `'eve-2'` } }, (of) => [
    named(of, '2024-01-02Z', 'To Do', 'Twice'),
    named(of, '2024-01-03Z', 'Twice', 'Doing'),
    named(of, '2024-01-04Z', 'Doing', 'Twice'),
    named(of, '2024-01-02Z', null, 'Eve', 'assignee'),
    named(of, '2024-01-03Z', 'Eve', 'Nobody Knows', 'assignee'),
  ]);
  await shows(
    `select field_name, value_id, value_text, valid_from::text, is_current, is_inferred from bi.issue_field_history
      where issue_id = '${id}' and field_name in ('status', 'assignee') order by 1, valid_from`,
    [
      'assignee | - | - | 2024-01-01 | false | false',
      'assignee | - | Eve | 2024-01-02 | false | true',
      'assignee | - | Nobody Knows | 2024-01-03 | false | true',
      'assignee | eve-2 | Eve | 2024-03-01 | true | true',
      'status | 1 | To Do | 2024-01-01 | false | false',
      'status | - | Twice | 2024-01-02 | false | true',
      'status | 2 | Doing | 2024-01-03 | false | false',
      'status | 61 | Twice | 2024-01-04 | true | false',
    ],
  );
  expect(await check('names_without_id')).toEqual([`3 | END-${id}`]);
  expect(await check('histories_ending_elsewhere')).toEqual([`1 | END-${id}`]);
});

test('a sprint that no board lists is closed where an issue says so', async () => {
  const id = await issueWith({}, (of) => [
    change(of, '2024-01-23Z', 'customfield_1', ['', '2'], ['', 'Two']),
  ]);
  const other = await issueWith({}, (of) => [
    change(of, '2024-01-23Z', 'customfield_1', ['', '2'], ['', 'Two']),
  ]);
  await insert('tracker.board_sprints (source_id, board_id, sprint_id)', ['1, 7, 2']);
  await insert('tracker.issue_sprints (source_id, issue_id, sprint_id, state, completed_at)', [
    `1, ${other}, 2, 'active', null`,
    `1, ${id}, 2, 'closed', '2024-02-03Z'`,
  ]);
  const state = `select sprint_state, completed_at::text, carried_over_issues from bi.sprints where source = 'tracker' and sprint_id = '2'`;
  await shows(state, ['active | - | 2']);
  await read(`update tracker.issues set status_id = 4 where id = ${other}`);
  await shows(`select done_issues from bi.sprints where source = 'tracker' and sprint_id = '2'`, ['1']);
  await read('delete from tracker.board_sprints');
  await shows(state, ['closed | 2024-02-03 | 1']);
  await shows(`select current_sprint from bi.issues where issue_id = '${id}'`, ['-']);
});

test('histories that end elsewhere are counted, with an example', async () => {
  expect(await check('histories_ending_elsewhere')).toEqual(['0 | -']);
  const id = await issueWith({ status: 4, more: { assignee_id: `'ann'` } }, (of) => [
    status(of, '2024-01-03Z', 1, 2),
    change(of, '2024-01-03Z', 'assignee', ['', 'bob']),
    change(of, '2024-01-03Z', 'customfield_1', ['', '1']),
  ]);
  expect(await check('histories_ending_elsewhere')).toEqual([`3 | END-${id}`]);
  await shows(
    `select check_name, is_ok, severity from bi.quality_checks where source = 'tracker' and example_key is not null`,
    ['histories_ending_elsewhere | false | warning'],
  );
});

test('each step of the derivation can be selected from', async () => {
  const id = await issueWith({ status: 2, more: { story_points: '5' } }, (of) => [
    status(of, '2024-01-03Z', 1, 2),
    change(of, '2024-01-05Z', 'customfield_1', ['', '1, 2']),
    change(of, '2024-01-06Z', 'customfield_2', [null, null], ['3', '5']),
  ]);
  await read(`insert into tracker.issue_sprints (source_id, issue_id, sprint_id) values (1, ${id}, 2)`);
  const of = `(1::smallint, '{${id}}')`;
  await shows(
    `select field_name, nth, from_id, to_id, is_joined from tracker.changes${of} order by changed_at`,
    ['status | 1 | 1 | 2 | true', 'sprint | 1 | - | 1,2 | true', 'story_points | 1 | - | - | true'],
  );
  await shows(`select sequence, status_ref from tracker.status_stays${of} order by 1`, ['0 | 1', '1 | 2']);
  await shows(`select value_text, valid_from::text from tracker.single_values${of} order by 2`, [
    '3 | 2024-01-01',
    '5 | 2024-01-06',
  ]);
  await shows(`select value_id, valid_to::text, is_inferred from tracker.list_values${of} order by 1`, [
    '1 | 2024-03-01 | true',
    '2 | - | false',
  ]);
  await shows(
    `select sprint_id, added_at::text, removed_at::text, start_at::text, ends_at::text from tracker.memberships${of} order by 1`,
    [
      '1 | 2024-01-05 | 2024-03-01 | 2024-01-08 | 2024-01-20',
      '2 | 2024-01-05 | infinity | 2024-01-22 | infinity',
    ],
  );
  await shows(`select points, valid_from::text, valid_to::text from tracker.estimates${of} order by 2`, [
    '3.0000 | 2024-01-01 | 2024-01-06',
    '5.0000 | 2024-01-06 | infinity',
  ]);
  await shows(`select sprint_id, is_committed, points_in from tracker.sprint_figures${of} order by 1`, [
    '1 | true | 5.0000',
    '2 | true | 5.0000',
  ]);
  await shows(`select sprint_id, date_day, scope_points from tracker.burndown_changes${of} order by 1, 2`, [
    '1 | 2024-01-08 | 5.0000',
    '2 | 2024-01-22 | 5.0000',
  ]);
});

test.each([
  ['in a row', ['a', 'b', 'c'], ['b', 'c', 'd'], null, null, '{1,2,3}'],
  ['backwards', ['c', 'b', 'a'], ['d', 'c', 'b'], null, null, '{3,2,1}'],
  ['a circle from the value before', ['b', 'a'], ['a', 'b'], 'a', null, '{2,1}'],
  ['a circle to the value after', ['b', 'a'], ['a', 'b'], null, 'a', '{2,1}'],
  ['a circle in itself', ['b', 'a'], ['a', 'b'], 'x', 'y', '{1,2}'],
  ['no change at all in between', ['a', 'a'], ['b', 'a'], null, null, '{2,1}'],
  ['two ends', ['a', 'a'], ['b', 'c'], null, null, '-'],
  ['two parts', ['a', 'c', 'd'], ['b', 'd', 'c'], null, null, '-'],
  ['the detour first, or the way would be lost', ['a', 'a', 'b'], ['c', 'b', 'a'], null, null, '{2,3,1}'],
  ['none and something', ['x', ''], ['', 'x'], '', null, '{2,1}'],
])('joins: %s', async (_, froms, tos, before, after, order) => {
  const text = (value: string | null) => (value === null ? 'null' : `'${value}'`);
  const array = (list: readonly string[]) => `array[${list.map(text).join(', ')}]`;
  const found = await read(
    `select tracker.joined_order(${array(froms)}, ${array(tos)}, ${text(before)}, ${text(after)})::text`,
  );
  expect(found).toEqual([order]);
});

test('a thousand changes of one instant are joined in no time', async () => {
  await shows(
    `select o = array(select generate_series(1000, 1, -1)) from (
      select tracker.joined_order(array_agg((1000 - n)::text order by n), array_agg((1001 - n)::text order by n), null, null) as o
      from generate_series(1, 1000) n) t`,
    ['true'],
  );
});
