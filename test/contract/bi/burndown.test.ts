import { expect, test } from 'vitest';
import {
  changeColumns,
  type doing,
  done,
  issueColumns,
  loadVocabulary,
  reading,
  statusChange,
  toDo,
} from './reading.ts';

let history = 0;
const changed = (issue: number, at: string, field: string, from: string, to: string): string => {
  history += 1;
  const name = field === 'customfield_1' ? 'Sprint' : 'Story Points';
  return `1, ${history}, 0, ${issue}, '${at}', 'ann', '${field}', '${name}', '${from}', '${from}', '${to}', '${to}'`;
};
const joined = (issue: number, at: string, sprint = '1') => changed(issue, at, 'customfield_1', '', sprint);
const left = (issue: number, at: string) => changed(issue, at, 'customfield_1', '1', '');
const estimated = (issue: number, at: string, from: string, to: string) =>
  changed(issue, at, 'customfield_2', from, to);
const moved = (
  issue: number,
  at: string,
  from: typeof toDo | typeof doing,
  to: typeof doing | typeof done,
) => {
  history += 1;
  return statusChange([history, 0], issue, at, from, to);
};

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert('tracker.fields (source_id, id, name, custom, role)', [
    `1, 'customfield_1', 'Sprint', true, 'sprint'`,
    `1, 'customfield_2', 'Story Points', true, 'story_points'`,
  ]);
  await insert('tracker.sprints (source_id, id, name, state, start_at, end_at, completed_at)', [
    `1, 1, 'One', 'closed', '2024-03-04 09:00Z', '2024-03-08 09:00Z', '2024-03-08 15:00Z'`,
    `1, 2, 'Two', 'active', now() - interval '1 day', now() + interval '3 days', null`,
    `1, 3, 'Three', 'future', '2999-01-01Z', '2999-01-08Z', null`,
  ]);
  const created = '2024-03-01Z';
  const issue = (id: number, points: number | null, status: number) =>
    `1, ${id}, 'PROJ-${id}', 10, 2, ${status}, 'ann', ${points}, '${created}', '${created}', null`;
  await insert(issueColumns, [
    issue(1, 5, 4),
    issue(2, 8, 1),
    issue(3, 2, 4),
    issue(4, 13, 1),
    issue(5, 1, 4),
  ]);
  await insert(changeColumns, [
    // Committed with 3, estimated anew, done.
    estimated(1, '2024-03-02Z', '', '3'),
    joined(1, '2024-03-03Z'),
    estimated(1, '2024-03-06 10:00Z', '3', '5'),
    moved(1, '2024-03-07 10:00Z', toDo, done),
    // Committed and removed.
    joined(2, '2024-03-03Z'),
    left(2, '2024-03-05 10:00Z'),
    // Added without an estimate, which came later; done after the sprint was closed.
    joined(3, '2024-03-06 10:00Z'),
    estimated(3, '2024-03-07 10:00Z', '', '2'),
    moved(3, '2024-03-08 16:00Z', toDo, done),
    // Committed, estimated after the sprint, and then in the next ones.
    joined(4, '2024-03-03Z'),
    estimated(4, '2024-03-20Z', '', '13'),
    changed(4, '2024-03-20Z', 'customfield_1', '1', '1, 2, 3'),
    // Done before the start.
    moved(5, '2024-03-02Z', toDo, done),
    joined(5, '2024-03-03Z'),
  ]);
});

test('points of a sprint are those of the moment, and add up', async () => {
  await shows(
    `select committed_issues, committed_points::float8, added_issues, added_points::float8, removed_issues, removed_points::float8,
       done_issues, done_points::float8, carried_over_issues, carried_over_points::float8, reestimated_points::float8
     from bi.sprints where sprint_id = '1'`,
    ['4 | 12 | 1 | 0 | 1 | 8 | 2 | 6 | 2 | 2 | 4'],
  );
  await shows(
    `select sprint_id from bi.sprints
     where committed_points + added_points + reestimated_points - removed_points <> done_points + carried_over_points`,
    [],
  );
  await shows(
    `select issue_key, committed_points::float8, added_points::float8, removed_points::float8, done_points::float8,
       carried_over_points::float8, reestimated_points::float8 from bi.sprint_issues where sprint_id = '1' order by issue_key`,
    [
      'PROJ-1 | 3 | - | - | 5 | - | 2',
      'PROJ-2 | 8 | - | 8 | - | - | 0',
      'PROJ-3 | - | 0 | - | - | 2 | 2',
      'PROJ-4 | 0 | - | - | - | 0 | 0',
      'PROJ-5 | 1 | - | - | 1 | - | 0',
    ],
  );
});

test('a burndown has every day of the sprint, and ends with what was carried over', async () => {
  await shows(
    `select date_day::text, day_number, scope_issues, remaining_issues, scope_points::float8, remaining_points::float8, ideal_points::float8
     from bi.sprint_burndown_daily where sprint_id = '1' order by date_day`,
    [
      '2024-03-04 | 0 | 4 | 3 | 12 | 11 | 12',
      '2024-03-05 | 1 | 3 | 2 | 4 | 3 | 9',
      '2024-03-06 | 2 | 4 | 3 | 6 | 5 | 6',
      '2024-03-07 | 3 | 4 | 2 | 8 | 2 | 3',
      '2024-03-08 | 4 | 4 | 2 | 8 | 2 | 0',
    ],
  );
});

test('an active sprint burns down until today, a future one not at all', async () => {
  await shows(
    `select sprint_id, count(*), max(date_day) = (now() at time zone 'UTC')::date, min(remaining_points)::float8
     from bi.sprint_burndown_daily where sprint_id > '1' group by sprint_id`,
    ['2 | 2 | true | 13'],
  );
  expect(
    await read(
      `select sprint_name from bi.sprint_issues where issue_key = 'PROJ-4' and is_member order by 1`,
    ),
  ).toEqual(['One', 'Three', 'Two']);
  await shows(`select current_sprint from bi.issues where issue_key = 'PROJ-4'`, ['Two']);
});
