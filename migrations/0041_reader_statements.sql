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
