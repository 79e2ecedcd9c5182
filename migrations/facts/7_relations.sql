-- Where the ids of tables lead, for programs that draw or complete by foreign keys. Postgres 18 and newer keep them
-- NOT ENFORCED: without triggers, checking nothing, at no cost to a load. Rows come in any order, and one whose
-- target is missing stays. Older servers would enforce them, so they get none.
do $$
declare
  relation record;
begin
  if current_setting('server_version_num')::integer < 180000 then
    return;
  end if;
  for relation in
    with leads (in_schema, columns, target) as (values
      ('tracker', 'project_id', 'tracker.projects'),
      ('tracker', 'issue_id', 'tracker.issues'),
      ('tracker', 'other_issue_id', 'tracker.issues'),
      ('tracker', 'parent_id', 'tracker.issues'),
      ('tracker', 'epic_id', 'tracker.issues'),
      ('tracker', 'issue_type_id', 'tracker.issue_types'),
      ('tracker', 'status_id', 'tracker.statuses'),
      ('tracker', 'priority_id', 'tracker.priorities'),
      ('tracker', 'board_id', 'tracker.boards'),
      ('tracker', 'sprint_id', 'tracker.sprints'),
      ('tracker', 'group_id', 'tracker.groups'),
      ('tracker', 'user_id', 'tracker.users'),
      ('tracker', 'lead_user_id', 'tracker.users'),
      ('tracker', 'assignee_id', 'tracker.users'),
      ('tracker', 'reporter_id', 'tracker.users'),
      ('tracker', 'creator_id', 'tracker.users'),
      ('tracker', 'author_id', 'tracker.users'),
      ('tracker', 'entered_by', 'tracker.users'),
      ('ads', 'business_id', 'ads.businesses'),
      ('ads', 'ad_account_id', 'ads.ad_accounts'),
      ('ads', 'campaign_id', 'ads.campaigns'),
      ('ads', 'ad_set_id', 'ads.ad_sets'),
      ('ads', 'asset_id', 'ads.assets'),
      ('ads', 'seed_audience_id', 'ads.audiences'),
      ('ads', 'change_id', 'ads.change_history'),
      ('workflow', 'dag_name', 'workflow.dags'),
      ('workflow', 'dag_name, dag_run_id', 'workflow.dag_runs')
    )
    select c.oid::regclass as child, t.oid::regclass as target, l.columns,
      replace(l.columns, ', ', '_') || '_leads_to_' || t.relname as name
    from leads l
    join pg_class t on t.oid = to_regclass(l.target)
    join pg_class c on c.relnamespace = to_regnamespace(l.in_schema)
      and (c.oid <> t.oid or l.columns in ('parent_id', 'epic_id'))
    where c.relkind in ('r', 'p') and not c.relispartition
      -- All of the columns exist, and they are of the types of the target's primary key.
      and (
        select array_agg(a.atttypid order by f.place)
        from unnest(string_to_array('source_id, ' || l.columns, ', ')) with ordinality f (name, place)
        join pg_attribute a on a.attrelid = c.oid and a.attname = f.name
      ) = (
        select array_agg(a.atttypid order by k.place)
        from pg_index i
        cross join unnest(i.indkey) with ordinality k (attnum, place)
        join pg_attribute a on a.attrelid = t.oid and a.attnum = k.attnum
        where i.indrelid = t.oid and i.indisprimary
      )
      and not exists (
        select from pg_constraint
        where conrelid = c.oid and conname = replace(l.columns, ', ', '_') || '_leads_to_' || t.relname
      )
  loop
    execute format('alter table %s add constraint %I foreign key (source_id, %s) references %s not enforced',
      relation.child, relation.name, relation.columns, relation.target);
  end loop;
end $$;
