create or replace view bi.ads as -- Ads that are or were live, with what is above them; one row per ad. Drafts are left out.
select
  s.name as source,
  a.ad_account_id,
  ac.name as ad_account_name,
  st.campaign_id,
  c.name as campaign_name,
  a.ad_set_id,
  st.name as ad_set_name,
  a.id as ad_id,
  a.name as ad_name,
  a.status,
  a.advertiser_name, -- Advertiser as listeners see it.
  a.tagline, -- Line of text shown with it.
  a.asset_id, -- The creative.
  x.name as asset_name,
  x.type as asset_type,
  a.cta_url as click_url, -- Where a click leads.
  a.created_at,
  a.updated_at,
  a._synced_at as synced_at,
  a.companion_asset_id, -- The image shown beside the creative, see bi.assets.
  a.logo_asset_id, -- The logo of the advertiser, see bi.assets.
  a.canvas_asset_id, -- The looping video behind the creative, see bi.assets.
  a.cta_text as call_to_action, -- Words of the call to action.
  a.delivery, -- ON or OFF.
  a.start_at,
  a.end_at,
  a.reject_reason,
  a.ad_preview_url as preview_url, -- Address of a preview.
  a.is_listed
from ads.ads a
join ops.sources s on s.source_id = a.source_id
left join ads.ad_sets st on st.source_id = a.source_id and st.id = a.ad_set_id
left join ads.campaigns c on c.source_id = a.source_id and c.id = st.campaign_id
left join ads.assets x on x.source_id = a.source_id and x.id = a.asset_id
left join ads.ad_accounts ac on ac.source_id = a.source_id and ac.id = a.ad_account_id
where a._deleted_at is null;
