import { expect, onTestFinished, test } from 'vitest';
import { changeColumns, doing, loadVocabulary, reading, statusChange, toDo } from './reading.ts';

let history = 100;
/** A change of a field of an issue of source 1: ids and texts before and after; null: as it is. */
const change = (
  issue: number,
  at: string,
  field: string,
  ids: readonly [string | null, string | null],
  texts: readonly [string | null, string | null] = ids,
): string => {
  history += 1;
  const [from, to, fromText, toText] = [...ids, ...texts].map((text) =>
    text === null ? 'null' : `'${text}'`,
  );
  return `1, ${history}, 0, ${issue}, '${at}', 'ann', '${field}', '${field}', ${from}, ${fromText}, ${to}, ${toText}`;
};
const points = 'customfield_10016';
const sprint = 'customfield_10020';
const risk = 'customfield_10050';

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert('tracker.priorities (source_id, id, name)', [`1, 1, 'Urgent'`, `1, 2, 'Normal'`]);
  await insert('tracker.fields (source_id, id, name, custom, schema_type, role)', [
    `1, '${points}', 'Story Points', true, 'number', 'story_points'`,
    `1, 'customfield_10017', 'Story point estimate', true, 'number', 'story_points'`,
    `1, '${sprint}', 'Sprint', true, 'array', 'sprint'`,
    `1, '${risk}', 'Risk', true, 'option', null`,
    `1, 'customfield_10051', 'Reviewer', true, 'user', null`,
  ]);
  await insert('ref.history_fields (source, field_id, field_name)', [
    `'tracker', '${risk}', 'risk'`,
    `'tracker', 'customfield_10051', 'reviewer'`,
  ]);
  await insert('tracker.sprints (source_id, id, name, state)', [
    `1, 1, 'One', 'closed'`,
    `1, 2, 'Two', 'active'`,
    `1, 3, 'Three', 'active'`,
  ]);
  await insert(
    `tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, assignee_id, priority_id, priority, story_points,
      created_at, updated_at, custom_fields, _deleted_at, security_level)`,
    [
      `1, 1, 'PROJ-1', 10, 1, 2, 'bob', 1, 'Highest', 8, '2024-01-01Z', '2024-03-01Z', '{"${risk}": "High"}', null, null`,
      `1, 2, 'PROJ-2', 10, 1, 1, null, 9, 'Odd', null, '2024-01-01Z', '2024-03-01Z', '{"customfield_10051": "cid"}', null, null`,
      `1, 3, 'PROJ-3', 10, 1, 1, 'ann', null, null, 1, '2024-01-01Z', '2024-03-01Z', '{}', now(), null`,
      `1, 4, 'PROJ-4', 10, 1, 1, 'ann', null, null, 1, '2024-01-01Z', '2024-03-01Z', '{}', null, 'Secret'`,
      `2, 1, 'ELSE-1', 10, 1, 4, 'ann', null, null, 3, '2024-01-01Z', '2024-03-01Z', '{}', null, null`,
    ],
  );
  await insert(changeColumns, [
    change(1, '2024-01-02Z', 'assignee', [null, 'ann'], [null, 'Ann']),
    // Two changes in one instant, in the order of their ids: the first lasts no time.
    change(1, '2024-01-03Z', 'assignee', ['ann', 'bob'], ['Ann', 'Bob']),
    change(1, '2024-01-03Z', 'assignee', ['bob', 'gone'], ['Bob', 'Long Gone']),
    change(1, '2024-01-04Z', 'assignee', ['gone', ''], ['Long Gone', '']),
    change(1, '2024-01-05Z', 'assignee', ['', 'ann'], ['', 'Ann']),
    change(1, '2024-01-02Z', 'priority', ['2', '1'], ['Medium', 'Highest']),
    change(1, '2024-01-02Z', points, [null, null], ['', '5']),
    change(1, '2024-01-03Z', points, [null, null], ['5', '']),
    change(1, '2024-01-04Z', 'customfield_10017', [null, null], ['', '8.0']),
    change(1, '2024-01-02Z', risk, ['10', '11'], ['Low', 'High']),
    change(2, '2024-01-02Z', points, [null, null], ['many', null]),
    statusChange([1, 0], 1, '2024-01-02Z', toDo, doing),
    // Sprints: there from the start, left and came back; two at once; one that no change took away.
    change(1, '2024-01-05Z', sprint, ['1', ''], ['Sprint 1', '']),
    change(1, '2024-01-06Z', sprint, ['', '1, 2'], ['', 'Sprint 1, Sprint 2']),
    change(1, '2024-01-07Z', sprint, ['1, 2', '2'], ['Sprint 1, Sprint 2', 'Sprint 2']),
    change(2, '2024-01-05Z', sprint, ['', '9'], ['', 'Sprint 9']),
    change(1, '2024-01-05Z', 'fixVersions', [null, '70'], [null, '1.0']),
    change(1, '2024-01-06Z', 'fixVersions', ['70', null], ['1.0', null]),
    // As servers write it that give no field ids.
    change(1, '2024-01-06Z', 'Fix Version', [null, '71'], [null, '1.1 beta']),
    change(3, '2024-01-05Z', 'fixVersions', [null, '70'], [null, '1.0']),
    change(4, '2024-01-05Z', 'fixVersions', [null, '70'], [null, '1.0']),
  ]);
  await insert('tracker.issue_sprints (source_id, issue_id, sprint_id, name)', [
    `1, 1, 2, 'Sprint 2'`,
    `1, 1, 3, 'Sprint 3'`,
  ]);
  await insert('tracker.issue_versions (source_id, issue_id, kind, version_id, name)', [
    `1, 1, 'fix', 71, '1.1'`,
    `1, 1, 'affected', 70, '1.0'`,
    // Removed, and there again without a change that says so.
    `1, 1, 'fix', 70, '1.0'`,
  ]);
});

const lines = (field: string, more = '') =>
  `select issue_key, value_id, value_text, value_number, valid_from::text, valid_to::text, is_current from bi.issue_field_history
    where source = 'tracker' and field_name = '${field}' ${more} order by issue_key, valid_from, valid_to, value_id`;

test.each([
  [
    'assignee',
    [
      'PROJ-1 | - | - | - | 2024-01-01 | 2024-01-02 | false',
      'PROJ-1 | ann | Ann | - | 2024-01-02 | 2024-01-03 | false',
      'PROJ-1 | gone | Long Gone | - | 2024-01-03 | 2024-01-04 | false',
      'PROJ-1 | - | - | - | 2024-01-04 | 2024-01-05 | false',
      'PROJ-1 | ann | Ann | - | 2024-01-05 | 2024-03-01 | false',
      // No change says so, but the issue itself knows best who it is now.
      'PROJ-1 | bob | Bob | - | 2024-03-01 | - | true',
      'PROJ-2 | - | - | - | 2024-01-01 | - | true',
    ],
  ],
  [
    'priority',
    [
      'PROJ-1 | 2 | Normal | - | 2024-01-01 | 2024-01-02 | false',
      'PROJ-1 | 1 | Urgent | - | 2024-01-02 | - | true',
      'PROJ-2 | 9 | Odd | - | 2024-01-01 | - | true',
    ],
  ],
  [
    'story_points',
    [
      'PROJ-1 | - | - | - | 2024-01-01 | 2024-01-02 | false',
      'PROJ-1 | - | 5 | 5.0000 | 2024-01-02 | 2024-01-03 | false',
      'PROJ-1 | - | - | - | 2024-01-03 | 2024-01-04 | false',
      'PROJ-1 | - | 8 | 8.0000 | 2024-01-04 | - | true',
      'PROJ-2 | - | many | - | 2024-01-01 | 2024-01-02 | false',
      'PROJ-2 | - | - | - | 2024-01-02 | - | true',
    ],
  ],
  [
    'status',
    [
      'PROJ-1 | 1 | To Do | - | 2024-01-01 | 2024-01-02 | false',
      'PROJ-1 | 2 | Doing | - | 2024-01-02 | - | true',
      'PROJ-2 | 1 | To Do | - | 2024-01-01 | - | true',
    ],
  ],
  [
    'sprint',
    [
      'PROJ-1 | 1 | One | - | 2024-01-01 | 2024-01-05 | false',
      'PROJ-1 | 1 | One | - | 2024-01-06 | 2024-01-07 | false',
      'PROJ-1 | 2 | Two | - | 2024-01-06 | - | true',
      // A change of sprints names all of them, and this one is in none.
      'PROJ-1 | 3 | Three | - | 2024-03-01 | - | true',
      'PROJ-2 | 9 | Sprint 9 | - | 2024-01-05 | 2024-03-01 | false',
    ],
  ],
  [
    'fix_versions',
    [
      'PROJ-1 | 70 | 1.0 | - | 2024-01-05 | 2024-01-06 | false',
      'PROJ-1 | 71 | 1.1 | - | 2024-01-06 | - | true',
      'PROJ-1 | 70 | 1.0 | - | 2024-03-01 | - | true',
    ],
  ],
  [
    'risk',
    [
      'PROJ-1 | 10 | Low | - | 2024-01-01 | 2024-01-02 | false',
      'PROJ-1 | 11 | High | - | 2024-01-02 | - | true',
      'PROJ-2 | - | - | - | 2024-01-01 | - | true',
    ],
  ],
  [
    'reviewer',
    ['PROJ-1 | - | - | - | 2024-01-01 | - | true', 'PROJ-2 | cid | Cid | - | 2024-01-01 | - | true'],
  ],
])('the history of %s', async (field, rows) => {
  await shows(lines(field), rows);
});

test('each issue has one value as of any instant, and today that of bi.issues', async () => {
  const asOf = (at: string) => `select source, issue_key, field_name, count(*) from bi.issue_field_history
    where field_name in ('status', 'assignee', 'priority', 'story_points') and valid_from <= ${at} and (valid_to > ${at} or valid_to is null)
    group by 1, 2, 3`;
  for (const at of [`'2024-01-01Z'`, `'2024-01-03Z'`, `'2024-01-03 12:00Z'`, 'now()']) {
    await shows(`select count(*), max(count), count(distinct (source, issue_key)) from (${asOf(at)}) t`, [
      '12 | 1 | 3',
    ]);
  }
  await shows(
    `select h.issue_key, h.field_name from bi.issue_field_history h join bi.issues i using (source, issue_id)
      where h.is_current and h.value_text is distinct from case h.field_name when 'status' then i.status
        when 'assignee' then i.assignee_name when 'story_points' then trim_scale(i.story_points)::text end
      and h.field_name in ('status', 'assignee', 'story_points')`,
    [],
  );
});

test('people in the history go by pseudonyms where names are not shown', async () => {
  const names = (shown: boolean) =>
    read(
      `create or replace function ops.shows_names() returns boolean immutable parallel safe return ${shown}`,
    );
  onTestFinished(async () => void (await names(true)));
  await names(false);
  const people = await read(
    `select distinct value_text from bi.issue_field_history where field_name in ('assignee', 'reviewer') and value_text is not null`,
  );
  expect(people).toHaveLength(4);
  for (const person of people) expect(person).toMatch(/^Person [0-9a-f]{12}$/);
});
