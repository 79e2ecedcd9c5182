create or replace view bi.quality_checks with (security_barrier) as -- What may be wrong with the data; one row per source and check. To see the rows of a check, see what its description names.
select
  s.name as source,
  c.check_name, -- Name of the check.
  c.severity, -- error (figures may be wrong or old), warning (something has no name, counts as unknown, or figures do not agree) or info (counted, and as it should be).
  c.description, -- What the offending rows are.
  coalesce(f.offending_rows, h.offending_rows, 0) as offending_rows, -- How many there are now. Of one check it may be summed over sources.
  coalesce(f.offending_rows, h.offending_rows, 0) = 0 or c.severity = 'info' as is_ok, -- True when there are none, or the check only counts.
  h.example_key -- Key of an issue that one of the rows is of; null where there are none, and of checks that name no issue.
from ops.sources s
join (
  values
    ('any', 'open_rejects', 'error', 'records that could not become rows and wait in ops.rejects'),
    ('any', 'unmatched_receipts', 'error', 'streams whose newest run read or stored less than the source said it has'),
    ('any', 'failed_streams', 'error', 'streams that the newest run could not read to their end'),
    ('any', 'stale_streams', 'error', 'streams whose last complete read is older than promised, see bi.data_freshness'),
    ('any', 'unseen_records', 'warning', 'records that a reconciliation could not see though they may exist'),
    ('tracker', 'issues_without_project', 'warning', 'issues whose project is not in the warehouse'),
    ('tracker', 'issues_without_type', 'warning', 'issues whose type is not in the warehouse'),
    ('tracker', 'issues_without_status', 'warning', 'issues whose status is not in the warehouse: they count as open'),
    ('tracker', 'issues_of_unknown_category', 'warning', 'issues in a status whose category the source does not say: they count as open'),
    ('tracker', 'issues_without_parent', 'warning', 'issues that name a parent that is not in the warehouse'),
    ('tracker', 'issues_of_unknown_assignees', 'warning', 'issues whose assignee is not in the warehouse: they have no name'),
    ('tracker', 'hidden_story_points', 'warning', 'issues with story points beyond 13 digits, which bi shows as null'),
    ('tracker', 'restricted_issues', 'info', 'live issues with a security level that bi leaves out'),
    ('tracker', 'changes_without_issue', 'warning', 'rows of the changelog whose issue is not in the warehouse'),
    ('tracker', 'comments_without_issue', 'warning', 'comments whose issue is not in the warehouse'),
    ('tracker', 'worklogs_without_issue', 'warning', 'worklogs whose issue is not in the warehouse'),
    ('tracker', 'sprint_issues_without_sprint', 'warning', 'members of sprints that are not in the warehouse'),
    ('tracker', 'sprint_issues_without_issue', 'warning', 'members of sprints that are no issues in the warehouse'),
    ('tracker', 'histories_ending_elsewhere', 'warning', 'fields of issues whose changes end with another value than the issue has, see is_inferred in bi.issue_field_history'),
    ('tracker', 'changes_that_do_not_join', 'warning', 'changes that do not begin with the value that the change of the field before ended with, see bi.issue_changes'),
    ('tracker', 'names_without_id', 'warning', 'names in changes of issues that have no id and are not those of exactly one status, person, priority, sprint or version'),
    ('ads', 'campaigns_without_account', 'warning', 'campaigns whose ad account is not in the warehouse'),
    ('ads', 'ad_sets_without_campaign', 'warning', 'ad sets whose campaign is not in the warehouse'),
    ('ads', 'ads_without_ad_set', 'warning', 'ads whose ad set is not in the warehouse'),
    ('ads', 'report_rows_without_campaign', 'warning', 'daily report rows of campaigns that are not in the warehouse'),
    ('ads', 'report_rows_without_ad_set', 'warning', 'daily report rows of ad sets that are not in the warehouse'),
    ('ads', 'report_rows_without_ad', 'warning', 'daily report rows of ads that are not in the warehouse'),
    ('ads', 'ad_level_differences', 'warning', 'days on which the levels of an account do not add up, see bi.ad_level_checks'),
    ('workflow', 'runs_without_dag', 'info', 'runs of DAGs that the engine does not list, or lists no more'),
    ('workflow', 'lost_runs', 'warning', 'runs that the engine forgot before they ended: their end is not known'),
    ('workflow', 'dags_with_errors', 'warning', 'DAGs whose definition has errors')
) c (kind, check_name, severity, description) on c.kind in ('any', s.kind)
left join (
  select s.source_id, v.check_name, sum(v.is_bad::integer)
  from bi.data_freshness f
  join ops.sources s on s.name = f.source
  cross join lateral (values
    ('unmatched_receipts', f.last_status = 'partial'),
    ('failed_streams', f.last_status in ('failed', 'attention')),
    ('stale_streams', f.is_stale)
  ) v (check_name, is_bad)
  group by s.source_id, v.check_name
  union all
  select i.source_id, v.check_name, v.offending_rows
  from (
    select
      i.source_id,
      count(*) filter (where p.id is null) as without_project,
      count(*) filter (where t.id is null) as without_type,
      count(*) filter (where st.id is null) as without_status,
      count(*) filter (where st.category = 'unknown') as of_unknown_category,
      count(*) filter (where i.assignee_id is not null and u.id is null) as of_unknown_assignees,
      count(*) filter (where abs(i.story_points) >= 1e13) as with_hidden_points,
      count(*) filter (where not ops.shows_level(i.security_level, i.security_level_id)) as restricted
    from tracker.issues i
    left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
    left join tracker.issue_types t on t.source_id = i.source_id and t.id = i.issue_type_id
    left join tracker.statuses st on st.source_id = i.source_id and st.id = i.status_id
    left join tracker.users u on u.source_id = i.source_id and u.id = i.assignee_id
    where i._deleted_at is null
    group by i.source_id
  ) i
  cross join lateral (values
    ('issues_without_project', i.without_project),
    ('issues_without_type', i.without_type),
    ('issues_without_status', i.without_status),
    ('issues_of_unknown_category', i.of_unknown_category),
    ('issues_of_unknown_assignees', i.of_unknown_assignees),
    ('hidden_story_points', i.with_hidden_points),
    ('restricted_issues', i.restricted)
  ) v (check_name, offending_rows)
  union all
  select c.source_id, c.check_name, sum(c.rows)::bigint
  from (
    -- By issue first: there are many more changes than issues, and each issue is then looked for once.
    select source_id, parent_id, 'issues_without_parent', count(*)
    from tracker.issues
    where _deleted_at is null and parent_id is not null
    group by source_id, parent_id
    union all
    select source_id, issue_id, 'changes_without_issue', count(*) from tracker.issue_changelog group by source_id, issue_id
    union all
    select source_id, issue_id, 'sprint_issues_without_issue', count(*) from tracker.sprint_issues group by source_id, issue_id
  ) c (source_id, issue_id, check_name, rows)
  where not exists (select from tracker.issues p where p.source_id = c.source_id and p.id = c.issue_id)
  group by c.source_id, c.check_name
  union all
  -- Deleted rows do not count. The index does not say which those are, so they are looked up only where an issue is missing.
  select d.source_id, 'comments_without_issue', sum(w.rows)::bigint
  from (select distinct source_id, issue_id from tracker.comments) d
  cross join lateral (
    select count(*) as rows
    from tracker.comments w
    where w.source_id = d.source_id and w.issue_id = d.issue_id and w._deleted_at is null
  ) w
  where not exists (select from tracker.issues p where p.source_id = d.source_id and p.id = d.issue_id)
  group by d.source_id
  union all
  select d.source_id, 'worklogs_without_issue', sum(w.rows)::bigint
  from (select distinct source_id, issue_id from tracker.worklogs) d
  cross join lateral (
    select count(*) as rows
    from tracker.worklogs w
    where w.source_id = d.source_id and w.issue_id = d.issue_id and w._deleted_at is null
  ) w
  where not exists (select from tracker.issues p where p.source_id = d.source_id and p.id = d.issue_id)
  group by d.source_id
  union all
  select o.source_id, o.check_name, count(*)
  from (
    select source_id, 'open_rejects' from ops.rejects where status = 'open'
    union all
    select source_id, 'unseen_records' from ops.unseen
    union all
    select c.source_id, 'sprint_issues_without_sprint'
    from tracker.sprint_issues c
    where not exists (select from tracker.sprints p where p.source_id = c.source_id and p.id = c.sprint_id)
    union all
    select c.source_id, 'campaigns_without_account'
    from ads.campaigns c
    where c._deleted_at is null
      and not exists (select from ads.ad_accounts p where p.source_id = c.source_id and p.id = c.ad_account_id)
    union all
    select c.source_id, 'ad_sets_without_campaign'
    from ads.ad_sets c
    where c._deleted_at is null
      and not exists (select from ads.campaigns p where p.source_id = c.source_id and p.id = c.campaign_id)
    union all
    select c.source_id, 'ads_without_ad_set'
    from ads.ads c
    where c._deleted_at is null
      and not exists (select from ads.ad_sets p where p.source_id = c.source_id and p.id = c.ad_set_id)
    union all
    select c.source_id, 'runs_without_dag'
    from workflow.dag_runs c
    where c._deleted_at is null
      and not exists (select from workflow.dags p where p.source_id = c.source_id and p.name = c.dag_name and p._deleted_at is null)
    union all
    select source_id, 'lost_runs'
    from workflow.dag_runs
    where _deleted_at is null and gone_at is not null and state not in ('succeeded', 'failed', 'aborted')
  ) o (source_id, check_name)
  group by o.source_id, o.check_name
  union all
  select c.source_id, 'report_rows_without_campaign', count(*)
  from ads.report_daily c
  where c.entity_type = 'CAMPAIGN'
    and not exists (select from ads.campaigns e where e.source_id = c.source_id and e.id = c.entity_id)
  group by c.source_id
  union all
  select c.source_id, 'report_rows_without_ad_set', count(*)
  from ads.report_daily c
  where c.entity_type = 'AD_SET'
    and not exists (select from ads.ad_sets e where e.source_id = c.source_id and e.id = c.entity_id)
  group by c.source_id
  union all
  select c.source_id, 'report_rows_without_ad', count(*)
  from ads.report_daily c
  where c.entity_type = 'AD'
    and not exists (select from ads.ads e where e.source_id = c.source_id and e.id = c.entity_id)
  group by c.source_id
  union all
  select s.source_id, 'ad_level_differences', count(distinct (l.ad_account_id, l.date_day))
  from bi.ad_level_checks l
  join ops.sources s on s.name = l.source
  group by s.source_id
  union all
  select s.source_id, 'dags_with_errors', count(*)
  from bi.dags d
  join ops.sources s on s.name = d.source
  where d.definition_errors > 0
  group by s.source_id
) f (source_id, check_name, offending_rows) on f.source_id = s.source_id and f.check_name = c.check_name
left join (
  select v.source_id, 'histories_ending_elsewhere', count(*), min(i.key)
  from (
    select source_id, issue_id, field_name
    from tracker.issue_value_intervals
    where is_inferred and case when field_name in ('sprint', 'fix_versions') then value_id is not null else valid_to is null end
    group by source_id, issue_id, field_name
    union all
    select t.source_id, t.issue_id, 'status'
    from tracker.issue_status_intervals t
    -- The first stay of an issue without changes has no status.
    join tracker.issue_status_intervals b on b.source_id = t.source_id and b.issue_id = t.issue_id and b.sequence = 0
    where t.is_inferred and t.left_at is null and coalesce(b.status_ref, b.status_text) is not null
  ) v
  join tracker.shown_issues i on i.source_id = v.source_id and i.id = v.issue_id
  group by v.source_id
  union all
  select t.source_id, 'changes_that_do_not_join', sum(t.unjoined_changes), min(i.key)
  from tracker.issue_facts t
  join tracker.shown_issues i on i.source_id = t.source_id and i.id = t.issue_id
  where t.unjoined_changes > 0
  group by t.source_id
  union all
  select n.source_id, 'names_without_id', count(*), min(i.key)
  from tracker.history_names n
  join tracker.shown_issues i on i.source_id = n.source_id and i.id = n.issue_id
  where not n.is_known
  group by n.source_id
) h (source_id, check_name, offending_rows, example_key) on h.source_id = s.source_id and h.check_name = c.check_name;
