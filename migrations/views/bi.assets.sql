create or replace view bi.assets as -- Images, audio and video files that ads are made of; one row per asset. Deleted ones stay: facts of their ads do.
select
  s.name as source,
  x.ad_account_id,
  ac.name as ad_account_name,
  x.id as asset_id, -- Asset id; asset_id of bi.ads for the creative of an ad.
  x.name as asset_name,
  x.type as asset_type,
  x.subtype, -- Kind within the type, e.g. USER_UPLOADED_AUDIO.
  x.status, -- ERROR, PROCESSING, READY or WAITING_UPLOAD.
  coalesce(x.archived, false) as is_archived, -- True for archived ones.
  x._deleted_at is not null as is_deleted, -- True once the platform no longer lists it.
  x.url, -- Address of the file.
  x.thumbnail_url, -- Video: address of a still.
  x.file_type, -- File format, e.g. MP3, MP4, PNG.
  (x.duration_ms / 1000.0)::numeric(28,3) as duration_seconds, -- Duration in seconds; null for images and until it is processed.
  x.width as width_pixels, -- Width in pixels.
  x.height as height_pixels, -- Height in pixels.
  x.aspect_ratio, -- Aspect ratio as the platform names it, e.g. SQUARE.
  x.has_audio as is_with_sound, -- Video: true if it has sound.
  coalesce(used.as_creative, 0)::integer as ads_as_creative, -- How many ads play or show it, of those that are or were live.
  coalesce(used.as_companion, 0)::integer as ads_as_companion, -- How many ads show it beside their creative.
  coalesce(used.as_logo, 0)::integer as ads_as_logo, -- How many ads show it as the logo.
  coalesce(used.as_canvas, 0)::integer as ads_as_canvas, -- How many ads loop it behind their creative.
  x.created_at,
  x.updated_at,
  x._synced_at as synced_at
from ads.assets x
join ops.sources s on s.source_id = x.source_id
left join ads.ad_accounts ac on ac.source_id = x.source_id and ac.id = x.ad_account_id
left join (
  select
    a.source_id,
    use.asset_id,
    count(*) filter (where use.place = 'creative') as as_creative,
    count(*) filter (where use.place = 'companion') as as_companion,
    count(*) filter (where use.place = 'logo') as as_logo,
    count(*) filter (where use.place = 'canvas') as as_canvas
  from ads.ads a
  cross join lateral (
    values
      ('creative', a.asset_id),
      ('companion', a.companion_asset_id),
      ('logo', a.logo_asset_id),
      ('canvas', a.canvas_asset_id)
  ) use (place, asset_id)
  where a._deleted_at is null
  group by a.source_id, use.asset_id
) used on used.source_id = x.source_id and used.asset_id = x.id;
