create or replace view bi.issue_custom_fields with (security_barrier) as -- Custom fields that are set, for discovery; one row per live issue, field and value (several values, several rows).
select
  s.name as source,
  i.id::text as issue_id,
  i.key as issue_key,
  i.project_id::text as project_id,
  p.key as project_key,
  e.field_id, -- Field id, e.g. customfield_10016.
  coalesce(f.name, e.field_id) as field_name, -- Field name; names may repeat, ids do not.
  f.schema_type as field_type, -- Type of the field, e.g. number, option, array.
  v.place as value_number_in_field, -- Place of the value among those of the field, from 1.
  case
    when ops.is_issue_key(w.words) and exists (
      -- One look-up a value: without the offset Postgres might read all issues first.
      select from tracker.hidden_keys k where k.source_id = i.source_id and k.key = w.words offset 0
    ) then null
    else v.value #>> '{}'
  end as value_text, -- The value as text: options by label, people by account id, anything nested as JSON.
  (
    case when n.number = 0 or abs(n.number) between 1e-300 and 1e300 then n.number end
  )::double precision as value_number -- The value as a number; null if it is none, or beyond the range of a double.
from tracker.shown_issues i
left join ops.sources s on s.source_id = i.source_id
left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
cross join lateral jsonb_each(i.custom_fields) as e (field_id, value)
cross join lateral jsonb_array_elements(
  case when jsonb_typeof(e.value) = 'array' then e.value else jsonb_build_array(e.value) end
) with ordinality as v (value, place)
-- A link to an epic or a parent is a key, or an object with one.
cross join lateral (
  select coalesce(v.value ->> 'key', v.value #>> '{data,key}', v.value #>> '{}') as words
) w
cross join lateral (
  select case when jsonb_typeof(v.value) = 'number' then (v.value #>> '{}')::numeric end
) as n (number)
left join tracker.fields f on f.source_id = i.source_id and f.id = e.field_id;
