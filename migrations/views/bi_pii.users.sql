create or replace view bi_pii.users as -- Names and e-mail addresses of people; one row per live account, see bi.users.
select
  s.name as source,
  u.id as user_id, -- Account id, see bi.users.user_id.
  u.display_name as user_name, -- Name as shown at the source; never a pseudonym.
  u.email -- E-mail address; null if the source does not show it.
from tracker.users u
join ops.sources s on s.source_id = u.source_id
where u._deleted_at is null;
