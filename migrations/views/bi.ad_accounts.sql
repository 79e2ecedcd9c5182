create or replace view bi.ad_accounts as -- Ad accounts; one row per live account.
select
  s.name as source,
  ac.id as ad_account_id,
  ac.name as ad_account_name,
  ac.status, -- Status as the platform names it, e.g. ACTIVE.
  ac.currency_code as currency,
  ac.country_code, -- ISO 3166-1 alpha-2 country.
  ac.industry, -- Industry as listed.
  ac.business_id, -- Id of the business it belongs to.
  bu.name as business_name, -- Name of that business.
  ac._synced_at as synced_at
from ads.ad_accounts ac
join ops.sources s on s.source_id = ac.source_id
left join ads.businesses bu on bu.source_id = ac.source_id and bu.id = ac.business_id
where ac._deleted_at is null;
