create or replace view bi.ad_accounts as
select
  s.name as source,
  ac.id as ad_account_id,
  ac.name as ad_account_name,
  ac.status,
  ac.currency_code as currency,
  ac.country_code,
  ac.industry,
  ac.business_id,
  bu.name as business_name,
  ac._synced_at as synced_at
from ads.ad_accounts ac
join ops.sources s on s.source_id = ac.source_id
left join ads.businesses bu on bu.source_id = ac.source_id and bu.id = ac.business_id
where ac._deleted_at is null;

comment on view bi.ad_accounts is 'Ad accounts; one row per live account.';
comment on column bi.ad_accounts.country_code is 'ISO 3166-1 alpha-2 country.';
comment on column bi.ad_accounts.industry is 'Industry as listed.';
comment on column bi.ad_accounts.business_id is 'Id of the business it belongs to.';
comment on column bi.ad_accounts.business_name is 'Name of that business.';
