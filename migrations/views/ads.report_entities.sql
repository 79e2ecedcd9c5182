create or replace view ads.report_entities as -- What reports have numbers of: one row per account, campaign, ad set and ad, archived ones included.
-- An account spends nothing before its first campaign is created.
select a.source_id, a.id as ad_account_id, 'AD_ACCOUNT' as entity_type, a.id as entity_id,
  (
    select case when count(*) = count(c.created_at) then min(c.created_at) end
    from ads.campaigns c
    where c.source_id = a.source_id and c.ad_account_id = a.id
  ) as created_at
from ads.ad_accounts a
union all
select source_id, ad_account_id, 'CAMPAIGN', id, created_at from ads.campaigns
union all
select source_id, ad_account_id, 'AD_SET', id, created_at from ads.ad_sets
union all
select source_id, ad_account_id, 'AD', id, created_at from ads.ads;
