create or replace view bi.users as
select
  s.name as source,
  u.id as user_id,
  ops.shown_name(u.display_name, u.id) as user_name,
  u.active as is_active,
  u.account_type,
  u.time_zone,
  u._synced_at as synced_at
from tracker.users u
join ops.sources s on s.source_id = u.source_id
where u._deleted_at is null;

comment on view bi.users is 'People and apps; one row per live account, also those that only other records name. E-mail addresses are in bi_pii.users.';
comment on column bi.users.user_id is 'Account id.';
comment on column bi.users.user_name is 'Name as shown, or a pseudonym where the configuration says so.';
comment on column bi.users.account_type is 'atlassian, app, customer or unknown.';
comment on column bi.users.time_zone is 'IANA time zone, e.g. Europe/Berlin; null if not shown.';
