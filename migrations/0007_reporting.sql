-- What the reporting schemas are made with: lists that the company fills itself, settings, people, addresses, and the
-- rights of readers. Single values come from the environment: `migrate` replaces the functions that hold them.

-- The days of bi.calendar: a table, because they never change. Working days follow the settings and ref.holidays.

create table ops.calendar_days ( -- The days from 2010 to 2039, one row each. What bi.calendar is made of.
  date_day date primary key, -- The day.
  week_start date not null, -- Monday of its week.
  month_start date not null, -- First day of its month.
  quarter_start date not null, -- First day of its quarter.
  year_start date not null, -- First day of its year.
  iso_year integer not null, -- Year of its ISO week; differs at the turn of the year.
  iso_week integer not null, -- ISO week, 1 to 53.
  month_number integer not null, -- Month, 1 to 12.
  day_of_week integer not null, -- Day of the week, 1 Monday to 7 Sunday.
  day_name text not null, -- English name of the day.
  is_weekend boolean not null -- True on Saturday and Sunday.
);

insert into ops.calendar_days
select
  d::date,
  date_trunc('week', d)::date,
  date_trunc('month', d)::date,
  date_trunc('quarter', d)::date,
  date_trunc('year', d)::date,
  extract(isoyear from d)::integer,
  extract(week from d)::integer,
  extract(month from d)::integer,
  extract(isodow from d)::integer,
  to_char(d, 'FMDay'),
  extract(isodow from d) >= 6
from generate_series(timestamp '2010-01-01', timestamp '2039-12-31', interval '1 day') d;

create schema ref;
comment on schema ref is 'Lists that a company fills itself, with SQL: exchange rates, holidays, roles of DAGs. Read by the views of bi; empty at first.';

create table ref.fx_rates ( -- Exchange rates, one row per day and pair of currencies. A day without a rate takes that of the last day before it.
  date_day date not null, -- The first day that the rate holds for.
  from_currency text not null, -- ISO 4217 currency of the amount.
  to_currency text not null, -- ISO 4217 currency that it becomes, e.g. the reporting currency.
  rate numeric(28, 12) not null check (rate > 0), -- Units of to_currency for one unit of from_currency.
  primary key (from_currency, to_currency, date_day)
);

create table ref.holidays ( -- Days on which nobody works, one row each.
  date_day date primary key, -- The day.
  name text not null -- What it is called.
);

create table ref.dag_roles ( -- What DAGs are for, one row per pattern. Of several patterns that fit a name the longest counts.
  dag_pattern text primary key, -- Name of a DAG; % stands for any text, as in LIKE.
  role text not null -- deployment, incident, maintenance, or a word of the company's own.
);

create function ops.reporting_time_zone() returns text immutable parallel safe return 'UTC';
comment on function ops.reporting_time_zone() is 'IANA time zone of every *_date and week of the reporting schema (TIDEMARK_REPORTING_TIME_ZONE).';

create function ops.reporting_currency() returns text immutable parallel safe return null::text;
comment on function ops.reporting_currency() is 'ISO 4217 currency of the *_in_reporting_currency columns (TIDEMARK_REPORTING_CURRENCY); null: none.';

create function ops.is_working_day(date) returns boolean immutable parallel safe
  return extract(isodow from $1) between 1 and 5;
comment on function ops.is_working_day(date) is 'True on the weekdays on which people work (TIDEMARK_WORKING_DAYS); holidays are in ref.holidays.';

create function ops.fiscal_year_start() returns integer immutable parallel safe return 1;
comment on function ops.fiscal_year_start() is 'Month in which the fiscal year begins, 1 to 12 (TIDEMARK_FISCAL_YEAR_START).';

create function ops.shows_restricted_issues() returns boolean immutable parallel safe return false;
comment on function ops.shows_restricted_issues() is 'True where bi shows issues with a security level, too (TIDEMARK_BI_RESTRICTED_ISSUES=shown).';

-- Lists for questions across the systems: which text names which record, and what counts as an incident.

create table ref.link_patterns ( -- Where a text names a record of another system, one row per pattern. Read by bi.cross_links; a name that leads to nothing is no link.
  from_kind text not null, -- Whose text is searched: campaign, dag_run or issue.
  from_field text not null, -- Which text: name or purchase_order of a campaign, params of a DAG run, summary or description of an issue (descriptions are slow).
  pattern text not null check (regexp_replace('', pattern, '') = ''), -- POSIX regular expression of Postgres. Its first group in parentheses is the name, or the whole match where it has none.
  to_kind text not null, -- What is named: issue or campaign.
  to_field text not null, -- How it is named: an issue by its key, of today or a former one; a campaign by its id.
  note text, -- What it is for.
  primary key (from_kind, from_field, pattern, to_kind),
  check ((from_kind, from_field) in (
    ('campaign', 'name'), ('campaign', 'purchase_order'), ('dag_run', 'params'),
    ('issue', 'summary'), ('issue', 'description'))),
  check ((to_kind, to_field) in (('issue', 'key'), ('campaign', 'id')))
);

insert into ref.link_patterns (from_kind, from_field, pattern, to_kind, to_field, note)
select from_kind, from_field, case to_kind when 'issue' then key_pattern else id_pattern end, to_kind, to_field, note
from (values
  ('campaign', 'name', 'issue', 'key', 'a campaign name that carries an issue key'),
  ('campaign', 'purchase_order', 'issue', 'key', 'a purchase order that carries an issue key'),
  ('dag_run', 'params', 'issue', 'key', 'a parameter of a DAG run that carries an issue key'),
  ('dag_run', 'params', 'campaign', 'id', 'a parameter of a DAG run that carries a campaign id'),
  ('issue', 'summary', 'campaign', 'id', 'an issue summary that carries a campaign id')
) named (from_kind, from_field, to_kind, to_field, note)
cross join (values (
  '(?<![A-Za-z0-9])[A-Z][A-Z0-9]+-[1-9][0-9]*(?![A-Za-z0-9])',
  '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
)) patterns (key_pattern, id_pattern);

create table ref.incident_rules ( -- Which issues are incidents, one row per rule; one that fits is enough. Read by bi.incidents.
  field text not null check (field in ('issue_type', 'label')), -- issue_type (its name, or its English one) or label.
  pattern text not null, -- Text that it must equal, in upper or lower case; % stands for any text, as in LIKE.
  primary key (field, pattern)
);

insert into ref.incident_rules values ('issue_type', '%incident%'), ('label', 'incident');

-- Which links say that one issue blocks another: link types have names that a site makes itself, in any language.

create table ref.blocking_links ( -- Which link types block, one row per rule; one that fits is enough. Read by bi.issue_links.
  field text not null check (field in ('type_id', 'type_name', 'outward', 'inward')), -- What of the link type is compared: type_id, type_name, outward (how its active end reads) or inward.
  pattern text not null, -- Text that it must equal, in upper or lower case; % stands for any text, as in LIKE.
  primary key (field, pattern)
);

insert into ref.blocking_links values ('type_name', 'block%'), ('outward', 'block%');

-- Custom fields whose history bi.issue_field_history shows.

create table ref.history_fields ( -- Custom fields whose history bi.issue_field_history shows, one row each.
  source text not null, -- Name of the source, see ops.sources.name.
  field_id text not null, -- Field id, see tracker.fields.id, e.g. customfield_10050.
  field_name text not null
    check (field_name not in ('status', 'assignee', 'priority', 'story_points', 'sprint', 'fix_versions')), -- What bi.issue_field_history.field_name calls it.
  primary key (source, field_id),
  unique (source, field_name)
);

-- Addresses as people read them: views show the parts of click-through URLs decoded. Parsed now, as all that views call:
-- a reader's session may find other functions by these names, and read strings in another way.
create function ops.percent_decoded(text) returns text immutable parallel safe strict
  begin atomic select case when strpos($1, '%') = 0 then $1 else (
    select string_agg(
      case
        when part like '\%__%' then convert_from(decode(replace(part, '%', ''), 'hex'), 'UTF8')
        else part
      end,
      '' order by place
    )
    -- Escapes of whole UTF-8 characters, of one to four bytes; or text without escapes; or a percent sign.
    from regexp_matches($1, '('
      || '(?:%(?:0[1-9a-fA-F]|[1-7][0-9a-fA-F])'
      || '|%(?:[cC][2-9a-fA-F]|[dD][0-9a-fA-F])%[89abAB][0-9a-fA-F]'
      || '|%(?:[eE]0%[abAB]|[eE][1-9abcefABCEF]%[89abAB]|[eE][dD]%[89])[0-9a-fA-F]%[89abAB][0-9a-fA-F]'
      || '|%(?:[fF]0%[9abAB]|[fF][1-3]%[89abAB]|[fF]4%8)[0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){2})+'
      || '|[^%]+|%)', 'g') with ordinality m (parts, place)
    cross join lateral (select parts[1] as part) p
  ) end;
end;
comment on function ops.percent_decoded(text) is 'The text with %20 and the like replaced by their characters (UTF-8). What is no escape of one stays as it is.';

-- What readers of bi may see of people: e-mails and free text behind a grant of their own, names as the configuration says.

create schema bi_pii;
comment on schema bi_pii is 'What is personal: e-mails and the free text of comments and worklogs. Beside bi, with a grant of its own.';

create function ops.shows_names() returns boolean immutable parallel safe return true;
comment on function ops.shows_names() is 'False where bi shows pseudonyms in place of people''s names (TIDEMARK_BI_NAMES=pseudonyms).';

-- Stable, not immutable: convert_to is. A planner that inlines it sees the plain name where names are shown.
create function ops.shown_name(name text, user_id text) returns text stable parallel safe
  return case
    when ops.shows_names() or name is null then name
    else 'Person ' || left(encode(sha256(convert_to(coalesce(user_id, name), 'UTF8')), 'hex'), 12)
  end;
comment on function ops.shown_name(text, text) is 'How bi shows a person: by name, or by a pseudonym that is the same in every view and after every sync.';

-- Who is shown: tracker.shown_issues and what counts hidden issues ask this function.
create function ops.shows_level(level text, level_id bigint) returns boolean immutable parallel safe
  return (level is null and level_id is null) or ops.shows_restricted_issues();
comment on function ops.shows_level(text, bigint) is 'True where bi shows issues of a security level, given by name and id: those without one, or all (ops.shows_restricted_issues).';

create function ops.is_issue_key(words text) returns boolean immutable parallel safe
  return words ~ '^[A-Z][A-Z0-9_]+-[0-9]+$';
comment on function ops.is_issue_key(text) is 'True for a text that is an issue key as a whole, whether there is such an issue or not.';

create function ops.shown_message(source_kind text, message text) returns text immutable parallel safe
  return case
    when source_kind <> 'tracker' or ops.shows_restricted_issues() then message
    else regexp_replace(
      message,
      '(\m(?:issue|comment|worklog|change)s?[/ ])[0-9]+\M|( has a bad [^:]*: ).*'
        '|\m[A-Z][A-Z0-9_]+-[0-9]+\M|\m[0-9]{5,}\M|"[^"]*"|“[^”]*”',
      '\1\2…', 'g'
    )
  end;
comment on function ops.shown_message(text, text) is 'What bi shows of a message: of a tracker without keys, ids and quoted values of issues, which may have a security level; the whole where bi shows such issues.';

-- Text of people that is compared without regard to case means the same in every database: in a Turkish one the lower
-- case of I is not i. The rules of Unicode where the server has them; else those of ASCII.
do $$
begin
  execute 'create collation ops.any_case from pg_catalog.' || coalesce(
    (
      select quote_ident(collname)
      from pg_collation
      where collnamespace = 'pg_catalog'::regnamespace and collname in ('pg_c_utf8', 'und-x-icu')
        and collencoding in (-1, pg_char_to_encoding(getdatabaseencoding())) and getdatabaseencoding() = 'UTF8'
      order by collname collate "C"
      limit 1
    ),
    '"C"'
  );
end
$$;
comment on collation ops.any_case is 'For text of people that is compared without regard to case: the same in every database.';

-- What `tidemark grant-reader` runs, as the statements that are still to be run.

create function ops.reader_statements(reader_name text, schemas text[])
returns table (statement text, is_ours boolean) language sql stable as $$
with reader as (
  select reader_name as name, (select oid from pg_roles where rolname = reader_name) as oid
),
bi as (select nspowner as owner from pg_namespace where nspname = 'bi'),
settings (name, value) as (values
  ('default_transaction_read_only', 'on'), ('statement_timeout', '60s'), ('idle_in_transaction_session_timeout', '60s'),
  ('search_path', 'bi'), ('TimeZone', 'UTC'), ('work_mem', '32MB'), ('jit', 'off')
),
shown as (select * from pg_namespace where nspname = any (schemas)),
-- What PUBLIC, the login and the roles that it belongs to may do with schemas and with this database, beyond reading.
rights as (
  select 'schema' as kind, n.nspname::text as name, a.privilege_type, a.grantee,
    n.nspname = 'public' or n.nspowner = bi.owner as owned
  from bi, pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
  where n.nspname !~ '^(pg_|information_schema$)' and a.grantee <> n.nspowner
    and not (a.privilege_type = 'USAGE' and n.nspname = any (schemas))
  union all
  select 'database', d.datname, a.privilege_type, a.grantee, d.datdba = bi.owner
  from bi, pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
  where d.datname = current_database() and a.grantee <> d.datdba and a.privilege_type <> 'CONNECT'
)
select statement, ours from (
  select 1 as place, format('alter role %I login connection limit 20', rolname) as statement, true as ours
  from pg_roles join reader using (oid) where not rolcanlogin or rolconnlimit <> 20
  union all
  select 2, format('alter role %I set %s = %L', r.name, s.name, s.value), true
  from reader r, settings s
  where not exists (
    select from pg_db_role_setting d, unnest(d.setconfig) c
    where d.setrole = r.oid and d.setdatabase = 0 and lower(c collate "C") = lower((s.name || '=' || s.value) collate "C")
  )
  union all
  select 3, format('grant usage on schema %I to %I', n.nspname, r.name), true
  from reader r, shown n
  where not coalesce(has_schema_privilege(r.oid, n.oid, 'usage'), has_schema_privilege('public', n.oid, 'usage'))
  union all
  select 4, format('grant select on all tables in schema %I to %I', n.nspname, r.name), true
  from reader r, shown n
  where exists (
    select from pg_class c
    where c.relnamespace = n.oid and c.relkind in ('r', 'v', 'm', 'p', 'f')
      and not coalesce(has_table_privilege(r.oid, c.oid, 'select'), false)
  )
  union all
  -- Relations of later versions.
  select 5, format('alter default privileges for role %I in schema %I grant select on tables to %I',
    pg_get_userbyid(n.nspowner), n.nspname, r.name), true
  from reader r, shown n
  where not exists (
    select from pg_default_acl d, aclexplode(d.defaclacl) a
    where d.defaclnamespace = n.oid and d.defaclrole = n.nspowner and d.defaclobjtype = 'r'
      and a.privilege_type = 'SELECT' and pg_has_role(r.oid, nullif(a.grantee, 0), 'usage')
  )
  union all
  -- Views call them with the rights of the reader; without the right to use their schema nothing else can. No others:
  -- the owner of the warehouse may own pg_catalog, too, with its functions that read and write files.
  select 6, format('grant execute on function %s to %I', p.oid::regprocedure, r.name), true
  from reader r, pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname in ('ops', 'tracker')
    and not coalesce(has_function_privilege(r.oid, p.oid, 'execute'), has_function_privilege('public', p.oid, 'execute'))
  union all
  select 7, format('revoke execute on function %s from %I', p.oid::regprocedure, r.name), true
  from reader r, pg_proc p join pg_namespace n on n.oid = p.pronamespace, aclexplode(p.proacl) a
  where a.grantee = r.oid and n.nspname not in ('ops', 'tracker')
  union all
  select 8, format('revoke %s on %s %I from %s', lower(x.privilege_type collate "C"), x.kind, x.name,
    case x.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(x.grantee)) end),
    x.grantee = r.oid or (x.grantee = 0 and x.owned)
  from reader r, rights x
  where x.grantee = 0 or pg_has_role(r.oid, nullif(x.grantee, 0), 'usage')
) missing
order by place, statement
$$;
comment on function ops.reader_statements(text, text[]) is 'Statements, in order, that a login still lacks to read these schemas, and those that take away what it may do beyond. is_ours: it changes nothing that other programs may rely on. A login that does not exist yet has the rights of PUBLIC.';
