-- What texts of campaigns, DAG runs and issues name, by the patterns of ref.link_patterns. Triggers find it in the
-- transaction of each write. Names may come before what they name, and keys change: what a name leads to is looked up when
-- bi.cross_links is read.

create table if not exists ops.text_mentions ( -- What texts name by the patterns of ref.link_patterns, whether it exists or not; one row per record, field and name. Of the records that bi shows.
  source_id smallint not null, -- The source of the record, see ops.sources.
  from_kind text not null, -- Whose text it is: campaign, dag_run or issue.
  record_id text not null, -- Its id.
  record_name text, -- Name of the campaign or the DAG, key of the issue.
  from_field text not null, -- Which text of it.
  to_kind text not null, -- What is named: issue or campaign.
  mention text not null -- The name, as the text has it.
);
-- A mention may be too long for an index, so it has no key: a publication tells changed rows by all columns.
alter table ops.text_mentions replica identity full;
-- Not the source first: most records of a kind have the same one.
create index if not exists text_mentions_record on ops.text_mentions (record_id, source_id);

-- The records whose texts are searched: their table, the columns of their id and name, and which of them bi shows.
create or replace function ops.searched_records()
returns table (kind text, table_name text, id text, name text, is_shown text) immutable
begin atomic
  values
    ('campaign', 'ads.campaigns', 'id', 'name', '_deleted_at is null'),
    ('dag_run', 'workflow.dag_runs', 'dag_run_id', 'dag_name', '_deleted_at is null'),
    ('issue', 'tracker.issues', 'id::text', 'key', '_deleted_at is null and ops.shows_level(security_level, security_level_id)');
end;

-- A query for one text of each shown record of a kind. `rows`: where the records are, as SQL.
create or replace function ops.texts_in(rows text, of_kind text, field text) returns text immutable
begin atomic
  select format(
    'select source_id, %s as record_id, %s as record_name, %I as body from %s where %s', id, name, field, rows, is_shown
  )
  from ops.searched_records()
  where kind = of_kind;
end;

-- A statement that stores what texts name. `texts`: a query as ops.texts_in gives it.
create or replace function ops.mentions_in(texts text, kind text, field text) returns text immutable
return format($query$
  insert into ops.text_mentions (source_id, from_kind, record_id, record_name, from_field, to_kind, mention)
  select distinct t.source_id, p.from_kind, t.record_id, t.record_name, p.from_field, p.to_kind, m[1]
  from (%s) t
  join ref.link_patterns p on (p.from_kind, p.from_field) = (%L, %L) and t.body ~ p.pattern
  cross join lateral regexp_matches(t.body, p.pattern, 'g') m
  -- A group of a pattern may have matched nothing.
  where m[1] is not null
$query$, texts, kind, field);

-- Keeps the mentions of the written records. The argument is their kind.
create or replace function ops.keep_mentions() returns trigger
language plpgsql as $$
declare
  kind text := tg_argv[0];
  field text;
  written text;
  former text;
begin
  -- A transaction that changes patterns waits for this one, or this one for it.
  lock table ops.text_mentions in row exclusive mode;
  if tg_op = 'TRUNCATE' then
    delete from ops.text_mentions where from_kind = kind;
    return null;
  end if;
  for field in
    select distinct from_field from ref.link_patterns where from_kind = kind order by from_field
  loop
    written := ops.texts_in('written', kind, field);
    former := ops.texts_in('former', kind, field);
    if tg_op <> 'INSERT' then
      execute format(
        'delete from ops.text_mentions m using (%s) f
        where (m.source_id, m.record_id) = (f.source_id, f.record_id) and m.record_name is not distinct from f.record_name
          and (m.from_kind, m.from_field) = (%L, %L)',
        former || case when tg_op = 'UPDATE' then ' except ' || written else '' end, kind, field
      );
    end if;
    if tg_op <> 'DELETE' then
      execute ops.mentions_in(
        written || case when tg_op = 'UPDATE' then ' except ' || former else '' end, kind, field
      );
    end if;
  end loop;
  return null;
end
$$;

-- Finds the mentions of all records anew.
create or replace function ops.find_mentions() returns void
language plpgsql as $$
declare
  searched record;
begin
  lock table ops.text_mentions in share row exclusive mode;
  delete from ops.text_mentions;
  for searched in
    select distinct p.from_kind, p.from_field, r.table_name
    from ref.link_patterns p
    join ops.searched_records() r on r.kind = p.from_kind
    order by p.from_kind, p.from_field
  loop
    execute ops.mentions_in(
      ops.texts_in(searched.table_name, searched.from_kind, searched.from_field), searched.from_kind, searched.from_field
    );
  end loop;
end
$$;

create or replace function ops.find_mentions_anew() returns trigger
language plpgsql as $$
begin
  perform ops.find_mentions();
  return null;
end
$$;

do $$
declare
  searched record;
  change record;
begin
  for searched in select kind, table_name from ops.searched_records() loop
    for change in
      select *
      from (values
        ('insert', 'referencing new table as written'),
        ('update', 'referencing new table as written old table as former'),
        ('delete', 'referencing old table as former'),
        ('truncate', '')
      ) as t (name, rows)
    loop
      execute format(
        'create or replace trigger keep_mentions_after_%s after %s on %s %s
          for each statement execute function ops.keep_mentions(%L)',
        change.name, change.name, searched.table_name, change.rows, searched.kind
      );
    end loop;
  end loop;
end
$$;

create or replace trigger keep_mentions after insert or update or delete on ref.link_patterns
for each statement execute function ops.find_mentions_anew();
