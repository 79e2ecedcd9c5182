-- The issues as they are today, after all that happened to them.

create unlogged table fill.custom as
select p.id, jsonb_object_agg('customfield_' || (10100 + f.n), case f.n % 6
    when 0 then to_jsonb('CC-' || fill.pick(p.id, f.n, 900))
    when 1 then to_jsonb(fill.pick(p.id, f.n, 4000) / 8.0)
    when 2 then to_jsonb((array['DE', 'UK', 'US', 'FR', 'JP'])[1 + fill.pick(p.id, f.n, 5)])
    when 3 then jsonb_build_array('Web', (array['App', 'Audio', 'Print'])[1 + fill.pick(p.id, f.n, 3)])
    when 4 then to_jsonb('user-' || (1 + fill.pick(p.id, f.n, 500)))
    else to_jsonb((fill.first_day() + fill.pick(p.id, f.n, 2500) * interval '1 day')::date)
  end) as fields
from fill.plan p
cross join lateral (select (p.project * 5 + k * 7) % 100 as n from generate_series(1, 12) k) f
group by p.id;

insert into tracker.issues (
  source_id, id, key, project_id, issue_type_id, status_id, priority_id, resolution_id, resolution,
  parent_id, epic_id, epic_key,
  assignee_id, reporter_id, creator_id, summary, description, labels, components, fix_versions,
  security_level, security_level_id,
  due_date, created_at, updated_at, resolved_at, status_category_changed_at, story_points,
  original_estimate_seconds,
  remaining_estimate_seconds, time_spent_seconds, votes, watchers, custom_fields, status, status_category,
  issue_type, is_subtask,
  priority, _deleted_at, _row_hash)
select
  1, p.id, p.key, 10000 + p.project, p.type, p.status, coalesce(prio.became::bigint, 3),
  case when st.category = 'done' then 1 end, case when st.category = 'done' then 'Done' end, epic.id,
    epic.id, epic.key,
  assignee.became, 'user-' || (1 + fill.pick(p.id, 70, 500)), 'user-' || (1 + fill.pick(p.id, 70, 500)),
  'Summary of ' || p.key || ' about ' || (array['speed', 'money', 'search', 'login',
  'reports'])[1 + fill.pick(p.id, 71, 5)],
  repeat('What is to be done and why. ', 4 + fill.pick(p.id, 72, 20)::integer),
  labels.list, array['Part ' || (1 + fill.pick(p.id, 73, 5))],
  case when version.name is null then '{}' else array[version.name] end,
  case when p.id % 500 = 3 then 'Staff' end, case when p.id % 500 = 3 then 1 end,
  case
    when fill.pick(p.id, 74, 3) = 0 then (p.created_at + fill.pick(p.id, 75, 90) * interval '1 day')::date
  end,
  p.created_at, greatest(p.created_at, changed.at), case when st.category = 'done' then p.status_at end,
  p.status_at,
  points.became::numeric, e.seconds, case when st.category <> 'done' then e.seconds / 2 end, worked.seconds,
  fill.pick(p.id, 76, 4), fill.pick(p.id, 77, 9), custom.fields, st.name, st.category, type.name,
  type.subtask, prio_name.name,
  case when p.id % 400 = 7 then now() end, p.id
from fill.plan p
join tracker.statuses st on st.id = p.status
join tracker.issue_types type on type.id = p.type
left join fill.plan epic on epic.id = p.epic and p.type <> 4 and fill.pick(p.id, 78, 10) < 6
left join fill.history assignee on assignee.id = p.id and assignee.field = 'assignee' and assignee.place = (
  select max(place) from fill.history h where h.id = p.id and h.field = 'assignee')
left join fill.history points on points.id = p.id and points.field = 'points' and points.place = (
  select max(place) from fill.history h where h.id = p.id and h.field = 'points')
left join fill.history prio on prio.id = p.id and prio.field = 'priority'
left join tracker.priorities prio_name on prio_name.id = coalesce(prio.became::bigint, 3)
left join fill.history v on v.id = p.id and v.field = 'version'
left join fill.versions version on version.id = v.became::bigint
join fill.custom custom on custom.id = p.id
left join (
  select issue_id, max(changed_at) as at from tracker.issue_changelog group by issue_id
) changed on changed.issue_id = p.id
left join (
  select issue_id, sum(time_spent_seconds)::bigint as seconds from tracker.worklogs group by issue_id
) worked on worked.issue_id = p.id
cross join lateral (
  select case when fill.pick(p.id, 79, 2) = 0 then 3600 * (1 + fill.pick(p.id, 80, 40)) end as seconds
) e
cross join lateral (
  select coalesce(array_agg(distinct 'label-' || fill.pick(p.id, 81 + k, 60)), '{}') as list
  from generate_series(1, fill.pick(p.id, 90, 4)) k
) labels;

insert into tracker.issue_keys (source_id, key, issue_id)
select 1, key, id from fill.plan
union all select 1, 'OLD-' || id, id from fill.plan where id % 200 = 9;

insert into tracker.issue_labels (source_id, issue_id, label)
select 1, id, unnest(labels) from tracker.issues;
insert into tracker.issue_components (source_id, issue_id, component_id, name)
select 1, id, project_id * 10 + right(components[1], 1)::bigint, components[1] from tracker.issues;
insert into tracker.issue_versions (source_id, issue_id, kind, version_id, name, released, archived,
  release_date, start_date)
select 1, h.id, 'fix', v.id, v.name, v.released, false, v.release_date, v.release_date - 73
from fill.history h join fill.versions v on v.id = h.became::bigint
where h.field = 'version';
insert into tracker.issue_links (source_id, issue_id, link_id, direction, type_id, type_name, outward,
  inward, other_issue_id, other_issue_key)
select 1, side.id, l.n, side.direction, 1, 'Blocks', 'blocks', 'is blocked by', side.other, o.key
from (select n, n * 6 as a, n * 6 + 1 + fill.pick(n, 91, 300) as b from generate_series(1,
  fill.size('issues') / 7) n) l
cross join lateral (values ('outward', l.a, l.b), ('inward', l.b, l.a)) side (direction, id, other)
join fill.plan o on o.id = side.other
join fill.plan i on i.id = side.id;
