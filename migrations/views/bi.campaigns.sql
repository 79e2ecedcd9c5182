create or replace view bi.campaigns as
select
  s.name as source,
  c.ad_account_id,
  ac.name as ad_account_name,
  c.id as campaign_id,
  c.name as campaign_name,
  c.status,
  c.objective,
  c.delivery_goal_group,
  c.created_at,
  c.updated_at,
  c._synced_at as synced_at,
  c.is_listed
from ads.campaigns c
join ops.sources s on s.source_id = c.source_id
left join ads.ad_accounts ac on ac.source_id = c.source_id and ac.id = c.ad_account_id
where c._deleted_at is null;

comment on view bi.campaigns is 'Campaigns that are or were live; one row per campaign. Drafts are left out.';
comment on column bi.campaigns.source is 'The source, see ops.sources.name; ids are unique within one source.';
comment on column bi.campaigns.ad_account_id is 'Ad account id.';
comment on column bi.campaigns.ad_account_name is 'Name of the ad account.';
comment on column bi.campaigns.campaign_id is 'Campaign id.';
comment on column bi.campaigns.campaign_name is 'Name.';
comment on column bi.campaigns.status is 'Status as the platform names it, e.g. ACTIVE, ARCHIVED.';
comment on column bi.campaigns.objective is 'Objective as the platform names it.';
comment on column bi.campaigns.delivery_goal_group is 'Group of delivery goals.';
comment on column bi.campaigns.created_at is 'When it was created (UTC).';
comment on column bi.campaigns.updated_at is 'When it was last changed at the platform (UTC).';
comment on column bi.campaigns.synced_at is 'When this content last changed in the warehouse (UTC); not when it was last seen.';
comment on column bi.campaigns.is_listed is 'False where no list has shown it, e.g. because it was archived or deleted before: name, status and parent are those of its last report.';
