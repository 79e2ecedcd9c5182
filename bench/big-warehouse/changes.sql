-- The changelog: what became of statuses, assignees, points and so on, and other changes up to the number
-- that is wanted.

create unlogged table fill.changes as
select s.id, s.at, 'status' as field_id, 'status' as field_name,
  s.from_status::text as from_id, f.name as from_text, s.to_status::text as to_id, t.name as to_text
from fill.steps s
join tracker.statuses f on f.id = s.from_status
join tracker.statuses t on t.id = s.to_status
where s.step > 1
union all
select id, at, 'assignee', 'assignee', was, replace(was, 'user-', 'User '), became,
  replace(became, 'user-', 'User ')
from fill.history where field = 'assignee'
union all
select id, at, 'customfield_10016', 'Story Points', null, was, null, became
from fill.history where field = 'points'
union all
select h.id, h.at, 'priority', 'priority', h.was, f.name, h.became, t.name
from fill.history h
join tracker.priorities f on f.id::text = h.was
join tracker.priorities t on t.id::text = h.became
where h.field = 'priority'
union all
select h.id, h.at, 'fixVersions', 'Fix Version', null, null, v.id::text, v.name
from fill.history h join fill.versions v on v.id::text = h.became
where h.field = 'version'
union all
-- The field lists every sprint so far.
select t.id, t.at, 'customfield_10020', 'Sprint',
  string_agg(s.id::text, ', ') over earlier, string_agg(s.name, ', ') over earlier,
  string_agg(s.id::text, ', ') over so_far, string_agg(s.name, ', ') over so_far
from fill.stays t join tracker.sprints s on s.id = t.sprint_id
window so_far as (partition by t.id order by t.place),
  earlier as (partition by t.id order by t.place rows between unbounded preceding and 1 preceding)
union all
select t.id, t.removed_at, 'customfield_10020', 'Sprint',
  string_agg(s.id::text, ', ' order by s.id), string_agg(s.name, ', ' order by s.id),
  string_agg(s.id::text, ', ' order by s.id) filter (where o.removed_at is null),
  string_agg(s.name, ', ' order by s.id) filter (where o.removed_at is null)
from fill.stays t
join fill.stays o on o.id = t.id
join tracker.sprints s on s.id = o.sprint_id
where t.removed_at is not null
group by t.id, t.removed_at;

insert into fill.changes
select p.id, p.created_at + (p.ended_at - p.created_at) * fill.part(n, 110), field.id, field.name,
  null, field.name || ' before ' || n, null, field.name || ' after ' || n
from generate_series(1, fill.size('changes') - (select count(*) from fill.changes)) n
join fill.plan p on p.id = 1 + fill.pick(n, 111, fill.size('issues'))
join (values (0, 'description', 'description'), (1, 'summary', 'summary'), (2, 'labels', 'labels'),
  (3, 'Rank', 'Rank'),
  (4, 'Link', 'Link'), (5, 'duedate', 'duedate'), (6, 'customfield_10101', 'Effort 1'))
  field (place, id, name) on field.place = n % 7;

-- Several items in one history now and then, as a form with several fields makes them.
insert into tracker.issue_changelog (
  source_id, history_id, item, issue_id, changed_at, author_id, field_id, field_name, from_id, from_text,
  to_id, to_text)
select 1, 1000000 + dense_rank() over (order by id, at), 
  (row_number() over (partition by id, at order by field_id) - 1)::smallint,
  id, at, 'user-' || (1 + fill.pick(id, extract(minute from at)::bigint, 500)), field_id, field_name,
  from_id, from_text, to_id, to_text
from fill.changes;
