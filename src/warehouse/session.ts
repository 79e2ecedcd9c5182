/** What every session of ours is set to, whatever server, database and role have as defaults. */
import type { ClientBase } from 'pg';
import { minutes } from '../core/time.ts';

/** Ours, where they are not those of Postgres, by what they are for. A setting that a version of Postgres does not have is left out there. */
const settings: Readonly<Record<string, string>> = {
  // Names are looked up only where the SQL says. Temporary tables are found all the same.
  search_path: '',
  // How values become text and text becomes values.
  client_encoding: 'UTF8',
  timezone: 'UTC',
  timezone_abbreviations: 'Default',
  datestyle: 'ISO, YMD',
  intervalstyle: 'iso_8601',
  // Which rows are seen: a policy that hides rows from us is an error.
  row_security: 'off',
  // What may end a statement or a session.
  lock_timeout: '60s',
  client_min_messages: 'warning',
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  // Before Postgres 18 compiling took 0.1 s for statements of 1 ms (measured on 15).
  jit: 'off',
};

/**
 * Settings that are as Postgres has them by itself, by what they are for: how SQL is read; how values are written; which rows are seen; triggers,
 * which keep the facts; transactions, one of which fails at its end under another isolation if it lasts longer than a heartbeat of its lease;
 * what may end a session; how a query is planned, with all that begin with `enable_` but those of partitions.
 */
const usual =
  'standard_conforming_strings backslash_quote array_nulls transform_null_equals xmloption ' +
  'bytea_output extra_float_digits quote_all_identifiers gin_fuzzy_search_limit restrict_nonsystem_relation_kind ' +
  'session_replication_role check_function_bodies ' +
  'default_transaction_isolation default_transaction_read_only default_transaction_deferrable ' +
  'transaction_timeout idle_session_timeout exit_on_error ' +
  'plan_cache_mode constraint_exclusion from_collapse_limit join_collapse_limit geqo';

/**
 * Sets up a session, after its start: poolers refuse settings of a start. Only what differs is set: some settings may not be touched by
 * everybody. `statementTimeout`: in ms; 0 is for ever. Throws what the server answers.
 */
export async function prepareSession(client: ClientBase, statementTimeout: number): Promise<void> {
  // A process that stands still in a transaction holds its locks for less time than a statement of others may wait for them.
  const idle = statementTimeout > 0 ? Math.min(minutes(5), statementTimeout) : minutes(5);
  const own = Object.entries({
    ...settings,
    statement_timeout: `${statementTimeout}`,
    idle_in_transaction_session_timeout: `${idle}`,
  });
  await client.query(`
    select pg_catalog.set_config(name, value, false)
    from (values ${own.map(([name, value]) => `('${name}', '${value}')`).join(', ')}) as settings (name, value)
    where pg_catalog.current_setting(name, true) operator(pg_catalog.<>) value;
    select pg_catalog.set_config(name, boot_val, false) from pg_catalog.pg_settings
    where setting operator(pg_catalog.<>) boot_val
      and (name operator(pg_catalog.=) any ('{${usual.replaceAll(' ', ',')}}')
        or pg_catalog.starts_with(name, 'enable_') and not pg_catalog.starts_with(name, 'enable_partitionwise'));
    -- A run relies on what an answered commit stored.
    select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off';
    do $$ begin
      -- A statement whose client was killed must not go on holding its locks. Not every server's platform can tell.
      perform set_config('client_connection_check_interval', '3s', false);
    exception when invalid_parameter_value then null;
    end $$`);
}
