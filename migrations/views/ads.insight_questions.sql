create or replace view ads.insight_questions as -- What insights are read for: one row per listed campaign or ad set and dimension of its audience.
select
  e.source_id,
  e.ad_account_id,
  e.entity_type,
  e.entity_id, -- The entity: id in ads.campaigns or ads.ad_sets.
  d.dimension, -- What the audience is divided by.
  e.ended_on, -- Day (UTC) on which the entity ended; null while it goes on.
  s.asked_on -- Day (UTC) on which it was last asked; null if it never was.
from (
  -- Where the source does not say when something was archived, it was archived when that was read.
  select source_id, ad_account_id, 'CAMPAIGN' as entity_type, id as entity_id, (
      case when status = 'ARCHIVED' then coalesce(updated_at, _synced_at) end at time zone 'UTC'
    )::date as ended_on
  from ads.campaigns
  where is_listed
  union all
  select source_id, ad_account_id, 'AD_SET', id, (
      least(end_at, case when status = 'ARCHIVED' then coalesce(updated_at, _synced_at) end) at time zone 'UTC'
    )::date
  from ads.ad_sets
  where is_listed
) e
-- InsightDimensionType of the vendor's OpenAPI.
cross join (
  values
    ('ACT_AND_SET'), ('AGE'), ('AUDIENCE'), ('CITY'), ('COUNTRY'), ('FORMAT'), ('GENDER'), ('GENRE'), ('INTERESTS'),
    ('METRO'), ('PLACEMENT'), ('PLATFORM'), ('PODCAST_EPISODE_TOPIC'), ('REGION'), ('TONE')
) d (dimension)
left join ads.insight_states s
  on s.source_id = e.source_id and s.entity_type = e.entity_type and s.entity_id = e.entity_id
  and s.dimension = d.dimension;
