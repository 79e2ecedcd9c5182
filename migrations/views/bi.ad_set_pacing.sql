create or replace view bi.ad_set_pacing as -- Is the budget spent at the pace of the flight? One row per ad set that is or was live.
select
  s.name as source,
  st.ad_account_id,
  ac.name as ad_account_name,
  st.campaign_id,
  c.name as campaign_name,
  st.id as ad_set_id,
  st.name as ad_set_name,
  st.status,
  st.is_paused, -- True while it is paused; null if the platform does not say.
  coalesce(st.budget_currency, ac.currency_code) as currency,
  st.budget_type,
  st.budget, -- Budget of today in units of currency; a day or the lifetime, see budget_type.
  (
    case st.budget_type when 'LIFETIME' then st.budget when 'DAILY' then b.allowed end
  )::numeric(28,6) as budget_to_date, -- LIFETIME: the budget. DAILY: what the daily budgets in force allowed up to last_report_date, paused days included; a change counts from its day on.
  sp.spent::numeric(28,6) as spend_to_date, -- Spend so far in units of currency, as reported for the ad set.
  round(
    (sp.spent)::numeric / nullif(
      (case st.budget_type when 'LIFETIME' then st.budget when 'DAILY' then b.allowed end)::numeric(28,6), 0
    ),
    4
  )::numeric(28,4) as budget_used_ratio, -- spend_to_date by budget_to_date; 1 is exactly spent.
  (
    case
      when st.end_at > st.start_at
        then least(
          1,
          greatest(
            0, extract(epoch from now() - st.start_at) / extract(epoch from st.end_at - st.start_at)
          )
        )
    end
  )::numeric(6,4) as flight_elapsed_ratio, -- How much of the flight is over, 0 to 1; null without an end.
  st.bid, -- Bid of today in units of currency.
  st.bid_strategy, -- Bid strategy of today.
  st.start_at,
  st.end_at,
  sp.first_day as first_report_date, -- First day with numbers, UTC.
  sp.last_day as last_report_date, -- Last day with numbers, UTC.
  st._synced_at as synced_at,
  st.asset_format,
  k.name as category, -- Advertising category and subcategory.
  st.delivery_goal, -- What delivery is optimised for.
  st.cost_model, -- How it is charged: CPM (per thousand impressions) or CPCL (per completed listen).
  st.pacing, -- How the budget is spread: PACING_EVEN or PACING_ASAP.
  st.pause_reason, -- Why it is paused, e.g. USER_PAUSED.
  st.reject_reason,
  caps.listed as frequency_caps -- How often one person may hear it, e.g. 3 in 1 DAY, with commas between several caps.
from ads.ad_sets st
join ops.sources s on s.source_id = st.source_id
left join ads.campaigns c on c.source_id = st.source_id and c.id = st.campaign_id
left join ads.ad_accounts ac on ac.source_id = st.source_id and ac.id = st.ad_account_id
left join (
  select
    source_id,
    entity_id,
    sum(spend) as spent,
    min(day) as first_day,
    max(day) as last_day
  from ads.report_daily
  where entity_type = 'AD_SET'
  group by source_id, entity_id
) sp on sp.source_id = st.source_id and sp.entity_id = st.id
left join lateral (
  select
    sum(
      v.budget * greatest(
        0,
        least(
          coalesce(
            (v.valid_to at time zone 'UTC')::date,
            least(((st.end_at - interval '1 microsecond') at time zone 'UTC')::date, sp.last_day) + 1
          ),
          least(((st.end_at - interval '1 microsecond') at time zone 'UTC')::date, sp.last_day) + 1
        )
          - greatest(
            case
              when v.is_first then coalesce((st.start_at at time zone 'UTC')::date, sp.first_day)
              else (v.valid_from at time zone 'UTC')::date
            end,
            coalesce((st.start_at at time zone 'UTC')::date, sp.first_day)
          )
      )
    ) as allowed
  from (
    select
      budget,
      budget_type,
      valid_from,
      valid_to,
      row_number() over (order by valid_from) = 1 as is_first
    from ads.ad_set_versions
    where source_id = st.source_id and id = st.id
  ) v
  where v.budget_type = 'DAILY'
) b on st.budget_type = 'DAILY' and sp.last_day is not null
left join ads.ad_categories k on k.source_id = st.source_id and k.id = st.category
left join (
  select
    source_id,
    ad_set_id,
    string_agg(
      concat_ws(' ', max_impressions, 'in', period, unit), ', ' order by unit collate "C", period, max_impressions
    ) as listed
  from ads.ad_set_frequency_caps
  group by source_id, ad_set_id
) caps on caps.source_id = st.source_id and caps.ad_set_id = st.id
where st._deleted_at is null;
