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
comment on column bi.ad_accounts.source is 'The source, see ops.sources.name; ids are unique within one source.';
comment on column bi.ad_accounts.ad_account_id is 'Ad account id.';
comment on column bi.ad_accounts.ad_account_name is 'Name.';
comment on column bi.ad_accounts.status is 'Status as the platform names it, e.g. ACTIVE.';
comment on column bi.ad_accounts.currency is 'ISO 4217 currency of every amount in the row; never add amounts of different currencies.';
comment on column bi.ad_accounts.country_code is 'ISO 3166-1 alpha-2 country.';
comment on column bi.ad_accounts.industry is 'Industry as listed.';
comment on column bi.ad_accounts.business_id is 'Id of the business it belongs to.';
comment on column bi.ad_accounts.business_name is 'Name of that business.';
comment on column bi.ad_accounts.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
