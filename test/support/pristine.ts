import type pg from 'pg';

/**
 * How a copy of a template is emptied after use, and how it is seen to be as the template again.
 *
 * A new copy costs 900 files, and one that is deleted makes those of the next ones dear: ext4 without a journal looks at every file that was
 * deleted lately before it makes one, which comes to half a second of a processor for a database.
 */
export interface Pristine {
  /** Empties the tables that are empty in the template, and sets back the sequences. */
  readonly clean: string;
  /** One row, `digest`: of every object, right and setting of the database, and of all that its tables hold. */
  readonly look: string;
  /** What `look` says of the template. */
  readonly digest: string;
}

/** Of the template that `client` is connected to. It must not change from then on. */
export async function pristine(client: Pick<pg.Pool, 'query'>): Promise<Pristine> {
  const names = async (query: string): Promise<readonly string[]> =>
    (await client.query<{ name: string }>(query)).rows.map(({ name }) => name);
  const filled = await names(`select name from (${stored}) tables order by name`);
  const look = looking(await names(catalogs), filled);
  const { rows } = await client.query<{ digest: string }>(look);
  const [{ digest } = { digest: '' }] = rows;
  return { clean: cleaning(filled), look, digest };
}

/** Tables with anything on disk, be it dead rows. */
const stored = `
  select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'm') and c.relpersistence <> 't' and n.nspname not in ('pg_catalog', 'information_schema')
    and pg_relation_size(c.oid) > 0`;

/** Where Postgres keeps what a database consists of. Statistics are none of it; two tables are looked at in another way. */
const catalogs = `
  select 'pg_catalog.' || relname as name from pg_class where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r' and not relisshared
    and relname not in ('pg_class', 'pg_namespace', 'pg_statistic', 'pg_statistic_ext_data')`;

/** All of pg_class but where a table lies and how large it is. */
const relations = `
  select concat_ws(' ', 'pg_class', count(*), md5(string_agg(row(oid, relname, relnamespace, reltype, reloftype, relowner, relam, reltablespace,
    reltoastrelid, relhasindex, relpersistence, relkind, relnatts, relchecks, relhasrules, relhastriggers, relhassubclass, relrowsecurity,
    relforcerowsecurity, relispopulated, relreplident, relispartition, reloptions, relacl)::text, ',' order by oid))) as digested
  from pg_class`;

const looking = (catalogs: readonly string[], filled: readonly string[]): string => `
  select md5(string_agg(digested, E'\\n' order by digested)) as digest from (${[
    relations,
    // What was made or changed since has a newer transaction than anything in the template; what was removed is missing.
    ...[...catalogs, ...filled].map(
      (name) => `select concat_ws(' ', '${name}', count(*), max(xmin::text::bigint)) from ${name}`,
    ),
    // A session's schema for its temporary tables stays when they go.
    `select concat_ws(' ', 'schemas', n::text) from pg_namespace n where nspname !~ '^pg_(toast_)?temp_'`,
    `select concat_ws(' ', 'stored', name) from (${stored}) tables`,
    `select concat_ws(' ', 'sequence', schemaname, sequencename, last_value) from pg_sequences`,
    `select row(datdba, datconnlimit, datallowconn, datacl, setrole, setconfig)::text
     from pg_database d left join pg_db_role_setting s on s.setdatabase = d.oid where datname = current_database()`,
  ].join('\n  union all ')}) as all_of_it`;

/** Tables that nothing was ever written to keep what is known of them: a run need not analyze them again, which takes longer than all others. */
const cleaning = (filled: readonly string[]): string => `
  do $$
  declare
    made text;
    used oid[] := (select array_agg(name::regclass::oid) from (${stored}) tables where name <> all ('{${filled.join(',')}}'));
  begin
    -- A sync of a tracker makes one.
    for made in select relname from pg_class where relnamespace = to_regnamespace('bi') and relname ~ '^issues_wide_' loop
      execute format('drop view bi.%I cascade', made);
    end loop;
    if used is not null then
      execute (select 'truncate ' || string_agg(one::regclass::text, ', ') || ' restart identity cascade' from unnest(used) one);
    end if;
    perform setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    from pg_sequences where last_value is not null;
    delete from pg_statistic where starelid >= 16384 and starelid::regclass::text <> all ('{${filled.join(',')}}');
    perform pg_stat_reset_single_table_counters(one) from unnest(used) one;
  end $$`;
