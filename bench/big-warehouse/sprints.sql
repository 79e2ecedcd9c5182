-- Twenty boards with sixty sprints of two weeks each: 57 closed, one active, two in the future. Issues go
-- from one sprint to the next.

create function fill.sprint_start(place bigint) returns timestamptz stable
  return date_trunc('week', fill.today() - interval '3 days', 'UTC') + interval '9 hours'
    + (place - 57) * interval '14 days';

create function fill.sprint_at(at timestamptz) returns bigint stable
  return floor(extract(epoch from at - fill.sprint_start(0)) / 1209600);

insert into tracker.sprints (source_id, id, name, state, board_id, goal, created_at, start_at, end_at,
  completed_at)
select 1, b * 60 + n + 1, p.key || ' Sprint ' || (n + 1),
  case when n < 57 then 'closed' when n = 57 then 'active' else 'future' end,
  b + 1, 'Goal ' || (n + 1), fill.sprint_start(n - 2), fill.sprint_start(n), fill.sprint_start(n + 1),
  case
    when n < 57
      then fill.sprint_start(n + 1) - interval '2 hours' + fill.pick(n, b, 180) * interval '1 minute'
  end
from generate_series(0, 19) b
join tracker.projects p on p.id = 10000 + b
cross join generate_series(0, 59) n;

insert into tracker.board_sprints (source_id, board_id, sprint_id)
select source_id, board_id, id from tracker.sprints;

-- From the sprint in which work began (or was planned) up to the one in which it ended, three at most.
create unlogged table fill.stays as
select
  p.id,
  row_number() over (partition by p.id order by n)::integer as place,
  s.id as sprint_id,
  case
    when s.state = 'future' then p.created_at + (fill.today() - p.created_at) * fill.part(p.id, 55)
    when n = f.first then greatest(
      p.created_at + interval '1 minute',
      s.start_at - interval '2 days' + fill.part(p.id, 50) * interval '3 days'
    )
    else before.completed_at
  end as at,
  -- One in twenty is taken out before its sprint ends.
  case
    when fill.pick(p.id, 51, 20) = 0 and n = f.last
      then greatest(p.created_at, s.start_at) + interval '1 day' + fill.part(p.id, 52) * interval '8 days'
  end as removed_at
from fill.plan p
cross join lateral (
  select fill.sprint_at(coalesce(p.first_started_at, p.created_at + interval '25 days')) as first,
    fill.sprint_at(p.ended_at) as final
) x
cross join lateral (
  select x.first, least(greatest(x.first, x.final), x.first + fill.pick(p.id, 53, 3), 59) as last
) f
join tracker.sprints s
  on s.board_id = p.project + 1 and s.id - p.project * 60 - 1 between greatest(f.first, 0) and f.last
left join tracker.sprints before on before.id = s.id - 1 and before.board_id = s.board_id
cross join lateral (select s.id - p.project * 60 - 1 as n) o
where p.type not in (4, 5) and fill.pick(p.id, 54, 10) > 0 and f.first >= 0;

delete from fill.stays where at >= fill.today();
update fill.stays set removed_at = null where removed_at >= fill.today() or removed_at <= at;
alter table fill.stays add primary key (id, place);
analyze fill.stays;

insert into tracker.issue_sprints (source_id, issue_id, sprint_id, name, state, board_id, goal, start_at,
  end_at, completed_at)
select 1, t.id, s.id, s.name, s.state, s.board_id, s.goal, s.start_at, s.end_at, s.completed_at
from fill.stays t join tracker.sprints s on s.id = t.sprint_id
where t.removed_at is null;

insert into tracker.sprint_issues (source_id, sprint_id, issue_id)
select source_id, sprint_id, issue_id from tracker.issue_sprints;
