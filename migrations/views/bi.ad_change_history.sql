create or replace view bi.ad_change_history as
select
  s.name as source,
  h.id as change_id,
  h.ad_account_id,
  ac.name as ad_account_name,
  h.changed_at,
  (h.changed_at at time zone ops.reporting_time_zone())::date as changed_date,
  h.entity_type,
  h.entity_id,
  h.entity_name,
  h.operation,
  h.actor_name as changed_by,
  h.actor_category as changed_by_category,
  f.item as field_number,
  coalesce(f.display_label, f.field_type) as field_name,
  f.change_category,
  case
    when jsonb_typeof(f.before) = 'object' and (f.before ? 'value' or f.before = '{}')
      then f.before ->> 'value'
    else f.before::text
  end as old_value,
  case
    when jsonb_typeof(f.after) = 'object' and (f.after ? 'value' or f.after = '{}') then f.after ->> 'value'
    else f.after::text
  end as new_value
from ads.change_history h
join ops.sources s on s.source_id = h.source_id
left join ads.change_history_items f on f.source_id = h.source_id and f.change_id = h.id
left join ads.ad_accounts ac on ac.source_id = h.source_id and ac.id = h.ad_account_id
where h._deleted_at is null;

comment on view bi.ad_change_history is 'Who changed what at the platform; one row per change and field. Empty where the server keeps no such history.';
comment on column bi.ad_change_history.change_id is 'Change id; the fields changed together share it.';
comment on column bi.ad_change_history.operation is 'CREATED, CHANGED or REMOVED.';
comment on column bi.ad_change_history.changed_by is 'Who or what changed it, as shown.';
comment on column bi.ad_change_history.changed_by_category is 'ADVERTISER_USER, SUPPORT, API_INTEGRATION, SYSTEM or UNKNOWN.';
comment on column bi.ad_change_history.field_number is 'Place of the field within its change, from 0; null for a change without fields.';
comment on column bi.ad_change_history.field_name is 'The field, as people read it.';
comment on column bi.ad_change_history.change_category is 'STATUS, BUDGET, TARGETING, CREATIVE, SCHEDULING, SETTINGS or BILLING.';
comment on column bi.ad_change_history.old_value is 'Value before, as text; amounts as the platform writes them.';
comment on column bi.ad_change_history.new_value is 'Value after, as text; amounts as the platform writes them.';
