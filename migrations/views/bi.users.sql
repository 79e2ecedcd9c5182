create or replace view bi.users as -- People and apps; one row per live account, also those that only other records name. E-mail addresses are in bi_pii.users.
select
  s.name as source,
  u.id as user_id, -- Account id.
  ops.shown_name(u.display_name, u.id) as user_name, -- Name as shown, or a pseudonym where the configuration says so.
  u.active as is_active,
  u.account_type, -- atlassian, app, customer or unknown.
  u.time_zone, -- IANA time zone, e.g. Europe/Berlin; null if not shown.
  u._synced_at as synced_at
from tracker.users u
join ops.sources s on s.source_id = u.source_id
where u._deleted_at is null;
