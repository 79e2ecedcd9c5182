import { expect, test } from 'vitest';
import { loadVocabulary, reading } from './reading.ts';

const { insert, read, shows } = reading(async () => {
  await loadVocabulary(insert);
  await insert('ops.sources (name, kind, base_url)', [
    `'platform', 'ads', 'http://three'`,
    `'engine', 'workflow', 'http://four'`,
  ]);
});

const checks = (where: string) => `select source, check_name, offending_rows, is_ok from bi.quality_checks
  where ${where} order by source, check_name`;

test('in an empty warehouse every source has its checks, and all are well', async () => {
  await shows(
    `select source, count(*), sum(offending_rows), bool_and(is_ok) from bi.quality_checks group by 1 order by 1`,
    [
      'elsewhere | 21 | 0 | true',
      'engine | 8 | 0 | true',
      'platform | 12 | 0 | true',
      'tracker | 21 | 0 | true',
    ],
  );
});

test('each fault is counted where it belongs', async () => {
  await insert('ops.streams (source_id, stream, target, about, endpoint, state, excluded)', [
    `1, 'issues', '', '', '', 'available', false`,
    `1, 'users', '', '', '', 'available', false`,
    `1, 'boards', '', '', '', 'available', true`,
  ]);
  await insert('ops.runs (pipeline, source_id, kind, status, epoch)', [
    `'tracker', 1, 'sync', 'failed', 1`,
    `'tracker', 1, 'sync', 'partly_failed', 2`,
  ]);
  await insert('ops.run_streams (run_id, source_id, stream, status, started_at)', [
    `1, 1, 'issues', 'failed', now()`,
    `2, 1, 'issues', 'partial', now()`,
    `2, 1, 'users', 'failed', now()`,
    `2, 1, 'boards', 'ok', now()`,
  ]);
  await insert(
    'ops.rejects (source_id, stream, sha256, payload, stage, code, message, first_run_id, last_run_id, status)',
    [
      `1, 'issues', 'a', '', 'transform', 'x', '', 1, 1, 'open'`,
      `1, 'issues', 'b', '', 'transform', 'x', '', 1, 1, 'resolved'`,
      `3, 'ads', 'b', '', 'transform', 'x', '', 1, 1, 'open'`,
    ],
  );
  await insert('ops.unseen (source_id, stream, key)', [`1, 'issues', '1'`]);
  await insert(
    'tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, assignee_id, parent_id, story_points, security_level_id, created_at, updated_at, _deleted_at)',
    [
      `1, 1, 'PROJ-1', 10, 1, 1, 'ann', null, 3, null, now(), now(), null`,
      `1, 2, 'PROJ-2', 99, 99, 99, 'nobody', 99, -1e13, 7, now(), now(), null`,
      // Of deleted records nothing is asked; what leads to one leads somewhere.
      `1, 3, 'PROJ-3', 99, 99, 99, 'nobody', 99, 1e13, 7, now(), now(), now()`,
      `1, 4, 'PROJ-4', 10, 1, 7, null, 3, null, null, now(), now(), null`,
    ],
  );
  await insert('tracker.statuses (source_id, id, name, category)', [`1, 7, 'Odd', 'unknown'`]);
  await insert(
    'tracker.issue_changelog (source_id, history_id, item, issue_id, changed_at, field_id, field_name)',
    [
      `1, 1, 0, 3, now(), 'a', 'a'`,
      `1, 2, 0, 98, now(), 'a', 'a'`,
      `1, 2, 1, 98, now(), 'a', 'a'`,
      // Of the other tracker.
      `2, 2, 1, 1, now(), 'a', 'a'`,
    ],
  );
  await insert('tracker.comments (source_id, id, issue_id, created_at, updated_at)', [
    `1, 1, 98, now(), now()`,
  ]);
  await insert('tracker.worklogs (source_id, id, issue_id, started_at, time_spent_seconds, _deleted_at)', [
    `1, 1, 98, now(), 1, null`,
    `1, 2, 98, now(), 1, now()`,
  ]);
  await insert('tracker.sprint_issues (source_id, sprint_id, issue_id)', [`1, 1, 1`, `1, 1, 98`]);
  await insert('ads.ad_accounts (source_id, id, name)', [`3, 'a', 'A'`]);
  await insert('ads.campaigns (source_id, id, ad_account_id, name)', [
    `3, 'c', 'a', 'C'`,
    `3, 'd', 'b', 'D'`,
  ]);
  await insert('ads.ad_sets (source_id, id, campaign_id, ad_account_id, name)', [`3, 's', 'e', 'a', 'S'`]);
  await insert('ads.ads (source_id, id, ad_set_id, ad_account_id, name)', [`3, 'x', 't', 'a', 'X'`]);
  await insert('ads.report_daily (source_id, entity_type, entity_id, day, ad_account_id, clicks)', [
    `3, 'CAMPAIGN', 'c', '2026-03-01', 'a', 5`,
    // The id of an ad set is none of a campaign.
    `3, 'CAMPAIGN', 's', '2026-03-01', 'a', 0`,
    `3, 'AD_SET', 's', '2026-03-01', 'a', 0`,
    `3, 'AD', 'y', '2026-03-01', 'a', 5`,
    `3, 'AD', 'y', '2026-03-02', 'a', 0`,
    `3, 'AD_ACCOUNT', 'z', '2026-03-02', 'a', 0`,
  ]);
  await insert('workflow.dags (source_id, name, tags, errors)', [
    `4, 'a', '{}', '["bad"]'`,
    `4, 'b', '{}', null`,
  ]);
  await insert('workflow.dag_runs (source_id, dag_name, dag_run_id, state, gone_at)', [
    `4, 'a', 'r1', 'active', now()`,
    `4, 'gone', 'r2', 'succeeded', null`,
  ]);
  await shows(checks('offending_rows > 0'), [
    'elsewhere | changes_without_issue | 1 | false',
    'engine | dags_with_errors | 1 | false',
    'engine | lost_runs | 1 | false',
    'engine | runs_without_dag | 1 | true',
    'platform | ad_level_differences | 1 | false',
    'platform | ad_sets_without_campaign | 1 | false',
    'platform | ads_without_ad_set | 1 | false',
    'platform | campaigns_without_account | 1 | false',
    'platform | open_rejects | 1 | false',
    'platform | report_rows_without_ad | 2 | false',
    'platform | report_rows_without_campaign | 1 | false',
    'tracker | changes_without_issue | 2 | false',
    'tracker | comments_without_issue | 1 | false',
    'tracker | failed_streams | 1 | false',
    'tracker | hidden_story_points | 1 | false',
    'tracker | issues_of_unknown_assignees | 1 | false',
    'tracker | issues_of_unknown_category | 1 | false',
    'tracker | issues_without_parent | 1 | false',
    'tracker | issues_without_project | 1 | false',
    'tracker | issues_without_status | 1 | false',
    'tracker | issues_without_type | 1 | false',
    'tracker | open_rejects | 1 | false',
    'tracker | restricted_issues | 1 | true',
    'tracker | sprint_issues_without_issue | 1 | false',
    'tracker | sprint_issues_without_sprint | 2 | false',
    'tracker | stale_streams | 2 | false',
    'tracker | unmatched_receipts | 1 | false',
    'tracker | unseen_records | 1 | false',
    'tracker | worklogs_without_issue | 1 | false',
  ]);
});

test('a filter on one check spares the large tables of the others', async () => {
  const plan = (await read(`explain select * from bi.quality_checks where check_name = 'open_rejects'`)).join(
    '\n',
  );
  expect(plan).toMatch(/ on rejects/);
  expect(plan).not.toMatch(/ on (issue_changelog|comments|worklogs|dag_runs)\b/);
});

test('issues with a security level are not left out where bi shows them', async () => {
  await read(
    `create or replace function ops.shows_restricted_issues() returns boolean immutable parallel safe return true`,
  );
  await shows(checks(`check_name = 'restricted_issues' and source = 'tracker'`), [
    'tracker | restricted_issues | 0 | true',
  ]);
});
