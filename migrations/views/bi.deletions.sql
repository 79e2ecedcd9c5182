create or replace view bi.deletions with (security_barrier) as -- What vanished at the sources and when that was found; one row per deleted record of the synced tables, but for issues whose security level is not shown, and their comments and worklogs. A record that comes back has no row any more.
select
  s.name as source,
  d.table_name, -- The table that holds it, e.g. tracker.issues.
  d.record_id, -- Its id; of a DAG its name, of a run DAG and id, of a step also its name and occurrence.
  d.record_name, -- Key of an issue or a project, name of what has one, name or pseudonym of a person, DAG of a run or step; null otherwise.
  d.deleted_at, -- When it was found to be gone (UTC).
  (d.deleted_at at time zone ops.reporting_time_zone())::date as deleted_date, -- Day of deleted_at in the reporting time zone.
  d.run_id::text as run_id -- The run that found it to be gone, see bi.sync_runs.run_id.
from (
  select source_id, 'tracker.projects', id::text, key, _deleted_at, _run_id from tracker.projects
  union all
  select source_id, 'tracker.fields', id, name, _deleted_at, _run_id from tracker.fields
  union all
  select source_id, 'tracker.users', id, ops.shown_name(display_name, id), _deleted_at, _run_id
  from tracker.users
  union all
  select source_id, 'tracker.groups', id, name, _deleted_at, _run_id from tracker.groups
  union all
  select source_id, 'tracker.boards', id::text, name, _deleted_at, _run_id from tracker.boards
  union all
  select source_id, 'tracker.sprints', id::text, name, _deleted_at, _run_id from tracker.sprints
  union all
  select source_id, 'tracker.statuses', id::text, name, _deleted_at, _run_id from tracker.statuses
  union all
  select source_id, 'tracker.issue_types', id::text, name, _deleted_at, _run_id from tracker.issue_types
  union all
  select source_id, 'tracker.priorities', id::text, name, _deleted_at, _run_id from tracker.priorities
  union all
  select source_id, 'tracker.issues', id::text, key, _deleted_at, _run_id from tracker.issues
  where ops.shows_level(security_level, security_level_id)
  union all
  select source_id, 'tracker.comments', id::text, null, _deleted_at, _run_id from tracker.comments c
  where exists (
    select
    from tracker.issues i
    where i.source_id = c.source_id and i.id = c.issue_id
      and ops.shows_level(i.security_level, i.security_level_id)
  )
  union all
  select source_id, 'tracker.worklogs', id::text, null, _deleted_at, _run_id from tracker.worklogs w
  where exists (
    select
    from tracker.issues i
    where i.source_id = w.source_id and i.id = w.issue_id
      and ops.shows_level(i.security_level, i.security_level_id)
  )
  union all
  select source_id, 'ads.businesses', id, name, _deleted_at, _run_id from ads.businesses
  union all
  select source_id, 'ads.ad_accounts', id, name, _deleted_at, _run_id from ads.ad_accounts
  union all
  select source_id, 'ads.campaigns', id, name, _deleted_at, _run_id from ads.campaigns
  union all
  select source_id, 'ads.ad_sets', id, name, _deleted_at, _run_id from ads.ad_sets
  union all
  select source_id, 'ads.ads', id, name, _deleted_at, _run_id from ads.ads
  union all
  select source_id, 'ads.assets', id, name, _deleted_at, _run_id from ads.assets
  union all
  select source_id, 'ads.audiences', id, name, _deleted_at, _run_id from ads.audiences
  union all
  select source_id, 'ads.ad_categories', id, name, _deleted_at, _run_id from ads.ad_categories
  union all
  select source_id, 'ads.change_history', id, null, _deleted_at, _run_id from ads.change_history
  union all
  select source_id, 'ads.campaign_drafts', id, name, _deleted_at, _run_id from ads.campaign_drafts
  union all
  select source_id, 'ads.ad_set_drafts', id, name, _deleted_at, _run_id from ads.ad_set_drafts
  union all
  select source_id, 'ads.ad_drafts', id, name, _deleted_at, _run_id from ads.ad_drafts
  union all
  select source_id, 'workflow.dags', name, name, _deleted_at, _run_id from workflow.dags
  union all
  select source_id, 'workflow.dag_runs', dag_name || '/' || dag_run_id, dag_name, _deleted_at, _run_id
  from workflow.dag_runs
  union all
  select source_id, 'workflow.dag_run_steps', dag_name || '/' || dag_run_id || '/' || step_name || '/' || occurrence, dag_name, _deleted_at, _run_id
  from workflow.dag_run_steps
) d (source_id, table_name, record_id, record_name, deleted_at, run_id)
join ops.sources s on s.source_id = d.source_id
where d.deleted_at is not null;
