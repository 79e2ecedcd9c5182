/** What every session of ours is set to, whatever server, database and role have as defaults. */
import type { ClientBase } from 'pg';

/** By what they are for. A setting that a version of Postgres does not have is left out there. */
const settings: Readonly<Record<string, string>> = {
  // How SQL is read, and where names are looked up: only where they say. Temporary tables are found all the same.
  search_path: '',
  standard_conforming_strings: 'on',
  backslash_quote: 'safe_encoding',
  array_nulls: 'on',
  transform_null_equals: 'off',
  xmloption: 'content',
  client_encoding: 'UTF8',
  // How values become text and text becomes values.
  timezone: 'UTC',
  timezone_abbreviations: 'Default',
  datestyle: 'ISO, YMD',
  intervalstyle: 'iso_8601',
  bytea_output: 'hex',
  extra_float_digits: '1',
  quote_all_identifiers: 'off',
  // Which rows are seen: a policy that hides rows from us is an error.
  row_security: 'off',
  gin_fuzzy_search_limit: '0',
  restrict_nonsystem_relation_kind: '',
  // Triggers keep the facts.
  session_replication_role: 'origin',
  check_function_bodies: 'on',
  // A transaction that lasts longer than a heartbeat of its lease fails at its end under another isolation.
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  default_transaction_deferrable: 'off',
  // What may end a statement or a session.
  lock_timeout: '60s',
  transaction_timeout: '0',
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: '5min',
  exit_on_error: 'off',
  client_min_messages: 'warning',
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  // Before Postgres 18 compiling took 0.1 s for statements of 1 ms (measured on 15).
  jit: 'off',
  // Loads switch joins off one by one; views have many of them.
  plan_cache_mode: 'auto',
  constraint_exclusion: 'partition',
  from_collapse_limit: '8',
  join_collapse_limit: '8',
  geqo: 'on',
};

/** Ways to plan a query that are on by default; all that begin with `enable_` but those of partitions. */
const planning =
  'bitmapscan gathermerge hashagg hashjoin incremental_sort indexonlyscan indexscan material memoize mergejoin nestloop ' +
  'parallel_append parallel_hash partition_pruning presorted_aggregate seqscan sort tidscan';

const wanted = [
  ...Object.entries(settings),
  ...planning.split(' ').map((name) => [`enable_${name}`, 'on'] as const),
];

/**
 * Sets up a session, after its start: poolers refuse settings of a start. Only what differs is set: some settings may not be touched by
 * everybody. `statementTimeout`: in ms; 0 is for ever. Throws what the server answers.
 */
export async function prepareSession(client: ClientBase, statementTimeout: number): Promise<void> {
  const values = [...wanted, ['statement_timeout', `${statementTimeout}`]];
  await client.query(`
    select pg_catalog.set_config(name, value, false)
    from (values ${values.map(([name, value]) => `('${name}', '${value}')`).join(', ')}) as settings (name, value)
    where pg_catalog.current_setting(name, true) operator(pg_catalog.<>) value;
    -- A run relies on what an answered commit stored.
    select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off';
    do $$ begin
      -- A statement whose client was killed must not go on holding its locks. Not every server's platform can tell.
      perform set_config('client_connection_check_interval', '3s', false);
    exception when invalid_parameter_value then null;
    end $$`);
}
