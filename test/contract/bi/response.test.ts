import { onTestFinished, test } from 'vitest';
import { loadVocabulary, reading } from './reading.ts';

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert('ref.holidays (date_day, name)', [
    `'2024-12-25', 'Christmas'`,
    // A holiday on a Sunday takes no working day away.
    `'2024-03-31', 'Easter'`,
  ]);
  const issue = (id: number, created: string, resolved: string, project = 10): string =>
    `1, ${id}, 'PROJ-${id}', ${project}, 1, 1, 'ann', '${created}', '${created}', ${resolved}`;
  await insert(
    'tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, reporter_id, created_at, updated_at, resolved_at)',
    [
      // Friday 15:00 to Monday 09:00 in UTC.
      issue(1, '2024-03-01 15:00Z', `'2024-03-04 09:00Z'`),
      // Over a weekend on which clocks change, and Christmas.
      issue(2, '2024-03-29 22:00Z', `'2024-04-01 01:00Z'`),
      issue(3, '2024-12-24 12:00Z', `'2024-12-26 12:00Z'`),
      // On a Saturday, from midnight to midnight; before the calendar; never.
      issue(4, '2024-03-02Z', `'2024-03-03Z'`),
      issue(5, '2009-12-31 12:00Z', `'2010-01-01 12:00Z'`),
      issue(6, '2024-03-04Z', 'null'),
      issue(7, '2024-03-04 10:00Z', `'2024-03-04 09:00Z'`),
    ],
  );
  const comment = (id: number, issueId: number, at: string, author: string | null, more = 'null, null') =>
    `1, ${id}, ${issueId}, ${author === null ? 'null' : `'${author}'`}, 'text', '${at}', '${at}', ${more}`;
  await insert(
    'tracker.comments (source_id, id, issue_id, author_id, body, created_at, updated_at, is_public, _deleted_at)',
    [
      comment(1, 1, '2024-03-01 16:00Z', 'ann'),
      comment(2, 1, '2024-03-01 17:00Z', 'bob', 'null, now()'),
      comment(3, 1, '2024-03-01 18:00Z', 'bob', 'false, null'),
      comment(4, 1, '2024-03-02 12:00Z', 'cid', 'true, null'),
      comment(5, 1, '2024-03-03 12:00Z', 'bob', 'true, null'),
      // An author who is not known is not the reporter.
      comment(6, 2, '2024-03-30Z', null),
    ],
  );
});

const setting = async (name: string, type: string, value: string, before: string): Promise<void> => {
  const is = (that: string) => `create or replace function ops.${name} returns ${type}
    immutable parallel safe return ${that}`;
  await read(is(value));
  onTestFinished(async () => void (await read(is(before))));
};
const zone = (name: string) => setting('reporting_time_zone()', 'text', `'${name}'`, `'UTC'`);
const workingDays = (condition: string) =>
  setting('is_working_day(date)', 'boolean', condition, 'extract(isodow from $1) between 1 and 5');

test('the first response is the first public comment by somebody else', () =>
  shows(
    `select issue_key, first_response_at::text, first_response_hours,
      first_response_working_hours from bi.issue_response_times where first_response_at is not null order by issue_key`,
    ['PROJ-1 | 2024-03-02 12:00:00+00 | 21.0000 | 9.0000', 'PROJ-2 | 2024-03-30 | 2.0000 | 2.0000'],
  ));

test('working hours leave out weekends and holidays, and are exact within a day', () =>
  shows(
    `select issue_key, resolution_hours, resolution_working_hours from bi.issue_response_times order by issue_key`,
    [
      'PROJ-1 | 66.0000 | 18.0000',
      'PROJ-2 | 51.0000 | 3.0000',
      'PROJ-3 | 48.0000 | 24.0000',
      'PROJ-4 | 24.0000 | 0.0000',
      'PROJ-5 | 24.0000 | -',
      'PROJ-6 | - | -',
      'PROJ-7 | 0.0000 | 0.0000',
    ],
  ));

test('the days of working hours are those of the reporting time zone', async () => {
  await zone('America/New_York');
  await shows(
    `select issue_key, created_date::text, resolution_working_hours from bi.issue_response_times
      where issue_key in ('PROJ-1', 'PROJ-2', 'PROJ-4') order by issue_key`,
    // Monday 04:00; Friday 18:00 to Sunday 21:00; Friday 19:00 to Saturday 19:00.
    ['PROJ-1 | 2024-03-01 | 18.0000', 'PROJ-2 | 2024-03-29 | 6.0000', 'PROJ-4 | 2024-03-01 | 5.0000'],
  );
});

test('a working day on which clocks change has 23 hours', async () => {
  await zone('Europe/Berlin');
  await workingDays('true');
  await read(`delete from ref.holidays where date_day = '2024-03-31'`);
  onTestFinished(async () => void (await read(`insert into ref.holidays values ('2024-03-31', 'Easter')`)));
  await shows(
    `select issue_key, resolution_working_hours from bi.issue_response_times where issue_key in ('PROJ-1', 'PROJ-2')
      order by issue_key`,
    ['PROJ-1 | 66.0000', 'PROJ-2 | 51.0000'],
  );
  await shows(
    `select b.working_seconds_before - a.working_seconds_before from ops.working_days a, ops.working_days b
      where a.date_day = '2024-03-31' and b.date_day = '2024-04-01'`,
    ['82800'],
  );
});

test('the calendar has working days, holidays and fiscal years by the settings', async () => {
  const days = `select date_day::text, is_working_day, holiday_name, fiscal_year, fiscal_quarter,
      working_day_number - first_value(working_day_number) over (order by date_day)
    from bi.calendar where date_day in ('2024-09-30', '2024-10-01', '2024-12-25', '2024-12-28') order by date_day`;
  await shows(days, [
    '2024-09-30 | true | - | 2024 | 3 | 0',
    '2024-10-01 | true | - | 2024 | 4 | 1',
    '2024-12-25 | false | Christmas | 2024 | 4 | 61',
    '2024-12-28 | false | - | 2024 | 4 | 63',
  ]);
  await setting('fiscal_year_start()', 'integer', '10', '1');
  await workingDays('extract(isodow from $1) in (6, 7)');
  await shows(days, [
    '2024-09-30 | false | - | 2024 | 4 | 0',
    '2024-10-01 | false | - | 2025 | 1 | 0',
    '2024-12-25 | false | Christmas | 2025 | 1 | 24',
    '2024-12-28 | true | - | 2025 | 1 | 25',
  ]);
});
