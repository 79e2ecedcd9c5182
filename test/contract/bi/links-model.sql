create schema model;
create view model.link_mentions as
select distinct p.to_kind, p.from_kind, p.from_field, t.source_id, t.record_id, t.record_name, m[1] as mention
from ref.link_patterns p
-- Only the texts that a pattern asks for are read: each part stands under a condition on the pattern alone.
cross join lateral (
  select c.source_id, c.id as record_id, c.name as record_name, c.name as body
  from ads.campaigns c
  where (p.from_kind, p.from_field) = ('campaign', 'name') and c._deleted_at is null
  union all
  select c.source_id, c.id, c.name, c.purchase_order
  from ads.campaigns c
  where (p.from_kind, p.from_field) = ('campaign', 'purchase_order') and c._deleted_at is null
  union all
  select r.source_id, r.dag_run_id, r.dag_name, r.params
  from workflow.dag_runs r
  where (p.from_kind, p.from_field) = ('dag_run', 'params') and r._deleted_at is null
  union all
  select i.source_id, i.id::text, i.key, i.summary
  from tracker.shown_issues i
  where (p.from_kind, p.from_field) = ('issue', 'summary')
  union all
  select i.source_id, i.id::text, i.key, i.description
  from tracker.shown_issues i
  where (p.from_kind, p.from_field) = ('issue', 'description')
) t
cross join lateral regexp_matches(t.body, p.pattern, 'g') m
where t.body ~ p.pattern;

create view model.cross_links as
-- Postgres takes a view that is nothing but a union apart, and with it the barrier: this one is a subquery.
select l.*
from (
  select
    f.name as source,
    m.from_kind,
    m.record_id as from_id,
    m.record_name as from_name,
    m.from_field,
    m.mention,
    m.to_kind,
    t.source as to_source,
    t.id as to_id,
    t.name as to_name
  from model.link_mentions m
  join ops.sources f on f.source_id = m.source_id
  join (
    select k.key as mention, s.name as source, i.id::text as id, i.key as name
    from tracker.issue_keys k
    join tracker.shown_issues i on i.source_id = k.source_id and i.id = k.issue_id
    join ops.sources s on s.source_id = i.source_id
    -- A former key that another issue has today names that one alone.
    where k.key = i.key
      or not exists (
        select
        from tracker.issues o
        where o.source_id = k.source_id and o.key = k.key and o._deleted_at is null
      )
  ) t on t.mention = m.mention
  where m.to_kind = 'issue'
    and not (m.from_kind = 'issue' and m.record_id = t.id and f.name = t.source)
  union all
  select
    f.name,
    m.from_kind,
    m.record_id,
    m.record_name,
    m.from_field,
    m.mention,
    m.to_kind,
    s.name,
    c.id,
    c.name
  from model.link_mentions m
  join ops.sources f on f.source_id = m.source_id
  join ads.campaigns c on c.id = m.mention and c._deleted_at is null
  join ops.sources s on s.source_id = c.source_id
  where m.to_kind = 'campaign'
) l;

