create or replace view ads.report_levels as -- What reports are read for: one row per live ad account and level.
select a.source_id, a.id as ad_account_id, l.entity_type
from ads.ad_accounts a
cross join (values ('AD_ACCOUNT'), ('CAMPAIGN'), ('AD_SET'), ('AD')) l (entity_type)
where a._deleted_at is null;
