-- What the demo's company lacks for some questions.

-- The oldest open issue of each project blocks the second oldest.
insert into tracker.issue_links (
  source_id, issue_id, link_id, direction, type_name, outward, inward, other_issue_id, other_issue_key)
select i.source_id, i.id, 900000 + i.project_id, side.direction, 'Blocks', 'blocks', 'is blocked by', o.id, o.key
from (
  select i.*, row_number() over (partition by i.project_id order by i.created_at) as place
  from tracker.issues i join tracker.statuses s on s.source_id = i.source_id and s.id = i.status_id
  where s.category <> 'done' and i._deleted_at is null
) i
join (
  select i.*, row_number() over (partition by i.project_id order by i.created_at) as place
  from tracker.issues i join tracker.statuses s on s.source_id = i.source_id and s.id = i.status_id
  where s.category <> 'done' and i._deleted_at is null
) o on o.project_id = i.project_id and o.place = 3 - i.place
cross join lateral (select case i.place when 1 then 'outward' else 'inward' end as direction) side;

-- Ads lead to two shops.
update ads.ads
set cta_url = 'https://' || case when n % 2 = 0 then 'shop' else 'www' end || '.northwind.example/p/' || n
  || '?utm_source=spotify&utm_campaign=launch-' || n % 3
from (select id, row_number() over (order by id) as n from ads.ads) o
where o.id = ads.id;
