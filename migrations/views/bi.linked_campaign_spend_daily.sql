create or replace view bi.linked_campaign_spend_daily with (security_barrier) as -- What campaigns spent, allocated evenly to the issues that bi.cross_links joins them with, by a text of either; one row per campaign, day and issue. Sums are those of the campaigns that have an issue.
select
  p.source,
  p.date_day,
  p.campaign_id,
  p.campaign_name,
  l.to_source as issue_source, -- The source of the issue, see ops.sources.name.
  l.to_id as linked_issue_id, -- The issue, see bi.issues.issue_id (of issue_source).
  l.to_name as linked_issue_key, -- Issue key of today, e.g. PROJ-7; changes when the issue moves.
  p.currency,
  (round(p.spend * l.place / l.places, 6) - round(p.spend * (l.place - 1) / l.places, 6))::numeric(28,6)
    as allocated_spend, -- Spend of the campaign and day, by the number of its issues; adds up over rows of one currency.
  p.impressions * l.place / l.places - p.impressions * (l.place - 1) / l.places as allocated_impressions, -- Impressions of the campaign and day, allocated in the same way; adds up over rows of this view.
  p.clicks * l.place / l.places - p.clicks * (l.place - 1) / l.places as allocated_clicks -- Clicks of the campaign and day, allocated in the same way; adds up over rows of this view.
from bi.campaign_performance_daily p
join (
  select
    n.*,
    row_number() over (partition by n.source, n.campaign_id order by n.to_source, n.to_id) as place,
    count(*) over (partition by n.source, n.campaign_id) as places
  from (
    -- A link in either direction, or in several texts, counts once.
    select distinct source, from_id as campaign_id, to_source, to_id, to_name
    from bi.cross_links
    where from_kind = 'campaign' and to_kind = 'issue'
    union
    select to_source, to_id, source, from_id, from_name
    from bi.cross_links
    where from_kind = 'issue' and to_kind = 'campaign'
  ) n
) l on l.source = p.source and l.campaign_id = p.campaign_id;
