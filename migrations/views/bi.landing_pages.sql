create or replace view bi.landing_pages as -- Where clicks on ads lead, with the parts of the address decoded; one row per ad and address: its call to action and each item of a carousel. Deleted ads stay, to be joined with their facts.
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
  link.item as item_number, -- 0: the call to action of the ad; from 1: place of the item in its carousel.
  a._deleted_at is not null as is_deleted, -- True once the platform no longer lists the ad.
  link.url as click_url, -- The address as it was entered.
  link.host, -- Its host in lower case, without user and port; null if it is no address with a scheme.
  link.path, -- Its path, decoded; empty for the host alone.
  link.utm_source, -- Parameter utm_source of the address, decoded; null if it has none or an empty one.
  link.utm_medium, -- Parameter utm_medium of the address, decoded; null if it has none or an empty one.
  link.utm_campaign, -- Parameter utm_campaign of the address, decoded; null if it has none or an empty one.
  link.utm_content, -- Parameter utm_content of the address, decoded; null if it has none or an empty one.
  link.utm_term -- Parameter utm_term of the address, decoded; null if it has none or an empty one.
from ads.ads a
join ops.sources s on s.source_id = a.source_id
cross join lateral (
  select
    item,
    url,
    lower(parts[1] collate ops.any_case) collate "default" as host,
    ops.percent_decoded(parts[2]) as path,
    ops.percent_decoded(substring(query, '(?:^|&)utm_source=([^&]+)')) as utm_source,
    ops.percent_decoded(substring(query, '(?:^|&)utm_medium=([^&]+)')) as utm_medium,
    ops.percent_decoded(substring(query, '(?:^|&)utm_campaign=([^&]+)')) as utm_campaign,
    ops.percent_decoded(substring(query, '(?:^|&)utm_content=([^&]+)')) as utm_content,
    ops.percent_decoded(substring(query, '(?:^|&)utm_term=([^&]+)')) as utm_term
  from (
    select 0 as item, a.cta_url as url
    union all
    select place::integer, entry ->> 'clickthrough_url'
    from jsonb_path_query(a.catalog, '$.catalog_items[*]') with ordinality i (entry, place)
  ) links
  cross join lateral (
    select
      -- Scheme and user, host, port, path.
      regexp_match(
        url, '^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)(?::[0-9]*)?([^?#]*)'
      ) as parts,
      replace(substring(url, '^[^?#]*\?([^#]*)'), '+', ' ') as query
  ) split
  where url <> ''
  -- Keeps the decoding here: once an address, not once for each fact that it is joined with.
  offset 0
) link
left join ads.ad_sets st on st.source_id = a.source_id and st.id = a.ad_set_id
left join ads.campaigns c on c.source_id = a.source_id and c.id = st.campaign_id
left join ads.ad_accounts ac on ac.source_id = a.source_id and ac.id = a.ad_account_id;
