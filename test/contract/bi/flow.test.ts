import { expect, onTestFinished, test } from 'vitest';
import {
  changeColumns,
  doing,
  done,
  issueColumns,
  loadVocabulary,
  reading,
  review,
  statusChange,
  toDo,
} from './reading.ts';

const history = (key: string) =>
  read(`select status_sequence, status, status_category, transition, entered_at::text, left_at::text, is_current
    from bi.issue_status_history where source = 'tracker' and issue_key = '${key}' order by status_sequence`);

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert(issueColumns, [
    `1, 101, 'PROJ-1', 10, 1, 4, 'ann', 3, '2024-01-01Z', '2024-01-06Z', null`,
    `1, 102, 'PROJ-2', 10, 2, 2, 'ann', null, '2024-01-10Z', '2024-01-10Z', null`,
    `1, 103, 'PROJ-3', 10, 1, 4, 'ann', 0.5, '2024-01-01Z', '2024-01-08Z', null`,
    `1, 104, 'PROJ-4', 10, 1, 4, 'ann', 1, '2024-01-01Z', '2024-01-02Z', now()`,
    `1, 105, 'PROJ-5', 10, 2, 4, 'ann', 8, '2024-02-01Z', '2024-02-02Z', null`,
    `1, 106, 'OPS-1', 20, 1, 1, 'bob', 5, '2024-01-31 23:30-05', '2024-02-07Z', null`,
    `1, 107, 'HID-1', 77, null, 5, null, null, '2024-01-01Z', '2024-01-01Z', null`,
    `1, 108, 'OPS-2', 20, 2, 6, 'bob', 2, '2024-03-04Z', '2024-03-06Z', null`,
    `2, 101, 'ELSE-1', 10, 1, 4, null, null, '2024-01-01Z', '2024-01-01Z', null`,
  ]);
  await insert(changeColumns, [
    // Reopened once.
    statusChange([1, 0], 101, '2024-01-02Z', toDo, doing),
    statusChange([2, 0], 101, '2024-01-03Z', doing, done),
    statusChange([3, 0], 101, '2024-01-05Z', done, doing),
    statusChange([4, 0], 101, '2024-01-06Z', doing, done),
    // Another field says nothing of the status.
    `1, 5, 0, 101, '2024-01-04Z', 'ann', 'priority', 'priority', '1', 'High', '2', 'Low'`,
    // Came from a status that the source no longer has, and passed through one without a name.
    statusChange([6, 0], 103, '2024-01-04Z', ['99', 'Legacy'], toDo),
    `1, 7, 0, 103, '2024-01-06Z', null, 'status', 'status', '1', 'To Do', '98', null`,
    statusChange([8, 0], 103, '2024-01-08Z', ['98', ''], done),
    // Of a deleted issue.
    statusChange([9, 0], 104, '2024-01-02Z', toDo, done),
    // All at once, in the wrong order.
    statusChange([51, 0], 105, '2024-02-02Z', review, done),
    statusChange([50, 1], 105, '2024-02-02Z', doing, review),
    statusChange([50, 0], 105, '2024-02-02Z', toDo, doing),
    // Reopened and left open.
    statusChange([60, 0], 106, '2024-02-05Z', toDo, doing),
    statusChange([61, 0], 106, '2024-02-06Z', doing, done),
    statusChange([62, 0], 106, '2024-02-07Z', done, toDo),
    // From one done status to another.
    statusChange([63, 0], 108, '2024-03-05Z', toDo, done),
    statusChange([64, 0], 108, '2024-03-06Z', done, ['6', 'Closed']),
  ]);
});

/** Inserts what a test alone needs; gives what deletes it. */
const withMore = async (issues: readonly string[], changes: readonly string[], columns = issueColumns) => {
  await insert(columns, issues);
  if (changes.length > 0) await insert(changeColumns, changes);
  onTestFinished(async () => {
    await read('delete from tracker.issue_changelog where issue_id between 190 and 199');
    await read('delete from tracker.issues where id between 190 and 199');
  });
};

test('the history of a reopened issue begins with its creation, in the status its first change came from', async () => {
  expect(await history('PROJ-1')).toEqual([
    '0 | To Do | todo | new | 2024-01-01 | 2024-01-02 | false',
    '1 | Doing | in_progress | forward | 2024-01-02 | 2024-01-03 | false',
    '2 | Done | done | forward | 2024-01-03 | 2024-01-05 | false',
    '3 | Doing | in_progress | reopened | 2024-01-05 | 2024-01-06 | false',
    '4 | Done | done | forward | 2024-01-06 | - | true',
  ]);
  await shows(
    `select seconds_in_status, days_in_status, entered_by_id, entered_by_name, entered_date, previous_status_category
      from bi.issue_status_history where issue_key = 'PROJ-1' and status_sequence in (0, 2) order by status_sequence`,
    ['86400 | 1.000 | ann | Ann | 2024-01-01 | -', '172800 | 2.000 | ann | Ann | 2024-01-03 | in_progress'],
  );
});

test('an issue without a changelog is in its status since its creation', async () => {
  expect(await history('PROJ-2')).toEqual(['0 | Doing | in_progress | new | 2024-01-10 | - | true']);
  await shows(
    `select seconds_in_status = extract(epoch from now() - timestamptz '2024-01-10Z')::bigint
      from bi.issue_status_history where issue_key = 'PROJ-2'`,
    ['true'],
  );
});

test.each([
  [
    'a status that the source no longer has keeps its name; its category is unknown',
    'PROJ-3',
    [
      '0 | Legacy | unknown | new | 2024-01-01 | 2024-01-04 | false',
      '1 | To Do | todo | unknown | 2024-01-04 | 2024-01-06 | false',
      '2 | (status 98) | unknown | unknown | 2024-01-06 | 2024-01-08 | false',
      '3 | Done | done | forward | 2024-01-08 | - | true',
    ],
  ],
  [
    'changes of the same instant are ordered so that each begins where the one before ended',
    'PROJ-5',
    [
      '0 | To Do | todo | new | 2024-02-01 | 2024-02-02 | false',
      '1 | Doing | in_progress | forward | 2024-02-02 | 2024-02-02 | false',
      '2 | Review | in_progress | lateral | 2024-02-02 | 2024-02-02 | false',
      '3 | Done | done | forward | 2024-02-02 | - | true',
    ],
  ],
  [
    'from one done status to another is lateral',
    'OPS-2',
    [
      '0 | To Do | todo | new | 2024-03-04 | 2024-03-05 | false',
      '1 | Done | done | forward | 2024-03-05 | 2024-03-06 | false',
      '2 | Closed | done | lateral | 2024-03-06 | - | true',
    ],
  ],
])('%s', async (_, key, stays) => {
  expect(await history(key)).toEqual(stays);
});

test('a deleted status and a missing project are no obstacle; the same id in another source is another issue', async () => {
  await shows(
    `select source, issue_key, project_id, project_key, issue_type, status, status_category
      from bi.issue_status_history where issue_id in ('101', '107') and is_current order by issue_id, source`,
    [
      'elsewhere | ELSE-1 | 10 | ELSE | Wish | Idea | todo',
      'tracker | PROJ-1 | 10 | PROJ | Bug | Done | done',
      'tracker | HID-1 | 77 | - | - | Parked | todo',
    ],
  );
});

test('lead time ends with the last arrival in done, cycle time begins with the first start, reopened work has neither', async () => {
  await shows(
    `select issue_key, story_points, first_started_at::text, first_done_at::text, done_at::text, done_date, lead_time_days,
        cycle_time_days, reopen_count, status_changes, is_done
      from bi.issue_cycle_times where source = 'tracker' and project_key is not null order by issue_id`,
    [
      'PROJ-1 | 3.0000 | 2024-01-02 | 2024-01-03 | 2024-01-06 | 2024-01-06 | 5.000 | 4.000 | 1 | 4 | true',
      'PROJ-2 | - | 2024-01-10 | - | - | - | - | - | 0 | 0 | false',
      'PROJ-3 | 0.5000 | - | 2024-01-08 | 2024-01-08 | 2024-01-08 | 7.000 | - | 0 | 3 | true',
      'PROJ-5 | 8.0000 | 2024-02-02 | 2024-02-02 | 2024-02-02 | 2024-02-02 | 1.000 | 0.000 | 0 | 3 | true',
      'OPS-1 | 5.0000 | 2024-02-05 | 2024-02-06 | - | - | - | - | 1 | 3 | false',
      'OPS-2 | 2.0000 | - | 2024-03-05 | 2024-03-05 | 2024-03-05 | 1.000 | - | 0 | 2 | true',
    ],
  );
  await shows(
    `select issue_key, todo_days, in_progress_days from bi.issue_cycle_times where is_done order by issue_id`,
    ['PROJ-1 | 1.000 | 2.000', 'PROJ-3 | 2.000 | 0.000', 'PROJ-5 | 1.000 | 0.000', 'OPS-2 | 1.000 | 0.000'],
  );
});

test('throughput counts creations, arrivals in done and departures from it by weeks from Monday in UTC', async () => {
  await shows(
    `select project_key, issue_type, week_start, created_issues, done_issues, reopened_issues, net_open_change, done_points
      from bi.throughput_weekly where source = 'tracker' and project_key is not null order by project_key, issue_type, week_start`,
    [
      'OPS | Bug | 2024-01-29 | 1 | 0 | 0 | 1 | 0.0000',
      'OPS | Bug | 2024-02-05 | 0 | 1 | 1 | 0 | 5.0000',
      'OPS | Task | 2024-03-04 | 1 | 1 | 0 | 0 | 2.0000',
      'PROJ | Bug | 2024-01-01 | 2 | 2 | 1 | 1 | 6.0000',
      'PROJ | Bug | 2024-01-08 | 0 | 1 | 0 | -1 | 0.5000',
      'PROJ | Task | 2024-01-08 | 1 | 0 | 0 | 1 | 0.0000',
      'PROJ | Task | 2024-01-29 | 1 | 1 | 0 | 0 | 8.0000',
    ],
  );
  // All weeks add up to the issues that are open now.
  const open = 'select count(*) from bi.issues where is_open';
  await shows(`select sum(net_open_change), (${open}) from bi.throughput_weekly`, ['4 | 4']);
});

test('cumulative flow moves an issue from category to category at the end of each UTC day', async () => {
  await shows(
    `select status_category, string_agg(issues::text, ' ' order by date_day), min(date_day)
      from bi.cumulative_flow_daily where project_key = 'OPS' and date_day <= '2024-02-08' group by status_category order by 1`,
    [
      'done | 1 0 0 | 2024-02-06',
      'in_progress | 1 0 0 0 | 2024-02-05',
      'todo | 1 1 1 1 0 0 1 1 | 2024-02-01',
    ],
  );
});

test('cumulative flow has no gaps and ends today with the issues of today', async () => {
  await shows(
    `select source, project_key, status_category from bi.cumulative_flow_daily
      group by source, project_key, status_category
      having count(*) <> max(date_day) - min(date_day) + 1 or count(distinct date_day) <> count(*)
        or max(date_day) <> (now() at time zone 'UTC')::date`,
    [],
  );
  const now = await read(`select source, project_id, status_category, issues from bi.cumulative_flow_daily
    where date_day = (now() at time zone 'UTC')::date and issues <> 0 order by 1, 2, 3`);
  expect(now).toHaveLength(6);
  const issues =
    'select source, project_id, status_category, count(*) from bi.issues group by 1, 2, 3 order by 1, 2, 3';
  expect(now).toEqual(await read(issues));
});

test('an issue that is done and has no history is done since it was resolved', async () => {
  const rows = [
    `1, 191, 'MUTE-1', 20, 1, 4, 'bob', 13, '2024-05-10Z', '2024-05-20Z', null, '2024-05-14 12:00Z'`,
    `1, 192, 'MUTE-2', 20, 1, 2, 'bob', null, '2024-05-10Z', '2024-05-20Z', null, '2024-05-14Z'`,
    `1, 193, 'MUTE-3', 20, 1, 4, 'bob', null, '2024-05-10Z', '2024-05-20Z', null, '2024-05-10Z'`,
  ];
  await withMore(rows, [], issueColumns.replace(')', ', resolved_at)'));
  expect(await history('MUTE-1')).toEqual([
    '0 | (unknown) | unknown | new | 2024-05-10 | 2024-05-14 12:00:00+00 | false',
    '1 | Done | done | forward | 2024-05-14 12:00:00+00 | - | true',
  ]);
  expect(await history('MUTE-2')).toEqual(['0 | Doing | in_progress | new | 2024-05-10 | - | true']);
  await shows(
    `select issue_key, is_done, done_at::text, lead_time_days, cycle_time_days, reopen_count from bi.issue_cycle_times
      where issue_key like 'MUTE-%' order by 1`,
    [
      'MUTE-1 | true | 2024-05-14 12:00:00+00 | 4.500 | - | 0',
      'MUTE-2 | false | - | - | - | 0',
      'MUTE-3 | true | 2024-05-10 | 0.000 | - | 0',
    ],
  );
  await shows(
    `select week_start, created_issues, done_issues, done_points from bi.throughput_weekly
      where project_key = 'OPS' and week_start >= '2024-05-01' order by 1`,
    ['2024-05-06 | 3 | 1 | 0.0000', '2024-05-13 | 0 | 1 | 13.0000'],
  );
  await shows(
    `select string_agg(issues::text, ' ' order by date_day) from bi.cumulative_flow_daily
      where project_key = 'OPS' and status_category = 'unknown' and date_day between '2024-05-10' and '2024-05-14'`,
    ['1 1 1 1 0'],
  );
});

test('a history that is older than its issue makes no negative time, and counts from the creation', async () => {
  await withMore(
    [`1, 190, 'OLD-1', 20, 1, 4, null, null, '2024-05-10Z', '2024-05-10Z', null`],
    [
      statusChange([190, 0], 190, '2024-05-01Z', toDo, doing),
      statusChange([191, 0], 190, '2024-05-02Z', doing, done),
    ],
  );
  await shows(
    `select lead_time_days, cycle_time_days, todo_days, in_progress_days from bi.issue_cycle_times where issue_key = 'OLD-1'`,
    ['1.000 | 1.000 | 0.000 | 1.000'],
  );
  await shows(
    `select status_category, string_agg(issues::text, ' ' order by date_day), min(issues) < 0
      from bi.cumulative_flow_daily where project_key = 'OPS' and date_day in ('2024-05-01', '2024-05-09', '2024-05-10')
      group by 1 order by 1`,
    ['done | 1 1 2 | false', 'in_progress | 0 0 0 | false', 'todo | 1 1 1 | false'],
  );
});
