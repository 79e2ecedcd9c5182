create or replace view bi_pii.users as
select
  s.name as source,
  u.id as user_id,
  u.display_name as user_name,
  u.email
from tracker.users u
join ops.sources s on s.source_id = u.source_id
where u._deleted_at is null;

comment on view bi_pii.users is 'Names and e-mail addresses of people; one row per live account, see bi.users.';
comment on column bi_pii.users.user_id is 'Account id, see bi.users.user_id.';
comment on column bi_pii.users.user_name is 'Name as shown at the source; never a pseudonym.';
comment on column bi_pii.users.email is 'E-mail address; null if the source does not show it.';
