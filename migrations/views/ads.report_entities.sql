create or replace view ads.report_entities as
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

comment on view ads.report_entities is 'What reports have numbers of: one row per account, campaign, ad set and ad, archived ones included.';
comment on column ads.report_entities.source_id is 'The source, see ops.sources.';
comment on column ads.report_entities.ad_account_id is 'The ad account it belongs to, see ads.ad_accounts.id.';
comment on column ads.report_entities.entity_type is 'AD_ACCOUNT, CAMPAIGN, AD_SET or AD.';
comment on column ads.report_entities.entity_id is 'The entity: id in ads.ad_accounts, campaigns, ad_sets or ads.';
comment on column ads.report_entities.created_at is 'When it was created, of an account its first campaign (UTC); null where that is not known.';
