create or replace view bi.issue_links with (security_barrier) as -- Links between issues, as seen from each end; one row per live issue, link and direction (a link between two live issues has two rows: filter on direction to count it once).
select
  s.name as source,
  l.link_id::text as link_id, -- Link id; the same at both ends.
  l.direction, -- outward: this issue is the active end (blocks); inward: the passive end (is blocked by).
  l.type_name as link_type, -- Name of the link type, e.g. Blocks.
  case l.direction when 'outward' then l.outward else l.inward end as relation, -- How this issue relates to the other, e.g. blocks, is blocked by.
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  st.category is not distinct from 'done' as is_done, -- True when this issue is in the status category done.
  case when not x.is_hidden then l.other_issue_id end::text as other_issue_id, -- Id of the issue at the other end; null if that is deleted or hidden by its security level.
  coalesce(o.key, case when not x.is_hidden then l.other_issue_key end) as other_issue_key, -- Its key today; if it was never read, its key when the link was read; null if it is deleted or hidden.
  op.key as other_project_key, -- Key of the project the other issue is in today.
  o.summary as other_summary, -- Title line of the other issue.
  ost.name as other_status, -- Status of the other issue today.
  o.id is not null as is_other_known, -- True when the other issue is in bi.issues: it lives, was synced, and is not hidden by a security level.
  case when o.id is not null then ost.category is not distinct from 'done' end as is_other_done, -- True when the other issue is in the status category done; null if it is not known.
  l.direction = 'outward' and b.blocks and st.category is distinct from 'done' as is_blocking, -- True when this issue blocks the other one (outward end of a link type that ref.blocking_links names) and is not done.
  case
    when l.direction = 'outward' or not b.blocks then false
    when o.id is not null then ost.category is distinct from 'done'
  end as is_blocked, -- True when the other issue blocks this one and is not done; null if the other one is not known.
  l.type_id::text as link_type_id -- Id of the link type, the same whatever its name is called; see ref.blocking_links.
from tracker.issue_links l
cross join lateral (
  select exists (
    select
    from ref.blocking_links r
    where case r.field
      when 'type_id' then l.type_id::text
      when 'type_name' then l.type_name
      when 'outward' then l.outward
      else l.inward
    end ilike r.pattern collate ops.any_case
  ) as blocks
) b
left join ops.sources s on s.source_id = l.source_id
join tracker.shown_issues i on i.source_id = l.source_id and i.id = l.issue_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
left join tracker.statuses st on st.source_id = i.source_id and st.id = i.status_id
left join tracker.shown_issues o on o.source_id = l.source_id and o.id = l.other_issue_id
cross join lateral (
  select o.id is null and exists (
    select from tracker.issues h where h.source_id = l.source_id and h.id = l.other_issue_id
  ) as is_hidden
) x
left join tracker.projects op on op.source_id = o.source_id and op.id = o.project_id
left join tracker.statuses ost on ost.source_id = o.source_id and ost.id = o.status_id;
