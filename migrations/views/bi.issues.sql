create or replace view bi.issues with (security_barrier) as -- Issues as they are today; one row per live issue (deleted ones are left out). For backlog, ageing, workload.
select
  s.name as source,
  i.id::text as issue_id,
  i.key as issue_key,
  w.summary, -- Title line.
  i.project_id::text as project_id,
  p.key as project_key,
  p.name as project_name, -- Name of the project.
  t.name as issue_type,
  t.subtask as is_subtask, -- True for types of sub-tasks; null if the type is not known.
  coalesce(st.name, '(status ' || i.status_id || ')') as status, -- Status today.
  coalesce(st.category, 'unknown') as status_category, -- todo, in_progress, done, or unknown where the source does not say.
  pr.name as priority, -- Priority.
  pr.rank as priority_rank, -- Place of the priority in the order of the source; smaller is more urgent.
  w.resolution, -- Resolution; null while unresolved.
  i.assignee_id, -- The assignee; null if unassigned, see bi.users.user_id.
  ops.shown_name(ua.display_name, i.assignee_id) as assignee_name,
  w.reporter_id, -- The reporter, see bi.users.user_id.
  ops.shown_name(ur.display_name, w.reporter_id) as reporter_name,
  case
    when pa.id is null
      and exists (select from tracker.issues h where h.source_id = i.source_id and h.id = i.parent_id) then null
    else i.parent_id
  end::text as parent_issue_id, -- Id of the parent: of a sub-task its task, of a task its epic; null if that is deleted or hidden by its security level.
  pa.key as parent_issue_key, -- Key of the parent today; null if it is not in the warehouse, deleted or hidden.
  coalesce(ep.key, un.unknown_key, pe.unknown_key) as epic_issue_key, -- Key of the epic today: its own for an epic, that of the parent for a sub-task, which names none; as the issue names it where the epic is not in the warehouse; null: none, or it is deleted or hidden.
  array_to_string(w.labels, ', ') as labels, -- Labels, separated by a comma; one row each in bi.issue_labels.
  array_to_string(w.components, ', ') as components, -- Names of components, separated by a comma.
  array_to_string(w.fix_versions, ', ') as fix_versions, -- Names of fix versions, separated by a comma.
  i.security_level, -- Name of the security level; null if everybody of the project may see it at the source.
  w.due_date, -- Due day; a calendar day without a time zone.
  i.created_at,
  w.updated_at,
  w.resolved_at,
  (i.created_at at time zone ops.reporting_time_zone())::date as created_date,
  (w.resolved_at at time zone ops.reporting_time_zone())::date as resolved_date,
  (case when abs(i.story_points) < 1e13 then i.story_points end)::numeric(18,4) as story_points,
  round(w.original_estimate_seconds / 3600.0, 2)::numeric(18,2) as original_estimate_hours, -- Original estimate in hours of work.
  round(w.remaining_estimate_seconds / 3600.0, 2)::numeric(18,2) as remaining_estimate_hours, -- Remaining estimate in hours of work.
  round(w.time_spent_seconds / 3600.0, 2)::numeric(18,2) as time_spent_hours, -- Time logged in hours of work, without sub-tasks.
  w.votes, -- How many people voted for it.
  w.watchers, -- How many people watch it.
  coalesce(st.category, 'unknown') <> 'done' as is_open, -- True unless the status is in the category done.
  coalesce(
    w.due_date < (now() at time zone ops.reporting_time_zone())::date and coalesce(st.category, 'unknown') <> 'done', false
  ) as is_overdue, -- True when open and the due day is before today in the reporting time zone.
  round(
    greatest(
      0,
      extract(
        epoch from case
          when st.category = 'done' then coalesce(w.resolved_at, w.updated_at)
          else now()
        end - i.created_at
      )
    ) / 86400,
    3
  )::numeric(18,3) as age_days, -- Days from creation to now; of a done issue to its resolution (where it has none, its last change).
  w._synced_at as synced_at,
  w.description, -- Description as plain text.
  w.creator_id, -- Who created it, see bi.users.user_id.
  ops.shown_name(uc.display_name, w.creator_id) as creator_name, -- Who created it, as shown.
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
  w.resolution_id::text as resolution_id, -- Id of the resolution, the same in every language; null while unresolved.
  w.start_date, -- Day on which work starts, as planned; a calendar day without a time zone; null: none, or the site has no such field.
  w.is_flagged, -- True while it is flagged as impeded; null: the site has no such field.
  w.team, -- Name of the team; its id where the source gives no name; null: none.
  ep.id::text as epic_issue_id, -- Id of the epic of epic_issue_key, see issue_id; null where that is not in the warehouse. To group by: names and keys change.
  coalesce(de.key, un.unknown_key) as direct_epic_issue_key -- Key of the epic that the issue itself names; null for epics, and for sub-tasks, which name none: sums by it leave their work out.
from tracker.shown_issues i
left join ops.sources s on s.source_id = i.source_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
left join tracker.issue_types t on t.source_id = i.source_id and t.id = i.issue_type_id
left join tracker.statuses st on st.source_id = i.source_id and st.id = i.status_id
left join tracker.priorities pr on pr.source_id = i.source_id and pr.id = i.priority_id
left join tracker.users ua on ua.source_id = i.source_id and ua.id = i.assignee_id
left join tracker.issue_facts f on f.source_id = i.source_id and f.issue_id = i.id
-- What few questions ask for: without it, an index has all that is read of an issue.
left join tracker.issues w on w.source_id = i.source_id and w.id = i.id
left join tracker.users uc on uc.source_id = i.source_id and uc.id = w.creator_id
left join tracker.users ur on ur.source_id = i.source_id and ur.id = w.reporter_id
left join tracker.shown_issues pa on pa.source_id = i.source_id and pa.id = i.parent_id
-- An aggregate has one row whatever it finds: queries that read no epic do not look it up, others look each up once.
left join lateral (
  select (array_agg(n.id order by n.key <> k.key, n._deleted_at is not null, n.id desc))[1] as id
  from tracker.issue_keys k join tracker.issues n on n.source_id = k.source_id and n.id = k.issue_id
  where k.source_id = i.source_id and k.key = i.epic_key
) oe on true
-- Sub-tasks name no epic: theirs is that of the parent. Parents on the way may be hidden.
left join lateral (
  select
    max(
      case
        when mt.hierarchy_level = 1 then m.id
        when m.epic_id is not null or m.epic_key is not null then coalesce(m.epic_id, e.id)
        when gt.hierarchy_level = 1 then gm.id
      end
    ) as epic_id,
    max(m.epic_key) filter (
      where e.id is null
        and not exists (select from tracker.hidden_keys k where k.source_id = m.source_id and k.key = m.epic_key)
    ) as unknown_key
  from tracker.issues m
  left join tracker.issue_types mt on mt.source_id = m.source_id and mt.id = m.issue_type_id
  left join tracker.issues gm on gm.source_id = m.source_id and gm.id = m.parent_id
  left join tracker.issue_types gt on gt.source_id = gm.source_id and gt.id = gm.issue_type_id
  cross join lateral (
    select (array_agg(n.id order by n.key <> k.key, n._deleted_at is not null, n.id desc))[1] as id
    from tracker.issue_keys k join tracker.issues n on n.source_id = k.source_id and n.id = k.issue_id
    where k.source_id = m.source_id and k.key = m.epic_key
  ) e
  where m.source_id = i.source_id and m.id = i.parent_id
) pe on true
-- Few epics are unknown: with an offset each is looked up, and the keys of all issues are not put into a hash first.
cross join lateral (
  select case when oe.id is null and i.epic_key is not null and not exists (
    select from tracker.hidden_keys k where k.source_id = i.source_id and k.key = i.epic_key offset 0
  ) then i.epic_key end as unknown_key
) un
left join tracker.shown_issues de on de.source_id = i.source_id and de.id = coalesce(i.epic_id, oe.id)
left join tracker.shown_issues ep
  on ep.source_id = i.source_id
    and ep.id = case
      -- Servers that say no level: the name of the epic is a field that only epics have.
      when coalesce(t.hierarchy_level = 1, exists (
        select
        from tracker.fields n
        join tracker.issues o on o.source_id = n.source_id and o.id = i.id and o.custom_fields ? n.id
        where n.source_id = i.source_id and n.schema_custom = 'com.pyxis.greenhopper.jira:gh-epic-label'
      )) then i.id
      when i.epic_id is not null or i.epic_key is not null then coalesce(i.epic_id, oe.id)
      else pe.epic_id
    end;
