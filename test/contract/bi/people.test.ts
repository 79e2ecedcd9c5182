import { expect, test } from 'vitest';
import { changeColumns, issueColumns, loadVocabulary, reading } from './reading.ts';

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert(issueColumns, [
    `1, 1, 'PROJ-1', 10, 1, 1, 'ann', null, '2024-01-01Z', '2024-01-01Z', null`,
    `1, 2, 'GONE-2', 10, 1, 1, 'ann', null, '2024-01-01Z', '2024-01-01Z', now()`,
  ]);
  await insert('tracker.fields (source_id, id, name, custom, schema_type, items_type)', [
    `1, 'customfield_1', 'Reviewer', true, 'user', null`,
    `1, 'customfield_2', 'Team', true, 'option', null`,
  ]);
  await insert(changeColumns, [
    `1, 1, 0, 1, '2024-01-01Z', 'ann', 'assignee', 'assignee', null, null, 'bob', 'Bob'`,
    `1, 1, 1, 1, '2024-01-01Z', 'ann', 'customfield_1', 'Reviewer', 'ann', 'Ann', 'who', 'Somebody'`,
    `1, 1, 2, 1, '2024-01-01Z', 'ann', 'customfield_2', 'Team', '1', 'Red', '2', 'Blue'`,
    `1, 1, 3, 1, '2024-01-01Z', 'ann', 'Comment', 'Comment', null, 'My salary is', null, 'Nothing'`,
  ]);
  await insert(
    'tracker.comments (source_id, id, issue_id, author_id, body, visibility, created_at, updated_at)',
    [
      `1, 1, 1, 'ann', 'Hello', null, '2024-01-01Z', '2024-01-01Z'`,
      `1, 2, 1, 'bob', 'Secret', 'role:Administrators', '2024-01-01Z', '2024-01-01Z'`,
      `1, 3, 2, 'bob', 'On a deleted issue', null, '2024-01-01Z', '2024-01-01Z'`,
    ],
  );
  await insert(
    'tracker.worklogs (source_id, id, issue_id, author_id, comment, visibility, started_at, time_spent_seconds)',
    [
      `1, 1, 1, 'ann', 'Thinking', null, '2024-01-01Z', 60`,
      `1, 2, 1, 'bob', 'Secret', 'group:staff', '2024-01-01Z', 60`,
      `1, 3, 1, 'who', null, null, '2024-01-01Z', 60`,
    ],
  );
});

const changes =
  'select changed_by_name, field_id, old_value, new_value from bi.issue_changes order by item_number';

test('what is personal stands in bi_pii, and restricted text nowhere', async () => {
  await shows('select user_id, user_name, email from bi_pii.users order by user_id limit 2', [
    'ann | Ann | ann@example.com',
    'bob | Bob | bob@example.com',
  ]);
  await shows('select comment_id, issue_key, body from bi_pii.comments order by comment_id', [
    '1 | PROJ-1 | Hello',
    '2 | PROJ-1 | -',
  ]);
  await shows('select worklog_id, issue_key, work_comment from bi_pii.worklogs order by worklog_id', [
    '1 | PROJ-1 | Thinking',
    '2 | PROJ-1 | -',
    '3 | PROJ-1 | -',
  ]);
  await shows(
    `select table_name, column_name from information_schema.columns
      where table_schema = 'bi' and column_name in ('email', 'body', 'work_comment')`,
    [],
  );
});

test('changes name people, and do not repeat what comments said', async () => {
  await shows(changes, [
    'Ann | assignee | - | Bob',
    'Ann | customfield_1 | Ann | Somebody',
    'Ann | customfield_2 | Red | Blue',
    'Ann | Comment | - | -',
  ]);
});

test('a person has one pseudonym in all views, and none where there is no name', async () => {
  await read(
    `create or replace function ops.shows_names() returns boolean immutable parallel safe return false`,
  );
  const [ann, bob, cid] = await read('select user_name from bi.users order by user_id');
  const people = new Set([ann, bob, cid]);
  expect(people.size).toBe(3);
  for (const person of people) expect(person).toMatch(/^Person [0-9a-f]{12}$/);
  await shows('select author_name from bi.comments order by comment_id', [ann, bob]);
  await shows('select author_name from bi.worklogs order by worklog_id', [ann, bob, '-']);
  await shows(`select lead_name from bi.projects where source = 'tracker' order by project_key`, [bob, ann]);
  await shows(changes, [
    `${ann} | assignee | - | ${bob}`,
    expect.stringMatching(`^${ann} \\| customfield_1 \\| ${ann} \\| Person [0-9a-f]{12}$`),
    `${ann} | customfield_2 | Red | Blue`,
    `${ann} | Comment | - | -`,
  ]);
  await shows('select user_name from bi_pii.users order by user_id limit 1', ['Ann']);
});
