create or replace view bi.ad_change_history as -- Who changed what at the platform; one row per change and field. Empty where the server keeps no such history.
select
  s.name as source,
  h.id as change_id, -- Change id; the fields changed together share it.
  h.ad_account_id,
  ac.name as ad_account_name,
  h.changed_at,
  (h.changed_at at time zone ops.reporting_time_zone())::date as changed_date,
  h.entity_type, -- What was changed, e.g. CAMPAIGN, AD_SET, CREATIVE.
  h.entity_id,
  h.entity_name,
  h.operation, -- CREATED, CHANGED or REMOVED.
  h.actor_name as changed_by, -- Who or what changed it, as shown.
  h.actor_category as changed_by_category, -- ADVERTISER_USER, SUPPORT, API_INTEGRATION, SYSTEM or UNKNOWN.
  f.item as field_number, -- Place of the field within its change, from 0; null for a change without fields.
  coalesce(f.display_label, f.field_type) as field_name, -- The field, as people read it.
  f.change_category, -- STATUS, BUDGET, TARGETING, CREATIVE, SCHEDULING, SETTINGS or BILLING.
  case
    when jsonb_typeof(f.before) = 'object' and (f.before ? 'value' or f.before = '{}')
      then f.before ->> 'value'
    else f.before::text
  end as old_value, -- Value before, as text; amounts as the platform writes them.
  case
    when jsonb_typeof(f.after) = 'object' and (f.after ? 'value' or f.after = '{}') then f.after ->> 'value'
    else f.after::text
  end as new_value -- Value after, as text; amounts as the platform writes them.
from ads.change_history h
join ops.sources s on s.source_id = h.source_id
left join ads.change_history_items f on f.source_id = h.source_id and f.change_id = h.id
left join ads.ad_accounts ac on ac.source_id = h.source_id and ac.id = h.ad_account_id
where h._deleted_at is null;
