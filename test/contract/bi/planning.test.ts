import { onTestFinished, test } from 'vitest';
import { loadVocabulary, reading } from './reading.ts';

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  const issue = (id: number, status: number, more: string, project = 10): string =>
    `1, ${id}, 'PROJ-${id}', ${project}, 1, ${status}, ${more}`;
  await insert(
    `tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, assignee_id, story_points, due_date,
      created_at, updated_at, resolved_at, status_category_changed_at, security_level, _deleted_at)`,
    [
      issue(1, 1, `'ann', 3, '2024-01-01', '2024-01-01Z', '2024-02-01Z', null, null, null, null`),
      issue(2, 2, `'ann', 0.5, '2999-01-01', '2024-01-02Z', '2024-02-02Z', null, null, null, null`),
      issue(3, 4, `'bob', 8, '2024-01-01', '2024-01-03Z', now(), '2024-02-03Z', now(), null, null`),
      // Done long ago, and edited since; done today, where the source does not say since when.
      issue(4, 4, `'bob', null, null, '2024-01-04Z', now(), now(), '2024-02-04Z', null, null`),
      issue(5, 4, `'bob', null, null, now(), now(), now(), null, null, null`),
      // A status that is not known is open; points beyond the type count nowhere.
      issue(6, 999, `null, 1e20, null, '2024-01-05Z', '2024-02-05Z', null, null, null, null`),
      issue(7, 1, `'ann', 100, null, '2023-01-01Z', '2024-02-06Z', null, null, null, now()`),
      issue(8, 1, `'ann', 100, null, '2023-01-01Z', '2024-02-06Z', null, null, 'Secret', null`),
      `2, 1, 'ELSE-1', 10, 1, 4, 'ann', 1, null, '2024-01-01Z', '2024-02-01Z', null, null, null, null`,
    ],
  );
  const version = (issueId: number, kind: string, id: number, more: string) =>
    `1, ${issueId}, '${kind}', ${id}, ${more}`;
  await insert(
    'tracker.issue_versions (source_id, issue_id, kind, version_id, name, released, archived, release_date)',
    [
      version(1, 'fix', 1, `'1.0-old', false, false, '2024-01-01'`),
      version(2, 'fix', 1, `'1.0', false, false, '2024-03-01'`),
      version(2, 'affected', 1, `'1.0', false, false, '2024-03-01'`),
      // Read last, for the issue changed last.
      version(3, 'fix', 1, `'1.0', true, false, '2024-03-02'`),
      version(4, 'fix', 2, `'2.0', false, false, '2024-03-02'`),
      version(6, 'affected', 3, `'3.0', false, false, null`),
      // Affected only: done without an estimate, and in progress.
      version(4, 'affected', 3, `'3.0', false, false, null`),
      version(2, 'affected', 3, `'3.0', false, false, null`),
      version(7, 'fix', 4, `'of a deleted issue', false, false, null`),
      version(8, 'fix', 5, `'of a hidden issue', false, false, null`),
    ],
  );
  await insert('tracker.issue_components (source_id, issue_id, component_id, name)', [
    `1, 1, 1, 'Old name'`,
    `1, 2, 1, 'API'`,
    `1, 4, 2, 'Web'`,
    `1, 8, 3, 'Hidden'`,
  ]);
  const link = (id: number, issueId: number, direction: string, other: number, type = 'Blocks') =>
    `1, ${issueId}, ${id}, '${direction}', '${type}', '${type.toLowerCase()}', 'inward of ${type}', ${other}, 'AS-READ-${other}'`;
  await insert(
    'tracker.issue_links (source_id, issue_id, link_id, direction, type_name, outward, inward, other_issue_id, other_issue_key)',
    [
      link(1, 1, 'outward', 2),
      link(1, 2, 'inward', 1),
      link(2, 3, 'outward', 1),
      link(2, 1, 'inward', 3),
      link(3, 1, 'outward', 2, 'Relates'),
      link(4, 1, 'inward', 7),
      link(5, 1, 'inward', 8),
      link(6, 7, 'outward', 1),
    ],
  );
});

test('a version has the progress of the live issues it releases, not of those it affects, and says what was read of it last', () =>
  shows(
    `select version_name, project_key, is_released, release_date::text, is_overdue, issues, open_issues, in_progress_issues, done_issues,
      unestimated_issues, story_points, done_story_points, done_issues_ratio, affected_issues from bi.versions order by version_id`,
    [
      '1.0 | PROJ | true | 2024-03-02 | false | 3 | 2 | 1 | 1 | 0 | 11.5000 | 8.0000 | 0.3333 | 1',
      '2.0 | PROJ | false | 2024-03-02 | true | 1 | 0 | 0 | 1 | 1 | - | - | 1.0000 | 0',
      '3.0 | PROJ | false | - | false | 0 | 0 | 0 | 0 | 0 | - | - | - | 3',
    ],
  ));

test('a component has what is open in it', () =>
  shows(
    `select component_name, project_key, issues, open_issues, in_progress_issues, open_story_points, oldest_open_at::text
      from bi.components order by component_id`,
    ['API | PROJ | 2 | 2 | 1 | 3.5000 | 2024-01-01', 'Web | PROJ | 1 | 0 | 0 | - | -'],
  ));

test('a link is seen from both ends; an end that is deleted or hidden is not known', () =>
  shows(
    `select issue_key, relation, other_issue_key, is_other_known, is_other_done, is_blocking, is_blocked
      from bi.issue_links order by link_id, direction`,
    [
      'PROJ-2 | inward of Blocks | PROJ-1 | true | false | false | true',
      'PROJ-1 | blocks | PROJ-2 | true | false | true | false',
      'PROJ-1 | inward of Blocks | PROJ-3 | true | true | false | false',
      'PROJ-3 | blocks | PROJ-1 | true | false | false | false',
      'PROJ-1 | relates | PROJ-2 | true | false | false | false',
      'PROJ-1 | inward of Blocks | - | false | - | false | -',
      'PROJ-1 | inward of Blocks | - | false | - | false | -',
    ],
  ));

// Names of link types are a site's own, in any language: what they mean is a list of the company.
test('a link blocks where a rule of ref.blocking_links fits', async () => {
  const rules = async (values: string) => {
    await read('delete from ref.blocking_links');
    await insert('ref.blocking_links', [values]);
  };
  const called = (id: string, name: string) =>
    read(
      `update tracker.issue_links set type_id = ${id}, type_name = '${name}', outward = '${name}' where link_id = 1`,
    );
  onTestFinished(async () => {
    await rules(`'type_name', 'block%'`);
    await insert('ref.blocking_links', [`'outward', 'block%'`]);
    await called('null', 'blocks');
  });
  const blocking = `select issue_key, other_issue_key, link_type_id from bi.issue_links where is_blocking order by link_id`;
  await rules(`'inward', 'INWARD of rel%'`);
  await shows(blocking, ['PROJ-1 | PROJ-2 | -']);
  await rules(`'type_name', 'bloquea'`);
  await shows(blocking, []);
  await rules(`'type_id', '10000'`);
  await called('10000', 'ブロックする');
  await shows(blocking, ['PROJ-1 | PROJ-2 | 10000']);
});

test('a project has the state of its issues; one without issues has zeros', () =>
  shows(
    `select source, project_key, lead_name, issues, open_issues, in_progress_issues, done_issues, created_30_days_issues,
      done_30_days_issues, overdue_issues, unassigned_issues, open_story_points, oldest_open_at::text
      from bi.project_summary order by source, project_key`,
    [
      'elsewhere | ELSE | - | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 1.0000 | 2024-01-01',
      'tracker | OPS | Bob | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | - | -',
      'tracker | PROJ | Ann | 6 | 3 | 1 | 3 | 1 | 2 | 1 | 1 | 3.5000 | 2024-01-01',
    ],
  ));

test('the workload counts open issues by assignee, and those without one', () =>
  shows(
    `select source, assignee_name, open_issues, in_progress_issues, overdue_issues, unestimated_issues, open_story_points,
      in_progress_story_points, oldest_open_at::text from bi.user_workload order by source, assignee_id`,
    [
      'elsewhere | - | 1 | 0 | 0 | 0 | 1.0000 | - | 2024-01-01',
      'tracker | Ann | 2 | 1 | 1 | 0 | 3.5000 | 0.5000 | 2024-01-01',
      'tracker | - | 1 | 0 | 0 | 0 | - | - | 2024-01-05',
    ],
  ));

test('what is due is due in the reporting time zone', async () => {
  await read(
    `update tracker.issues set due_date = (now() at time zone 'Etc/GMT-14')::date - 1 where source_id = 1 and id = 1`,
  );
  const overdue = `select sum(overdue_issues) from bi.project_summary`;
  const zone = (name: string) =>
    read(
      `create or replace function ops.reporting_time_zone() returns text immutable parallel safe return '${name}'`,
    );
  onTestFinished(async () => void (await zone('UTC')));
  await zone('Etc/GMT-14');
  await shows(overdue, ['1']);
  await zone('Etc/GMT+12');
  await shows(overdue, ['0']);
});
