create or replace view bi.issues with (security_barrier) as -- Issues as they are today; one row per live issue (deleted ones are left out). For backlog, ageing, workload.
select
  s.name as source,
  i.id::text as issue_id,
  i.key as issue_key,
  i.summary, -- Title line.
  i.project_id::text as project_id,
  p.key as project_key,
  p.name as project_name, -- Name of the project.
  t.name as issue_type,
  t.subtask as is_subtask, -- True for types of sub-tasks; null if the type is not known.
  coalesce(st.name, '(status ' || i.status_id || ')') as status, -- Status today.
  coalesce(st.category, 'unknown') as status_category, -- todo, in_progress, done, or unknown where the source does not say.
  pr.name as priority, -- Priority.
  pr.rank as priority_rank, -- Place of the priority in the order of the source; smaller is more urgent.
  i.resolution, -- Resolution; null while unresolved.
  i.assignee_id, -- The assignee; null if unassigned, see bi.users.user_id.
  ops.shown_name(ua.display_name, i.assignee_id) as assignee_name,
  i.reporter_id, -- The reporter, see bi.users.user_id.
  ops.shown_name(ur.display_name, i.reporter_id) as reporter_name,
  case
    when pa.id is null
      and exists (select from tracker.issues h where h.source_id = i.source_id and h.id = i.parent_id) then null
    else i.parent_id
  end::text as parent_issue_id, -- Id of the parent: of a sub-task its task, of a task its epic; null if that is deleted or hidden by its security level.
  pa.key as parent_issue_key, -- Key of the parent today; null if it is not in the warehouse, deleted or hidden.
  coalesce(ep.key, case when oe.id is null then un.epic_key end, case when pe.id is null then up.epic_key end)
    as epic_issue_key, -- Key of the epic today: its own for an epic, that of the parent for a sub-task, which names none; as the issue names it where the epic is not in the warehouse; null: none, or it is deleted or hidden.
  array_to_string(i.labels, ', ') as labels, -- Labels, separated by a comma; one row each in bi.issue_labels.
  array_to_string(i.components, ', ') as components, -- Names of components, separated by a comma.
  array_to_string(i.fix_versions, ', ') as fix_versions, -- Names of fix versions, separated by a comma.
  i.security_level, -- Name of the security level; null if everybody of the project may see it at the source.
  i.due_date, -- Due day; a calendar day without a time zone.
  i.created_at,
  i.updated_at,
  i.resolved_at,
  (i.created_at at time zone ops.reporting_time_zone())::date as created_date,
  (i.resolved_at at time zone ops.reporting_time_zone())::date as resolved_date,
  (case when abs(i.story_points) < 1e13 then i.story_points end)::numeric(18,4) as story_points,
  round(i.original_estimate_seconds / 3600.0, 2)::numeric(18,2) as original_estimate_hours, -- Original estimate in hours of work.
  round(i.remaining_estimate_seconds / 3600.0, 2)::numeric(18,2) as remaining_estimate_hours, -- Remaining estimate in hours of work.
  round(i.time_spent_seconds / 3600.0, 2)::numeric(18,2) as time_spent_hours, -- Time logged in hours of work, without sub-tasks.
  i.votes, -- How many people voted for it.
  i.watchers, -- How many people watch it.
  coalesce(st.category, 'unknown') <> 'done' as is_open, -- True unless the status is in the category done.
  coalesce(
    i.due_date < (now() at time zone ops.reporting_time_zone())::date and coalesce(st.category, 'unknown') <> 'done', false
  ) as is_overdue, -- True when open and the due day is before today in the reporting time zone.
  round(
    greatest(
      0,
      extract(
        epoch from case
          when st.category = 'done' then coalesce(i.resolved_at, i.updated_at)
          else now()
        end - i.created_at
      )
    ) / 86400,
    3
  )::numeric(18,3) as age_days, -- Days from creation to now; of a done issue to its resolution (where it has none, its last change).
  i._synced_at as synced_at,
  i.description, -- Description as plain text.
  i.creator_id, -- Who created it, see bi.users.user_id.
  ops.shown_name(uc.display_name, i.creator_id) as creator_name, -- Who created it, as shown.
  pa.summary as parent_summary, -- Title of the parent; null where it is not in the warehouse, deleted or hidden.
  ep.summary as epic_summary, -- Title of the epic of epic_issue_key; null where that is not in the warehouse, deleted or hidden.
  (
    select sp.name
    from tracker.sprint_issue_facts f
    join tracker.shown_sprints sp on sp.source_id = f.source_id and sp.id = f.sprint_id
    where f.source_id = i.source_id
      and f.issue_id = i.id
      and f.removed_at is null
      and sp.state in ('active', 'future')
      and sp._deleted_at is null
    order by sp.state, sp.start_at, sp.id
    limit 1
  ) as current_sprint, -- Name of the active sprint that it is in, else of the next one; null: none.
  f.comment_count, -- Live comments. May be summed.
  f.last_comment_at, -- When the last live comment was written (UTC); null: none.
  f.first_assigned_at, -- When it was assigned for the first time (UTC); null: never.
  f.first_started_at, -- When it was first in progress (UTC); null: never.
  case when f.is_done then f.last_done_at end as done_at,
  (case when f.is_done then f.last_done_at end at time zone ops.reporting_time_zone())::date as done_date,
  round(
    case when f.is_done then extract(epoch from f.last_done_at - f.began_at) end / 86400, 3
  )::numeric(18,3) as lead_time_days, -- Days of 24 hours from created_at (or the oldest change, where that is older, as imported ones may be) to done_at; null while it is not done. For medians and averages, not for sums.
  round(
    case
      when f.is_done and f.first_started_at is not null
        then greatest(0, extract(epoch from f.last_done_at - f.first_started_at))
    end / 86400,
    3
  )::numeric(18,3) as cycle_time_days, -- Days of 24 hours from first_started_at to done_at; null while it is not done, or if it was never in progress.
  f.current_since as status_entered_at, -- When it entered its status of now (UTC).
  f.reopen_count, -- How often it was done and then no longer. May be summed.
  f.assignee_changes, -- How often its assignee changed. May be summed.
  case when s.base_url !~ '/ex/jira/' then s.base_url || '/browse/' || i.key end as url, -- Its page in the tracker; null where the tracker is read through a gateway.
  f.priority_changes, -- How often its priority changed. May be summed.
  i.resolution_id::text as resolution_id, -- Id of the resolution, the same in every language; null while unresolved.
  i.start_date, -- Day on which work starts, as planned; a calendar day without a time zone; null: none, or the site has no such field.
  i.is_flagged, -- True while it is flagged as impeded; null: the site has no such field.
  i.team, -- Name of the team; its id where the source gives no name; null: none.
  ep.id::text as epic_issue_id, -- Id of the epic of epic_issue_key, see issue_id; null where that is not in the warehouse. To group by: names and keys change.
  coalesce(de.key, case when oe.id is null then un.epic_key end) as direct_epic_issue_key -- Key of the epic that the issue itself names; null for epics, and for sub-tasks, which name none: sums by it leave their work out.
from tracker.shown_issues i
left join ops.sources s on s.source_id = i.source_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
left join tracker.issue_types t on t.source_id = i.source_id and t.id = i.issue_type_id
left join tracker.statuses st on st.source_id = i.source_id and st.id = i.status_id
left join tracker.priorities pr on pr.source_id = i.source_id and pr.id = i.priority_id
left join tracker.users ua on ua.source_id = i.source_id and ua.id = i.assignee_id
left join tracker.issue_facts f on f.source_id = i.source_id and f.issue_id = i.id
left join tracker.users uc on uc.source_id = i.source_id and uc.id = i.creator_id
left join tracker.users ur on ur.source_id = i.source_id and ur.id = i.reporter_id
left join tracker.shown_issues pa on pa.source_id = i.source_id and pa.id = i.parent_id
-- Sub-tasks name no epic: theirs is that of the parent. Parents on the way may be hidden.
left join tracker.issues pm on pm.source_id = i.source_id and pm.id = i.parent_id
left join tracker.issue_types pt on pt.source_id = pm.source_id and pt.id = pm.issue_type_id
left join tracker.issues gm on gm.source_id = pm.source_id and gm.id = pm.parent_id
left join tracker.issue_types gt on gt.source_id = gm.source_id and gt.id = gm.issue_type_id
-- An aggregate has one row whatever it finds: queries that read no epic do not look keys up, others look each up once.
left join lateral (
  select (array_agg(n.id order by n.key <> k.key, n._deleted_at is not null, n.id desc))[1] as id
  from tracker.issue_keys k join tracker.issues n on n.source_id = k.source_id and n.id = k.issue_id
  where k.source_id = i.source_id and k.key = i.epic_key
) oe on true
left join lateral (
  select (array_agg(n.id order by n.key <> k.key, n._deleted_at is not null, n.id desc))[1] as id
  from tracker.issue_keys k join tracker.issues n on n.source_id = k.source_id and n.id = k.issue_id
  where k.source_id = pm.source_id and k.key = pm.epic_key
) pe on true
-- Few epics are unknown: with an offset each is looked up, and the keys of all issues are not put into a hash first.
cross join lateral (
  select case when i.epic_key is not null and not exists (
    select from tracker.hidden_keys k where k.source_id = i.source_id and k.key = i.epic_key offset 0
  ) then i.epic_key end as epic_key
) un
cross join lateral (
  select case when pm.epic_key is not null and not exists (
    select from tracker.hidden_keys k where k.source_id = i.source_id and k.key = pm.epic_key offset 0
  ) then pm.epic_key end as epic_key
) up
left join tracker.shown_issues de on de.source_id = i.source_id and de.id = coalesce(i.epic_id, oe.id)
left join tracker.shown_issues ep
  on ep.source_id = i.source_id
    and ep.id = case
      -- Servers that say no level: the name of the epic is a field that only epics have.
      when coalesce(t.hierarchy_level = 1, exists (
        select
        from tracker.fields n
        where n.source_id = i.source_id and n.schema_custom = 'com.pyxis.greenhopper.jira:gh-epic-label'
          and i.custom_fields ? n.id
      )) then i.id
      when i.epic_id is not null or i.epic_key is not null then coalesce(i.epic_id, oe.id)
      when pt.hierarchy_level = 1 then pm.id
      when pm.epic_id is not null or pm.epic_key is not null then coalesce(pm.epic_id, pe.id)
      when gt.hierarchy_level = 1 then gm.id
    end;
