import { expect, onTestFinished, test } from 'vitest';
import {
  changeColumns,
  done,
  issueColumns,
  loadVocabulary,
  reading,
  relations,
  statusChange,
  toDo,
} from './reading.ts';

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert('tracker.boards (source_id, id, name, type, project_id, _deleted_at)', [
    `1, 7, 'Product board', 'scrum', 10, null`,
    `1, 8, 'Old board', 'kanban', 10, now()`,
  ]);
  await insert(issueColumns, [
    `1, 1, 'PROJ-1', 10, 1, 1, 'ann', 3, '2023-12-31 20:00-05', '2024-01-02Z', null`,
    `1, 2, 'PROJ-2', 10, 2, 4, 'ann', 12345.678901, '2024-01-01Z', '2024-01-05Z', null`,
    `1, 3, 'GONE-3', 10, 1, 1, 'ann', 5, '2024-01-01Z', '2024-01-02Z', now()`,
  ]);
  await read(`update tracker.issues set summary = 'Fix it', priority_id = 9, assignee_id = 'bob', reporter_id = 'ann', parent_id = 2,
      labels = '{red,blue}', components = '{API}', fix_versions = '{1.0,1.1}', due_date = '2024-01-03', original_estimate_seconds = 5400,
      remaining_estimate_seconds = 1800, time_spent_seconds = 9223372036854775807, votes = 2, watchers = 3,
      custom_fields = '{"customfield_1": 4.5, "customfield_2": ["x", "y"], "customfield_3": {"deep": [1]}, "customfield_4": []}'
    where source_id = 1 and id = 1`);
  await read(
    `update tracker.issues set custom_fields = '{"customfield_1": 1}' where source_id = 1 and id = 3`,
  );
  await read(`update tracker.issues set resolution = 'Fixed', resolved_at = '2024-01-04 12:00Z', epic_key = 'FAR-1', due_date = '2024-01-03'
    where source_id = 1 and id = 2`);
  await insert('tracker.priorities (source_id, id, name, rank)', [`1, 9, 'High', 2`]);
  await insert('tracker.fields (source_id, id, name, custom, schema_type)', [
    `1, 'customfield_1', 'Size', true, 'number'`,
    `1, 'customfield_2', 'Teams', true, 'array'`,
    `1, 'status', 'Status', false, 'status'`,
  ]);
  await insert('tracker.issue_labels (source_id, issue_id, label)', [
    `1, 1, 'red'`,
    `1, 1, 'blue'`,
    `1, 3, 'red'`,
  ]);
  await insert('tracker.issue_links (source_id, issue_id, link_id, direction)', [`1, 3, 1, 'outward'`]);
  await insert(changeColumns, [
    statusChange([1, 0], 2, '2024-01-04 12:00Z', toDo, done),
    `1, 1, 1, 2, '2024-01-04 12:00Z', null, 'customfield_77', 'Forgotten', null, null, 'x', 'X'`,
    statusChange([2, 0], 3, '2024-01-02Z', toDo, done),
  ]);
  await insert(
    'tracker.worklogs (source_id, id, issue_id, author_id, started_at, time_spent_seconds, comment, visibility, _deleted_at)',
    [
      `1, 1, 1, 'ann', '2024-03-30 23:30Z', 5400, 'Thinking', null, null`,
      `1, 2, 1, 'bob', '2024-03-31 05:00Z', 60, 'Secret', 'role:Administrators', null`,
      `1, 3, 1, 'cid', '2024-03-31 23:30Z', 3600, null, null, null`,
      `1, 4, 1, 'who', '2024-03-31 23:30Z', 3600, null, null, null`,
      `1, 5, 1, 'ann', '2024-03-31 23:30Z', 3600, null, null, now()`,
      `1, 6, 3, 'ann', '2024-03-31 23:30Z', 3600, null, null, null`,
    ],
  );
  await insert(
    'tracker.comments (source_id, id, issue_id, author_id, body, visibility, is_public, created_at, updated_at, _deleted_at)',
    [
      `1, 1, 1, 'ann', 'Hello', null, true, '2024-01-01 23:30-02', '2024-01-02 02:00Z', null`,
      `1, 2, 1, 'bob', 'Secret', 'role:Administrators', false, '2024-01-02Z', '2024-01-02Z', null`,
      `1, 3, 1, 'ann', 'Withdrawn', null, null, '2024-01-02Z', '2024-01-02Z', now()`,
      `1, 4, 3, 'ann', 'On a deleted issue', null, null, '2024-01-02Z', '2024-01-02Z', null`,
    ],
  );
  await insert('tracker.sprints (source_id, id, name, state)', [`1, 1, 'One', 'future'`]);
  await insert('tracker.issue_sprints (source_id, issue_id, sprint_id)', [`1, 1, 1`, `1, 3, 1`]);
});

test('an issue has the names of what it refers to, hours and UTC days', async () => {
  await shows(
    `select issue_id, summary, project_key, project_name, issue_type, status, status_category, priority, priority_rank,
        assignee_id, assignee_name, reporter_name, parent_issue_id, parent_issue_key, labels, components, fix_versions
      from bi.issues where issue_key = 'PROJ-1'`,
    [
      '1 | Fix it | PROJ | Product | Bug | To Do | todo | High | 2 | bob | Bob | Ann | 2 | PROJ-2 | red, blue | API | 1.0, 1.1',
    ],
  );
  await shows(
    `select issue_key, created_date, resolved_date, story_points, original_estimate_hours, remaining_estimate_hours,
        time_spent_hours, is_open, is_overdue, epic_issue_key from bi.issues order by issue_key`,
    [
      'PROJ-1 | 2024-01-01 | - | 3.0000 | 1.50 | 0.50 | 2562047788015215.50 | true | true | FAR-1',
      'PROJ-2 | 2024-01-01 | 2024-01-04 | 12345.6789 | - | - | - | false | false | FAR-1',
    ],
  );
  await shows(`select age_days from bi.issues where issue_key = 'PROJ-2'`, ['3.500']);
});

test('hours by epic hold the work on its sub-tasks and its own', async () => {
  await insert('tracker.issue_types (source_id, id, name, subtask, hierarchy_level)', [
    `1, 60, 'Großaufgabe', false, 1`,
    `1, 61, 'Aufgabe', false, 0`,
    `1, 62, 'Teilaufgabe', true, -1`,
  ]);
  await insert('tracker.fields (source_id, id, name, custom, schema_custom)', [
    `2, 'customfield_9', 'Epic Name', true, 'com.pyxis.greenhopper.jira:gh-epic-label'`,
  ]);
  const issue = (source: number, id: number, type: number, more: string, fields = '{}') =>
    `${source}, ${id}, 'EP-${id}', 10, ${type}, 1, ${more}, '${fields}', '2024-01-01Z', '2024-03-01Z'`;
  await insert(
    `tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, parent_id, epic_id, epic_key, custom_fields,
      created_at, updated_at)`,
    [
      issue(1, 60, 60, 'null, null, null'),
      // By the parent; by the link to the epic, beside another parent; of both kinds a sub-task.
      issue(1, 61, 61, '60, null, null'),
      issue(1, 62, 61, `null, 60, 'EP-60'`),
      issue(1, 63, 62, '61, null, null'),
      issue(1, 64, 62, '62, null, null'),
      issue(1, 65, 62, '66, null, null'),
      issue(1, 66, 61, `null, null, 'FAR-1'`),
      issue(1, 67, 62, '68, null, null'),
      // A server that says no levels.
      issue(2, 60, 9, 'null, null, null', '{"customfield_9": "Launch"}'),
      issue(2, 61, 9, `null, null, 'EP-60'`),
      issue(2, 62, 9, '61, null, null'),
    ],
  );
  await insert('tracker.issue_keys (source_id, key, issue_id)', [`1, 'EP-60', 60`, `2, 'EP-60', 60`]);
  await insert(
    'tracker.worklogs (source_id, id, issue_id, started_at, time_spent_seconds)',
    [...[60, 61, 62, 63, 64, 65, 66, 67].map((id) => [1, id]), ...[60, 61, 62].map((id) => [2, id])].map(
      ([source, id]) => `${source}, ${id}, ${id}, '2024-04-01Z', 3600`,
    ),
  );
  onTestFinished(async () => {
    await read('delete from tracker.worklogs where id between 60 and 68');
    await read('delete from tracker.issues where id between 60 and 68');
    await read('delete from tracker.issue_keys where issue_id = 60');
    await read('delete from tracker.issue_types where id between 60 and 62');
  });
  await shows(
    `select i.source, i.epic_issue_id, i.epic_issue_key, sum(w.time_spent_hours) from bi.worklogs w
      join bi.issues i on i.source = w.source and i.issue_id = w.issue_id
      where w.work_date = '2024-04-01' group by 1, 2, 3 order by 1, 2`,
    [
      'elsewhere | 60 | EP-60 | 3.00',
      'tracker | 60 | EP-60 | 5.00',
      'tracker | - | FAR-1 | 2.00',
      'tracker | - | - | 1.00',
    ],
  );
  await shows(
    `select issue_key, direct_epic_issue_key from bi.issues where source = 'tracker' and direct_epic_issue_key is not null
      and issue_key like 'EP-%' order by 1`,
    ['EP-62 | EP-60', 'EP-66 | FAR-1'],
  );
});

test('an epic that issues name by its key has the key of today, also after it moved', async () => {
  await insert(issueColumns, [
    `1, 50, 'OPS-4', 20, 2, 1, null, null, '2024-01-01Z', '2024-03-01Z', null`,
    `1, 51, 'PROJ-51', 10, 2, 1, null, null, '2024-01-01Z', '2024-02-01Z', null`,
    `1, 52, 'PROJ-52', 10, 2, 1, null, null, '2024-01-01Z', '2024-04-01Z', null`,
    `2, 50, 'PROJ-50', 10, 1, 4, null, null, '2024-01-01Z', '2024-03-01Z', null`,
  ]);
  const keys = [`1, 'PROJ-50', 50`, `1, 'OPS-4', 50`, `2, 'PROJ-50', 50`];
  await insert('tracker.issue_keys (source_id, key, issue_id)', keys);
  onTestFinished(async () => {
    await read('delete from tracker.issues where id between 50 and 52');
    await read('delete from tracker.issue_keys where issue_id = 50');
  });
  await read(
    `update tracker.issues set epic_key = case id when 51 then 'PROJ-50' else 'OPS-4' end where source_id = 1 and id in (51, 52)`,
  );
  await shows(`select epic_issue_key, count(*) from bi.issues where issue_id in ('51', '52') group by 1`, [
    'OPS-4 | 2',
  ]);
});

test.each([
  [
    'work is dated in the zone of its author, in UTC where Postgres does not have that zone',
    `select worklog_id, author_name, work_date, time_spent_hours, is_restricted from bi.worklogs order by worklog_id`,
    [
      '1 | Ann | 2024-03-31 | 1.50 | false',
      '2 | Bob | 2024-03-30 | 0.02 | true',
      '3 | Cid | 2024-03-31 | 1.00 | false',
      '4 | - | 2024-03-31 | 1.00 | false',
    ],
  ],
  [
    'restricted comments are counted',
    `select comment_id, author_name, is_restricted, is_public, is_edited, created_date from bi.comments order by comment_id`,
    ['1 | Ann | false | true | true | 2024-01-02', '2 | Bob | true | false | false | 2024-01-02'],
  ],
  [
    'a change has the name of its field today, or else at the time',
    `select history_id, item_number, issue_key, changed_date, changed_by_name, field_id, field_name, old_value, new_value,
      old_id, new_id from bi.issue_changes order by history_id, item_number`,
    [
      '1 | 0 | PROJ-2 | 2024-01-04 | Ann | status | Status | To Do | Done | 1 | 4',
      '1 | 1 | PROJ-2 | 2024-01-04 | - | customfield_77 | Forgotten | - | X | - | x',
    ],
  ],
  [
    'each value of each custom field is a row',
    `select issue_key, field_id, field_name, value_number_in_field, value_text, value_number
      from bi.issue_custom_fields order by field_id, value_number_in_field`,
    [
      'PROJ-1 | customfield_1 | Size | 1 | 4.5 | 4.5',
      'PROJ-1 | customfield_2 | Teams | 1 | x | -',
      'PROJ-1 | customfield_2 | Teams | 2 | y | -',
      'PROJ-1 | customfield_3 | customfield_3 | 1 | {"deep": [1]} | -',
    ],
  ],
  [
    'projects have their leads',
    'select source, project_key, lead_name, is_archived from bi.projects order by source, project_key',
    ['elsewhere | ELSE | - | false', 'tracker | OPS | Bob | false', 'tracker | PROJ | Ann | false'],
  ],
  [
    'boards have their projects',
    'select board_id, board_name, project_key from bi.boards',
    ['7 | Product board | PROJ'],
  ],
  [
    'users have their zones',
    'select user_id, user_name, is_active, time_zone from bi.users order by user_id limit 1',
    ['ann | Ann | true | Europe/Berlin'],
  ],
  [
    'labels are rows',
    'select issue_key, issue_label from bi.issue_labels order by issue_label',
    ['PROJ-1 | blue', 'PROJ-1 | red'],
  ],
  [
    'the calendar has every day from 2010 to 2039, its weeks those of date_trunc',
    `select count(*), min(date_day), max(date_day), bool_and(week_start = date_trunc('week', date_day)::date),
      count(*) filter (where is_weekend) from bi.calendar`,
    ['10957 | 2010-01-01 | 2039-12-31 | true | 3131'],
  ],
  [
    'a day of the calendar has its week, month, quarter and year',
    `select date_day, week_start, month_start, quarter_start, year_start, iso_year, iso_week, month_number, day_of_week, day_name,
      is_weekend from bi.calendar where date_day = '2021-01-03'`,
    ['2021-01-03 | 2020-12-28 | 2021-01-01 | 2021-01-01 | 2021-01-01 | 2020 | 53 | 1 | 7 | Sunday | true'],
  ],
])('%s', async (_, query, rows) => {
  await shows(query, rows);
});

test('a deleted issue is in no view', async () => {
  const named = await read(
    `select table_name from information_schema.columns where table_schema = 'bi' and column_name = 'issue_key'`,
  );
  expect(named).toHaveLength(12);
  const views = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    for (const name of named)
      if ((await read(`select 1 from bi.${name} where issue_key = 'GONE-3'`)).length > 0) found.push(name);
    return found;
  };
  expect(await views()).toEqual([]);
  await read(`update tracker.issues set _deleted_at = null where id = 3`);
  onTestFinished(async () => {
    await read(`update tracker.issues set _deleted_at = now() where id = 3`);
  });
  expect(await views()).toEqual(named);
});

test('no e-mail address is anywhere in the reading schema', async () => {
  expect(await read(`select from tracker.users where email like '%@example.com'`)).toHaveLength(3);
  for (const name of await relations(read))
    expect([name, await read(`select 1 from bi.${name} t where t::text like '%@example.com%'`)]).toEqual([
      name,
      [],
    ]);
});
