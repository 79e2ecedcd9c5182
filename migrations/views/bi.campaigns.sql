create or replace view bi.campaigns as -- Campaigns that are or were live; one row per campaign. Drafts are left out.
select
  s.name as source,
  c.ad_account_id,
  ac.name as ad_account_name,
  c.id as campaign_id,
  c.name as campaign_name,
  c.status, -- Status as the platform names it, e.g. ACTIVE, ARCHIVED.
  c.objective,
  c.delivery_goal_group, -- Group of delivery goals.
  c.created_at,
  c.updated_at,
  c._synced_at as synced_at,
  c.is_listed
from ads.campaigns c
join ops.sources s on s.source_id = c.source_id
left join ads.ad_accounts ac on ac.source_id = c.source_id and ac.id = c.ad_account_id
where c._deleted_at is null;
