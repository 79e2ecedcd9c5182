create or replace view ops.link_mentions as
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

comment on view ops.link_mentions is 'What texts name by the patterns of ref.link_patterns, whether it exists or not; one row per record, field and name. What bi.cross_links is made of.';
comment on column ops.link_mentions.from_field is 'Which text of it.';
comment on column ops.link_mentions.record_id is 'Its id.';
comment on column ops.link_mentions.record_name is 'Name of the campaign or the DAG, key of the issue.';
comment on column ops.link_mentions.mention is 'The name, as the text has it.';
