create or replace view bi.cross_links with (security_barrier) as -- Which campaign, issue and DAG run belong together, because a text of one names the other by the patterns of ref.link_patterns; one row per record, field and what it names. A name that leads to nothing is no link.
-- Postgres takes a view that is nothing but a union apart, and with it the barrier: this one is a subquery.
select
  l.source,
  l.from_kind,
  l.from_id, -- Its id, see campaign_id of bi.campaigns, dag_run_id of bi.workflow_runs (with the DAG in from_name) or issue_id of bi.issues.
  l.from_name, -- Name of the campaign or the DAG, key of the issue.
  l.from_field, -- Which text of it: name, purchase_order, params, summary or description.
  l.mention, -- The name, as the text has it: an issue key of then, or a campaign id.
  l.to_kind,
  l.to_source, -- The source of what is named.
  l.to_id, -- Its id, see bi.issues.issue_id or bi.campaigns.campaign_id.
  l.to_name -- Key of the issue today, also where the text has a former one, or name of the campaign.
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
  from ops.text_mentions m
  join ops.sources f on f.source_id = m.source_id
  join (
    select k.key as mention, s.name as source, i.id::text as id, i.key as name
    from tracker.issue_keys k
    join tracker.shown_issues i on i.source_id = k.source_id and i.id = k.issue_id
    join ops.sources s on s.source_id = i.source_id
    -- A former key that another issue has today names that one alone. Few keys are former ones: with an offset each is
    -- looked up, and the keys of all issues are not put into a hash first.
    where k.key = i.key
      or not exists (
        select
        from tracker.issues o
        where o.source_id = k.source_id and o.key = k.key and o._deleted_at is null
        offset 0
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
  from ops.text_mentions m
  join ops.sources f on f.source_id = m.source_id
  join ads.campaigns c on c.id = m.mention and c._deleted_at is null
  join ops.sources s on s.source_id = c.source_id
  where m.to_kind = 'campaign'
) l;
