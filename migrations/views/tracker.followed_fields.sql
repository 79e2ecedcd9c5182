create or replace view tracker.followed_fields as -- Fields whose history bi.issue_field_history shows, by the words that are the same at every site; one row per source and field id. The status is not among them.
select
  s.source_id,
  w.field_id, -- Field id, as in tracker.issue_changelog.field_id; null: for sites that have none.
  w.field_name, -- assignee, priority, story_points, sprint, fix_versions, or a word of ref.history_fields.
  w.is_list, -- True when an issue can have several values at once.
  null::integer as place -- Of several fields for one thing the first that is filled counts: by place, then by id.
from ops.sources s
cross join (
  values
    ('assignee', 'assignee', false),
    ('priority', 'priority', false),
    -- Also at sites without such a field.
    (null, 'story_points', false),
    -- Servers that give no field ids name the field in their place.
    ('fixVersions', 'fix_versions', true),
    ('Fix Version', 'fix_versions', true),
    ('Sprint', 'sprint', true)
) w (field_id, field_name, is_list)
where s.kind = 'tracker'
union all
select source_id, id, role, role = 'sprint', role_place
from tracker.fields
where role in ('story_points', 'sprint')
union all
select s.source_id, h.field_id, h.field_name, false, null
from ref.history_fields h
join ops.sources s on s.name = h.source;
