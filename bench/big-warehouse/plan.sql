-- What becomes of each issue: its project, its type, and the statuses it goes through.

create unlogged table fill.plan as
select
  n as id,
  -- Of two picks the smaller: the first projects are the large ones.
  least(fill.pick(n, 1, 20), fill.pick(n, 2, 20)) as project,
  case
    when n % 50 = 0 then 4 when n % 10 = 7 then 5 when n % 97 = 5 then 6 when n % 3 = 0 then 1
    when n % 3 = 1 then 2 else 3
  end as type,
  fill.first_day() + n * (interval '2192 days' / fill.size('issues')) 
    - fill.part(n, 3) * interval '10 minutes' as created_at
from generate_series(1, fill.size('issues')) n;

alter table fill.plan add primary key (id);

-- The ways through the statuses; several mentions make a way likelier.
create table fill.ways as
select place::integer - 1 as way, string_to_array(text, ' ')::integer[] as statuses
from unnest(array[
  '1 3 4 6', '1 3 4 6', '1 2 3 4 6', '1 2 3 4 6 7', '1 3 4 6 7', '1 3 4 3 4 6', '1 2 3 4 3 4 6 7', '1 7',
  '1 3 4 6 3 4 6', '1 2 3 1 3 4 6 7', '1 2 3 9 6', '1 3 5 3 4 6', '1 3 6', '1 2 5 2 3 4 6', '8 1 3 4 6',
  '1 3 4 6 1 3 4 7'
]) with ordinality w (text, place);

-- Stays take up to weeks, most of them days. One in twelve issues waits in its first status for ever.
create unlogged table fill.steps as
select *
from (
  select
    p.id,
    s.place::integer as step,
    lag(s.status) over way as from_status,
    s.status as to_status,
    p.created_at + sum(
      case
        when s.place = 1 then interval '0'
        else interval '20 minutes' + fill.part(p.id, 10 + s.place) * fill.part(p.id, 30 + s.place) * case
          when before.status in (1, 8) then interval '40 days'
          when before.status in (6, 7) then interval '30 days'
          else interval '9 days'
        end
      end
    ) over way as at
  from fill.plan p
  join fill.ways w on w.way = fill.pick(p.id, 4, 16)
  cross join lateral unnest(w.statuses) with ordinality s (status, place)
  cross join lateral (select w.statuses[s.place - 1] as status) before
  where s.place = 1 or fill.pick(p.id, 5, 12) > 0
  window way as (partition by p.id order by s.place)
) t
where at < fill.today();

alter table fill.steps add primary key (id, step);

-- Where each issue ended up, and until when it was worked on.
alter table fill.plan
  add status integer, add status_at timestamptz, add first_started_at timestamptz, add ended_at timestamptz,
  add key text, add epic bigint;

update fill.plan p
set status = e.status,
  status_at = e.status_at,
  first_started_at = e.first_started_at,
  ended_at = case when e.status in (6, 7) then e.status_at else fill.today() end,
  key = e.key,
  epic = e.epic
from (
  select
    p.id,
    last.to_status as status,
    last.at as status_at,
    started.at as first_started_at,
    j.key || '-' || row_number() over by_project as key,
    max(p.id) filter (where p.type = 4) over by_project as epic
  from fill.plan p
  join tracker.projects j on j.id = 10000 + p.project
  join lateral (
    select to_status, at from fill.steps s where s.id = p.id order by step desc limit 1
  ) last on true
  left join lateral (
    select min(at) as at from fill.steps s where s.id = p.id and s.to_status = 3
  ) started on true
  window by_project as (partition by p.project order by p.id)
) e
where e.id = p.id;

analyze fill.plan;
analyze fill.steps;

-- Values that a field had one after the other, from null at creation: the last is today's.
create unlogged table fill.history as
select p.id, v.field, v.place, v.was, v.became,
  p.created_at + (p.ended_at - p.created_at) / 3
    * (v.place - 1 + fill.part(p.id, 100 + v.place * 7 + length(v.field))) as at
from fill.plan p
cross join lateral (
  select 'assignee' as field, 1 as place, null as was, 'user-' || (1 + fill.pick(p.id, 60, 500)) as became
  where fill.pick(p.id, 61, 12) > 0
  union all
  select 'assignee', 2, 'user-' || (1 + fill.pick(p.id, 60, 500)), 'user-' || (1 + fill.pick(p.id, 62, 500))
  where fill.pick(p.id, 61, 12) > 5 and fill.pick(p.id, 60, 500) <> fill.pick(p.id, 62, 500)
  union all
  select 'points', 1, null, (array[1, 2, 3, 5, 8, 13])[1 + fill.pick(p.id, 63, 6)]::text
  where p.type not in (4, 5) and fill.pick(p.id, 64, 10) < 8
  union all
  select 'points', 2, (array[1, 2, 3, 5, 8, 13])[1 + fill.pick(p.id, 63, 6)]::text, '20'
  where p.type not in (4, 5) and fill.pick(p.id, 64, 10) = 0
  union all
  select 'version', 1, null, (p.project * 30 + least(29, floor(p.id * 30.0 / fill.size('issues'))) + 1)::text
  where fill.pick(p.id, 65, 10) < 4
  union all
  select 'priority', 1, '3', (1 + fill.pick(p.id, 66, 2))::text
  where fill.pick(p.id, 67, 6) = 0
) v;

alter table fill.history add primary key (id, field, place);
analyze fill.history;

-- Thirty releases a project, one after the other.
create table fill.versions as
select p * 30 + n + 1 as id, p as project, (n / 10 + 1) || '.' || n % 10 as name,
  (fill.first_day() + (n + 1) * interval '73 days 1 hour')::date as release_date, n < 28 as released
from generate_series(0, 19) p, generate_series(0, 29) n;
