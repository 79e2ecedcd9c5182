create or replace view tracker.shown_sprints as -- Sprints as bi shows them, with the columns of tracker.sprints: one that no board lists and an issue names as closed is closed, at the time that the issue says.
select
  s.source_id, s.id, s.name, case when c.is_closed then 'closed' else s.state end as state, s.board_id, s.goal,
  s.created_at, s.start_at, s.end_at,
  case
    when c.is_closed then coalesce(
      s.completed_at,
      (
        select max(i.completed_at) from tracker.issue_sprints i
        where i.source_id = s.source_id and i.sprint_id = s.id and i.state = 'closed'
      )
    )
    else s.completed_at
  end as completed_at,
  s._synced_at, s._deleted_at
from tracker.sprints s
cross join lateral (
  select s.state <> 'closed' and exists (
    select from tracker.issue_sprints i
    where i.source_id = s.source_id and i.sprint_id = s.id and i.state = 'closed'
  ) and not exists (
    -- Not a function: it would read with the rights of the reader.
    select from tracker.board_sprints l where l.source_id = s.source_id and l.sprint_id = s.id
  ) as is_closed
) c;
