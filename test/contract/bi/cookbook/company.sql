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

-- Every other ad set is aimed at a second country.
insert into ads.ad_set_targets (source_id, ad_set_id, dimension, value)
select source_id, ad_set_id, dimension, 'LU'
from (
  select t.*, row_number() over (order by ad_set_id) as n from ads.ad_set_targets t
  where dimension = 'geo_targets.country_code'
) g
where n % 2 = 0;

-- The shop is deployed, and bugs count as incidents.
insert into ref.dag_roles (dag_pattern, role) values ('deploy_%', 'deployment');
insert into ref.incident_rules (field, pattern) values ('issue_type', 'bug');

-- Nights before the demo: in time, failed, missing, late, in time.
insert into ops.runs (run_id, pipeline, source_id, kind, status, epoch, started_at, finished_at)
overriding system value
select -n, name, source_id, 'sync', status, 0, current_date - n + began, current_date - n + ended
from ops.sources
cross join (values
  (6, 'succeeded', interval '2 hours', interval '2 hours 10 minutes'),
  (5, 'failed', interval '2 hours', interval '2 hours 5 minutes'),
  (3, 'succeeded', interval '3 hours', interval '5 hours 30 minutes'),
  (2, 'succeeded', interval '2 hours', interval '2 hours 10 minutes'),
  (1, 'succeeded', interval '2 hours', interval '2 hours 10 minutes')
) nights (n, status, began, ended)
where name = 'tracker';

-- A day that the platform has restated for an ad and not yet for what is above it.
update ads.report_daily set spend = spend + 1000
where (source_id, entity_type, entity_id, day) = (
  select source_id, entity_type, entity_id, day
  from ads.report_daily
  where entity_type = 'AD' and spend > 0
  order by day desc, entity_id
  limit 1
);
