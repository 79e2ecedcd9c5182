create or replace view bi.report_revisions as -- What daily numbers said before the platform restated them; one row per number and change. A day read for the first time is no change.
select
  s.name as source,
  ac.id as ad_account_id,
  ac.name as ad_account_name,
  ac.currency_code as currency,
  v.entity_type,
  v.entity_id,
  case v.entity_type
    when 'AD' then a.name
    when 'AD_SET' then st.name
    when 'CAMPAIGN' then c.name
    else ac.name
  end as entity_name,
  v.day as date_day,
  v.metric, -- The number that changed, e.g. spend (in units of currency), impressions.
  ops.shown_decimal(v.old_value)::numeric(28,6) as old_value, -- What it was, to six decimals; null if there was nothing.
  ops.shown_decimal(v.new_value)::numeric(28,6) as new_value, -- What it became, to six decimals; null if it went away.
  ops.shown_decimal(coalesce(v.new_value, 0) - coalesce(v.old_value, 0))::numeric(28,6) as difference, -- new_value less old_value, nothing counted as 0. Sum it per metric only; ratios and reach not at all.
  v.seen_at, -- When the change was seen (UTC).
  (v.seen_at at time zone ops.reporting_time_zone())::date - v.day as days_later, -- How many days after the day itself it was seen.
  v._run_id::text as run_id, -- The run that saw it, see bi.sync_runs.run_id.
  (v.seen_at at time zone ops.reporting_time_zone())::date as seen_date -- Day on which the change was seen, in the reporting time zone.
from ads.report_revisions v
join ops.sources s on s.source_id = v.source_id
left join ads.report_daily r
  on r.source_id = v.source_id
    and r.entity_type = v.entity_type
    and r.entity_id = v.entity_id
    and r.day = v.day
left join ads.ads a on v.entity_type = 'AD' and a.source_id = v.source_id and a.id = v.entity_id
left join ads.ad_sets st on v.entity_type = 'AD_SET' and st.source_id = v.source_id and st.id = v.entity_id
left join ads.campaigns c on v.entity_type = 'CAMPAIGN' and c.source_id = v.source_id and c.id = v.entity_id
left join ads.ad_accounts ac
  on ac.source_id = v.source_id
    and ac.id = coalesce(
      r.ad_account_id,
      a.ad_account_id,
      st.ad_account_id,
      c.ad_account_id,
      case v.entity_type when 'AD_ACCOUNT' then v.entity_id end
    );
