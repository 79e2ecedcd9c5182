-- bi.issues_wide_<source>: the issues of a site with its custom fields as columns. ops.make_issues_wide makes the
-- view; a sync calls it when it has read the fields. Values are stored as docs/streams.md says: tracker.issues.

create table ops.custom_field_columns ( -- Columns of bi.issues_wide_<source> for custom fields, one row per source, field and type: a field that is renamed keeps its column, one that changes its type gets another.
  source_id smallint not null, -- The source, see ops.sources.
  field_id text not null, -- The field, see tracker.fields.id.
  column_type text not null, -- Type of the column; it is null where the field has another type now.
  column_name text not null, -- Name of the column, from the name that the field had first.
  primary key (source_id, field_id, column_type),
  unique (source_id, column_name)
);

create table ops.issues_wide_views ( -- The views bi.issues_wide_<source>, one row per source.
  source_id smallint primary key, -- The source, see ops.sources.
  view_name text not null unique, -- Name of the view in bi.
  definition text not null -- The statements that made it; it is made anew when they differ.
);

create function ops.slug(words text) returns text language sql stable parallel safe as $$
  select trim('_' from regexp_replace(lower(regexp_replace(
    case current_setting('server_encoding') when 'UTF8' then normalize(replace(words, 'ß', 'ss'), NFKD) else words end,
    '[^ -~]', '', 'g') collate "C"), '[^a-z0-9]+', '_', 'g'))
$$;
comment on function ops.slug(text) is 'Words as part of a name that needs no quotes: letters without accents, digits and underscores; empty where nothing is left.';

-- Bodies that Postgres parses now: readers of bi may not look names up in ops.
-- Rich text keeps addresses and labels as the descriptions of issues do: links behind words, smart links, macros, media,
-- mentions without a name, dates.
create function ops.element_text(value jsonb) returns text immutable parallel safe
  begin atomic select case
    when jsonb_typeof(value) <> 'object' then value #>> '{}'
    when jsonb_typeof(value -> 'content') = 'array' then (
      select trim(E'\n' from regexp_replace(string_agg(
        case
          when node ->> 'type' in (
            'paragraph', 'heading', 'hardBreak', 'codeBlock', 'blockCard', 'embedCard', 'mediaSingle', 'mediaGroup',
            'extension', 'bodiedExtension', 'expand', 'tableRow', 'taskItem', 'decisionItem'
          ) then E'\n'
          when node ->> 'type' = 'mention' and not node -> 'attrs' ? 'text' then '@' || (node -> 'attrs' ->> 'id')
          when node ->> 'type' = 'date' and node -> 'attrs' ->> 'timestamp' ~ '^[0-9]{1,14}$'
            then (date '1970-01-01' + ((node -> 'attrs' ->> 'timestamp')::bigint / 86400000)::integer)::text
          -- Of a text its link; of attributes what they say: `$.**` comes to both.
          else concat_ws(
            ' ', node ->> 'title', coalesce(node ->> 'text', node ->> 'shortName'), node ->> 'name', node ->> 'alt',
            node ->> 'url',
            '(' || nullif(
              jsonb_path_query_first(node, 'strict $.marks[*] ? (@.type == "link").attrs.href', '{}', true) #>> '{}',
              node ->> 'text'
            ) || ')'
          )
        end, ''
      ), E'\n+', E'\n', 'g'))
      from jsonb_path_query(value, 'strict $.**') node
      where jsonb_typeof(node) = 'object'
    )
    else coalesce(value ->> 'name', value ->> 'displayName', value ->> 'value', value ->> 'title', value::text)
  end;
end;
comment on function ops.element_text(jsonb) is 'One value of a custom field as people read it: the name of an object, the text of a document, else the JSON.';

create function ops.field_text(value jsonb) returns text immutable parallel safe
  begin atomic select case jsonb_typeof(value)
    when 'array' then (
      select string_agg(ops.element_text(e.value), ', ' order by e.place)
      from jsonb_array_elements(value) with ordinality e (value, place)
    )
    else ops.element_text(value)
  end;
end;
comment on function ops.field_text(jsonb) is 'The value of a custom field as people read it; several joined by a comma.';

create function ops.field_number(value jsonb) returns numeric immutable parallel safe
  begin atomic select case when jsonb_typeof(value) = 'number' then case when abs(value::numeric) < 1e18 then value::numeric end end;
end;
comment on function ops.field_number(jsonb) is 'The value of a custom field as a number; null if it is none, or of more than 18 digits before the point.';

create function ops.field_date(value jsonb) returns date stable parallel safe
  begin atomic select (jsonb_path_query_first(value, '$.datetime("YYYY-MM-DD")', '{}', true) #>> '{}')::date;
end;
comment on function ops.field_date(jsonb) is 'The value of a custom field as a day; null if it is none.';

create function ops.field_instant(value jsonb) returns timestamptz stable parallel safe
  begin atomic select (coalesce(
    jsonb_path_query_first(plain, '$.datetime("YYYY-MM-DD\"T\"HH24:MI:SS.USTZHTZM")', '{}', true),
    jsonb_path_query_first(plain, '$.datetime("YYYY-MM-DD\"T\"HH24:MI:SSTZHTZM")', '{}', true)
  ) #>> '{}')::timestamptz
  -- The vendor writes +0200; others write +02:00 or Z.
  from to_jsonb(regexp_replace(regexp_replace(value #>> '{}', 'Z$', '+0000'), ':(\d\d)$', '\1')) plain;
end;
comment on function ops.field_instant(jsonb) is 'The value of a custom field as an instant; null if it is none.';

create function ops.column_kind(schema_type text, items_type text, schema_custom text) returns text
  immutable parallel safe return case
    when schema_custom = 'com.pyxis.greenhopper.jira:gh-sprint' then 'sprint'
    when 'user' in (schema_type, items_type) then 'user'
    when schema_type in ('number', 'date', 'datetime') then schema_type
    else 'text'
  end;
comment on function ops.column_kind(text, text, text) is 'How a custom field is shown: sprint, user, number, date, datetime or text.';

create function ops.column_type(kind text) returns text immutable parallel safe return
  case kind when 'number' then 'numeric(28,10)' when 'date' then 'date' when 'datetime' then 'timestamptz' else 'text' end;
comment on function ops.column_type(text) is 'The type of column for a kind of custom field.';

-- Tables are read here and not in functions, which would read them with the rights of the reader.
create function ops.shown_column_expression(kind text, field_id text, source_id smallint) returns text
  language sql immutable parallel safe as $outer$
  select format(
    case kind
      when 'number' then 'ops.field_number(t.custom_fields -> %1$L)::numeric(28,10)'
      when 'date' then 'ops.field_date(t.custom_fields -> %1$L)'
      when 'datetime' then 'ops.field_instant(t.custom_fields -> %1$L)'
      when 'user' then $$case
        when jsonb_typeof(t.custom_fields -> %1$L) = 'string' then ops.shown_name(
          coalesce(
            (select u.display_name from tracker.users u where u.source_id = %2$s and u.id = t.custom_fields ->> %1$L),
            t.custom_fields ->> %1$L
          ),
          t.custom_fields ->> %1$L
        )
        when t.custom_fields ? %1$L then (
          select string_agg(
            ops.shown_name(coalesce(u.display_name, e.value ->> 'displayName', p.id), p.id), ', ' order by e.place
          )
          from ops.elements(t.custom_fields -> %1$L) with ordinality e (value, place)
          cross join lateral (
            select coalesce(
              e.value ->> 'key', e.value ->> 'name', case jsonb_typeof(e.value) when 'string' then e.value #>> '{}' end
            ) as id
          ) p
          left join tracker.users u on u.source_id = %2$s and u.id = p.id
        )
      end$$
      when 'sprint' then $$case when t.custom_fields ? %1$L then (
        select string_agg(coalesce(n.name, ops.element_text(e.value)), ', ' order by e.place)
        from ops.elements(t.custom_fields -> %1$L) with ordinality e (value, place)
        left join tracker.sprints n
          on n.source_id = %2$s and n.id = case when e.value ->> 'id' ~ '^[0-9]{1,18}$' then (e.value ->> 'id')::bigint end
      ) end$$
      else $$case
        when jsonb_typeof(t.custom_fields -> %1$L) in ('array', 'object') then ops.field_text(t.custom_fields -> %1$L)
        else t.custom_fields ->> %1$L
      end$$
    end,
    field_id, source_id
  )
$outer$;
comment on function ops.shown_column_expression(text, text, smallint) is 'The SQL of a column for a custom field, with t for tracker.issues.';

-- A column for a link to an epic or to a parent is null where bi does not show the issue that it names.
create function ops.column_expression(kind text, field_id text, source_id smallint) returns text
  language plpgsql stable as $outer$
begin
  return case
    when exists (
      select
      from tracker.fields f
      where f.source_id = $3 and f.id = $2
        and f.schema_custom in ('com.pyxis.greenhopper.jira:gh-epic-link', 'com.atlassian.jpo:jpo-custom-field-parent')
    ) then format(
      $$case when not exists (
        select from tracker.hidden_keys k
        where k.source_id = %2$s
          and k.key = coalesce(
            t.custom_fields #>> '{%1$s,key}', t.custom_fields #>> '{%1$s,data,key}', t.custom_fields ->> '%1$s'
          )
      ) then %3$s end$$,
      $2, $3, ops.shown_column_expression($1, $2, $3)
    )
    else ops.shown_column_expression($1, $2, $3)
  end;
end
$outer$;
comment on function ops.column_expression(text, text, smallint) is 'The SQL of a column for a custom field, with t for tracker.issues.';

create function ops.elements(value jsonb) returns setof jsonb immutable parallel safe
  begin atomic select jsonb_array_elements(case jsonb_typeof(value) when 'array' then value else jsonb_build_array(value) end);
end;
comment on function ops.elements(jsonb) is 'The values of a custom field, one row each.';

create function ops.name_custom_field_columns(of_source smallint) returns void language plpgsql as $$
declare
  field record;
begin
  for field in
    select f.id, ops.slug(f.name) as slug, k.kind, ops.column_type(k.kind) as type
    from tracker.fields f
    cross join lateral ops.column_kind(f.schema_type, f.items_type, f.schema_custom) k (kind)
    where f.source_id = of_source and f.custom and f._deleted_at is null
      and (f.id, ops.column_type(k.kind)) not in (
        select c.field_id, c.column_type from ops.custom_field_columns c where c.source_id = of_source
      )
    order by length(f.id), f.id collate "C"
  loop
    insert into ops.custom_field_columns (source_id, field_id, column_type, column_name)
    select of_source, field.id, field.type, candidate
    from (select concat(case when field.slug !~ '^[a-z]' then 'field_' end, field.slug) as plain,
      ops.slug(replace(field.id, 'customfield_', '')) as number) n
    cross join lateral (values
      (1, case when field.slug <> '' then left(n.plain, 63) end),
      (2, concat(trim('_' from left(n.plain, 40)), '_', left(n.number, 12))),
      (3, concat(trim('_' from left(n.plain, 40)), '_', left(n.number, 12), '_', field.kind))
    ) c (place, candidate)
    where candidate is not null
      -- Names that need no quotes and no AS, and of ids that are text.
      and quote_ident(candidate) = candidate
      and not exists (select from pg_get_keywords() k where k.word = candidate and not k.barelabel)
      and (field.type = 'text' or candidate !~ '_id$')
      and not exists (
        select from pg_attribute a where a.attrelid = 'bi.issues'::regclass and a.attnum > 0 and a.attname = candidate
      )
      and not exists (
        select from ops.custom_field_columns o where o.source_id = of_source and o.column_name = candidate
      )
      -- A view has at most 1,600 columns; some are left for those that bi.issues gets later.
      and (select count(*) from ops.custom_field_columns o where o.source_id = of_source) < 1450
    order by place
    limit 1;
  end loop;
end
$$;
comment on function ops.name_custom_field_columns(smallint) is 'Chooses a column for each custom field that has none of its type: the name of the field, with its id appended where that name is taken.';

create function ops.issues_wide_definition(of_source smallint, view_name text) returns text language plpgsql stable as $outer$
-- In plpgsql, because the tables of the tracker come after the first steps.
begin return (
  with field_columns as (
    select
      c.column_name,
      c.field_id,
      case
        when k.kind is null then 'null::' || c.column_type
        else ops.column_expression(k.kind, c.field_id, of_source)
      end as expression,
      case
        when k.kind is null then format('Always null: the field %s is gone, or has another type now.', c.field_id)
        when k.kind = 'user' then format('%s (%s): people by name, several joined by a comma.', f.name, f.id)
        when k.kind = 'sprint' then format('%s (%s): names of sprints, joined by a comma.', f.name, f.id)
        when k.kind = 'number' then format('%s (%s), to ten decimals; null if it is beyond 18 digits.', f.name, f.id)
        when k.kind = 'date' then format('%s (%s): a calendar day without a time zone.', f.name, f.id)
        when k.kind = 'datetime' then format('%s (%s): an instant (UTC).', f.name, f.id)
        else format('%s (%s), as text; several values joined by a comma.', f.name, f.id)
      end as about
    from ops.custom_field_columns c
    left join tracker.fields f
      on f.source_id = c.source_id and f.id = c.field_id and f.custom and f._deleted_at is null
    left join lateral ops.column_kind(f.schema_type, f.items_type, f.schema_custom) k (kind)
      on f.id is not null and ops.column_type(k.kind) = c.column_type
    where c.source_id = of_source
  ),
  columns as (
    select
      case when exists (select from field_columns c where c.column_name = a.attname) then 'issue_' else '' end || a.attname
      as name,
      'i.' || a.attname as expression,
      coalesce(col_description(a.attrelid, a.attnum), '') as about,
      a.attnum::integer as place,
      '' as field_id
    from pg_attribute a
    where a.attrelid = 'bi.issues'::regclass and a.attnum > 0 and not a.attisdropped
    union all
    select column_name, expression, about, 10000 + length(field_id), field_id from field_columns
  ),
  ordered as (
    select c.*, row_number() over (order by a.attnum nulls last, c.place, c.field_id collate "C", c.name collate "C") as column_number
    from columns c
    left join pg_attribute a on a.attrelid = to_regclass('bi.' || view_name) and a.attname = c.name
  )
  select
    format(
      E'create or replace view bi.%I with (security_barrier) as select\n%s\nfrom bi.issues i\njoin tracker.issues t on t.source_id = %s '
      'and t.id = i.issue_id::bigint\nwhere i.source = %L;\n',
      view_name, string_agg(format('%s as %I', o.expression, o.name), E',\n' order by o.column_number), of_source, s.name
    )
    || format(
      E'comment on view bi.%I is %L;\n', view_name,
      format('Issues of the source %s with a column for each of its custom fields; one row per live issue. A sync adds '
        'columns for new fields.', s.name)
    )
    || string_agg(
      format('comment on column bi.%I.%I is %L', view_name, o.name, o.about), E';\n' order by o.column_number
    )
  from ordered o, ops.sources s
  where s.source_id = of_source
  group by s.name
);
end
$outer$;
comment on function ops.issues_wide_definition(smallint, text) is 'The statements that make bi.issues_wide_<source>. Columns that it has keep their place, new ones come last.';

create function ops.make_issues_wide(of_source smallint) returns setof text
  language plpgsql set lock_timeout = '5s' as $$
declare
  wanted text;
  made ops.issues_wide_views;
  reader text;
begin
  insert into ops.issues_wide_views (source_id, view_name, definition)
  select
    s.source_id,
    concat_ws('_', 'issues_wide', left(ops.slug(s.name), 40), case when exists (
      select from ops.issues_wide_views o where o.view_name = concat('issues_wide_', left(ops.slug(s.name), 40))
    ) or ops.slug(s.name) = '' then s.source_id end),
    ''
  from ops.sources s
  where s.source_id = of_source
  on conflict do nothing;
  select * into strict made from ops.issues_wide_views where source_id = of_source;

  perform ops.name_custom_field_columns(of_source);
  wanted := ops.issues_wide_definition(of_source, made.view_name);
  if wanted <> made.definition or to_regclass('bi.' || made.view_name) is null then
    execute wanted;
    -- Who may read the issues may read these.
    for reader in
      select case grantee when 0 then 'public' else grantee::regrole::text end
      from pg_class
      cross join aclexplode(relacl)
      where made.definition = '' and oid = 'bi.issues'::regclass and grantee <> relowner and privilege_type = 'SELECT'
    loop
      execute format('grant select on bi.%I to %s', made.view_name, reader);
    end loop;
    update ops.issues_wide_views set definition = wanted where source_id = of_source;
  end if;

  return query
    select format('%s custom fields have no column in bi.%s, which is full; they are in bi.issue_custom_fields',
      count(*), made.view_name)
    from tracker.fields f
    where f.source_id = of_source and f.custom and f._deleted_at is null
      and f.id not in (select c.field_id from ops.custom_field_columns c where c.source_id = of_source)
    having count(*) > 0;
exception
  when lock_not_available then
    return next 'somebody reads bi.issues_wide_…: it shows new custom fields after the next sync';
end
$$;
comment on function ops.make_issues_wide(smallint) is 'Makes bi.issues_wide_<source>, or makes it anew where the fields of the site or the columns of bi.issues have changed. Gives warnings.';
