import { expect, onTestFinished, test } from 'vitest';
import {
  changeColumns,
  doing,
  done,
  issueColumns,
  loadVocabulary,
  reading,
  statusChange,
  toDo,
} from './reading.ts';

const flags = ['member', 'committed', 'added', 'removed', 'done', 'carried_over'];
/** The issues of a sprint, each with what is true of it. */
const fared = (sprint: string) =>
  read(`select issue_key, concat_ws(' ', ${flags.map((name) => `case when is_${name} then '${name}' end`).join(', ')})
    from bi.sprint_issues where source = 'tracker' and sprint_id = '${sprint}' order by issue_key`);

let history = 1000;
const moved = (issue: number, at: string, from: string, to: string): string => {
  history += 1;
  return `1, ${history}, 0, ${issue}, '${at}', 'ann', 'customfield_10020', 'Sprint', '${from}', '', '${to}', ''`;
};
const status = (
  issue: number,
  at: string,
  from: readonly [string, string],
  to: readonly [string, string],
): string => {
  history += 1;
  return statusChange([history, 0], issue, at, from, to);
};

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert('tracker.boards (source_id, id, name, type, project_id)', [
    `1, 7, 'Product board', 'scrum', 10`,
  ]);
  await insert('tracker.fields (source_id, id, name, custom, role)', [
    `1, 'customfield_10020', 'Sprint', true, 'sprint'`,
    `1, 'customfield_99', 'Sprint', true, null`,
  ]);
  await insert(
    'tracker.sprints (source_id, id, name, state, board_id, start_at, end_at, completed_at, _deleted_at)',
    [
      `1, 1, 'One', 'closed', 7, '2024-03-04 09:00Z', '2024-03-15 09:00Z', '2024-03-18 10:00Z', null`,
      `1, 2, 'Two', 'active', 7, '2024-03-18 12:00Z', '2024-04-01 09:00Z', null, null`,
      `1, 3, 'Three', 'future', 7, null, null, null, null`,
      `1, 4, 'Four', 'closed', 7, '2024-01-01Z', '2024-01-02Z', '2024-01-02Z', now()`,
      `2, 1, 'Other', 'closed', null, '2024-03-04Z', '2024-03-08Z', null, null`,
    ],
  );
  const issue = (
    id: number,
    points: number | null,
    statusId: number,
    created = '2024-02-20Z',
    deleted = 'null',
  ) => `1, ${id}, 'PROJ-${id}', 10, 2, ${statusId}, 'ann', ${points}, '${created}', '${created}', ${deleted}`;
  await insert(issueColumns, [
    issue(201, 5, 4),
    issue(202, 3, 4),
    issue(203, 2, 4),
    issue(204, 8, 1),
    issue(205, null, 4),
    issue(206, 100, 1),
    issue(207, 1, 1, '2024-03-06Z'),
    issue(208, 50, 4, '2024-02-20Z', 'now()'),
    issue(209, 13, 1),
    issue(210, 1, 2),
    issue(211, 4, 1),
    issue(212, null, 1),
    // Created in a sprint that was over.
    issue(213, null, 1, '2024-03-25Z'),
    `2, 201, 'ELSE-1', 10, 1, 4, null, 4, '2024-03-01Z', '2024-03-01Z', null`,
  ]);
  await insert(changeColumns, [
    // 201 was planned, and done in time.
    moved(201, '2024-03-01Z', '', '1'),
    status(201, '2024-03-10Z', toDo, done),
    // 202 was taken along into the next sprint, where it was done.
    moved(202, '2024-03-01Z', '', '1'),
    moved(202, '2024-03-18 10:00:01Z', '1', '1, 2'),
    status(202, '2024-03-05Z', toDo, doing),
    status(202, '2024-03-20Z', doing, done),
    // 203 came late, and was done at the very end.
    moved(203, '2024-03-06Z', '', '1'),
    status(203, '2024-03-18 10:00Z', toDo, done),
    // 204 was taken out, and planned for a sprint to come.
    moved(204, '2024-03-01Z', '', '1'),
    moved(204, '2024-03-07Z', '1', ''),
    moved(204, '2024-03-08Z', '', '3'),
    // 205 was created in its sprint; done after the planned end, before the real one.
    status(205, '2024-03-17Z', toDo, done),
    // 206 was withdrawn before the start.
    moved(206, '2024-03-01Z', '', '1'),
    moved(206, '2024-03-02Z', '1', ''),
    // 207 was created in the sprint while it ran, and moved to the next.
    moved(207, '2024-03-08Z', '1', '2'),
    // 208 is deleted.
    moved(208, '2024-03-01Z', '', '1'),
    // 209 left for a day.
    moved(209, '2024-03-01Z', '', '1'),
    moved(209, '2024-03-05Z', '1', ''),
    moved(209, '2024-03-06Z', '', '1'),
    // 210 was done, and reopened after the end.
    moved(210, '2024-03-01Z', '', '1'),
    status(210, '2024-03-05Z', toDo, done),
    status(210, '2024-03-25Z', done, doing),
    // 211 was taken out and 212 put in when all was over.
    moved(211, '2024-03-01Z', '', '1'),
    moved(211, '2024-03-19Z', '1', '2'),
    moved(212, '2024-03-20Z', '', '1'),
    // Another field that is called Sprint.
    `1, 900, 0, 201, '2024-03-01Z', 'ann', 'customfield_99', 'Sprint', '', '', '2', 'London'`,
    // A source that does not list its fields.
    `2, 900, 0, 201, '2024-03-02Z', null, 'customfield_5', 'Sprint', '', '', '1', 'Other'`,
  ]);
  await insert('tracker.issue_sprints (source_id, issue_id, sprint_id)', [
    ...[201, 202, 203, 205, 208, 209, 210, 213].map((id) => `1, ${id}, 1`),
    `1, 202, 2`,
    `1, 207, 2`,
    `1, 204, 3`,
    `2, 201, 1`,
  ]);
  await insert('tracker.sprint_issues (source_id, sprint_id, issue_id)', [
    `1, 1, 205`,
    `1, 2, 202`,
    `1, 4, 201`,
  ]);
});

test('a closed sprint shows what it began with, what came and went, and what was done at its completion', async () => {
  expect(await fared('1')).toEqual([
    'PROJ-201 | member committed done',
    'PROJ-202 | member committed carried_over',
    'PROJ-203 | member added done',
    'PROJ-204 | committed removed',
    'PROJ-205 | member committed done',
    'PROJ-206 | ',
    'PROJ-207 | added removed',
    'PROJ-209 | member committed carried_over',
    'PROJ-210 | member committed done',
    'PROJ-211 | committed carried_over',
    'PROJ-212 | member',
    'PROJ-213 | member',
  ]);
});

test('an active sprint is judged as of now, a future one has members only', async () => {
  expect(await fared('2')).toEqual([
    'PROJ-202 | member committed done',
    'PROJ-207 | member committed carried_over',
    'PROJ-211 | member added carried_over',
  ]);
  expect(await fared('3')).toEqual(['PROJ-204 | member']);
});

test('an issue came into its sprint by a change, or was created in it; it left only if it is not in it', async () => {
  await shows(
    `select issue_key, added_at::text, removed_at::text, status_category_at_end from bi.sprint_issues
      where source = 'tracker' and sprint_id = '1' and issue_key in ('PROJ-201', 'PROJ-204', 'PROJ-205', 'PROJ-207', 'PROJ-209')
      order by issue_key`,
    [
      'PROJ-201 | 2024-03-01 | - | done',
      'PROJ-204 | 2024-03-01 | 2024-03-07 | todo',
      'PROJ-205 | 2024-02-20 | - | done',
      'PROJ-207 | 2024-03-06 | 2024-03-08 | todo',
      'PROJ-209 | 2024-03-01 | - | todo',
    ],
  );
});

test('a sprint adds up its issues and their points', async () => {
  const sums = flags.map((name) => `${name}_issues::integer || ' of ' || ${name}_points::float8`).join(', ');
  const sprints = (source: string) =>
    read(
      `select sprint_name, ${sums}, done_to_committed_ratio from bi.sprints where source = '${source}' order by sprint_id`,
    );
  expect(await sprints('tracker')).toEqual([
    'One | 8 of 24 | 7 of 34 | 2 of 3 | 2 of 9 | 4 of 8 | 3 of 20 | 0.2353',
    'Two | 3 of 8 | 2 of 4 | 1 of 4 | 0 of 0 | 1 of 3 | 2 of 5 | 0.7500',
    'Three | 1 of 8 | 0 of 0 | 0 of 0 | 0 of 0 | 0 of 0 | 0 of 0 | -',
  ]);
  // Nothing was done: none of what it committed to.
  expect(await sprints('elsewhere')).toEqual([
    expect.stringMatching(/^Other \| .* \| 1 of 4 .* \| 0\.0000$/),
  ]);
});

test('a sprint selected by its id is the same as in the list of all', async () => {
  const one = `where source = 'tracker' and sprint_id = '1'`;
  await shows(
    `select * from bi.sprints ${one}`,
    await read(`select * from (select * from bi.sprints offset 0) s ${one}`),
  );
});

test('without a list of fields the field called Sprint is taken, and the id counts within its source', async () => {
  await shows(
    `select sprint_name, issue_key, is_committed, is_done, added_at::text from bi.sprint_issues where source = 'elsewhere'`,
    ['Other | ELSE-1 | true | false | 2024-03-02'],
  );
});

test('a reopened sprint is judged as of now, though it still has its completion', async () => {
  const closed = await fared('1');
  await read(`update tracker.sprints set state = 'active' where source_id = 1 and id = 1`);
  onTestFinished(async () => {
    await read(`update tracker.sprints set state = 'closed' where source_id = 1 and id = 1`);
  });
  // 202 was done, 210 reopened, 211 taken out, 212 put in and 213 created after the first completion.
  expect((await fared('1')).filter((line) => !closed.includes(line))).toEqual([
    'PROJ-202 | member committed done',
    'PROJ-210 | member committed carried_over',
    'PROJ-211 | committed removed',
    'PROJ-212 | member added carried_over',
    'PROJ-213 | member added carried_over',
  ]);
  await shows(`select completed_at from bi.sprints where source = 'tracker' and sprint_id = '1'`, ['-']);
});

test('an issue without history that was resolved after the end of its sprint was not done in it', async () => {
  await insert(`${issueColumns.replace(')', ', resolved_at)')}`, [
    `1, 220, 'MUTE-1', 10, 2, 4, 'ann', 1, '2024-02-20Z', '2024-04-01Z', null, '2024-03-18 09:00Z'`,
    `1, 221, 'MUTE-2', 10, 2, 4, 'ann', 1, '2024-02-20Z', '2024-04-01Z', null, '2024-03-19Z'`,
  ]);
  const sprints = ['1, 220, 1', '1, 221, 1'];
  await insert('tracker.issue_sprints (source_id, issue_id, sprint_id)', sprints);
  onTestFinished(async () => {
    await read('delete from tracker.issue_sprints where issue_id in (220, 221)');
    await read('delete from tracker.issues where id in (220, 221)');
  });
  await shows(
    `select issue_key, is_done, is_carried_over, status_category_at_end from bi.sprint_issues
      where issue_key like 'MUTE-%' order by 1`,
    ['MUTE-1 | true | false | done', 'MUTE-2 | false | true | unknown'],
  );
});
