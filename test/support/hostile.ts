import { onTestFinished } from 'vitest';
import { asOwner, databaseUrl } from './owner.ts';

/** Defaults as an administrator's `alter role … set` may leave them: each changes what SQL means, or what may end it. */
export const hostile: Readonly<Record<string, string>> = {
  search_path: 'hostile, pg_catalog',
  standard_conforming_strings: 'off',
  array_nulls: 'off',
  transform_null_equals: 'on',
  xmloption: 'document',
  timezone: 'Pacific/Kiritimati',
  datestyle: 'SQL, DMY',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  quote_all_identifiers: 'on',
  session_replication_role: 'replica',
  check_function_bodies: 'off',
  default_transaction_isolation: 'serializable',
  default_transaction_read_only: 'on',
  default_transaction_deferrable: 'on',
  statement_timeout: '1s',
  lock_timeout: '1ms',
  transaction_timeout: '1s',
  idle_session_timeout: '1s',
  idle_in_transaction_session_timeout: '1s',
  exit_on_error: 'on',
  row_security: 'on',
  gin_fuzzy_search_limit: '1',
  restrict_nonsystem_relation_kind: 'view',
  jit: 'on',
  plan_cache_mode: 'force_generic_plan',
  from_collapse_limit: '1',
  join_collapse_limit: '1',
  enable_nestloop: 'off',
  enable_indexscan: 'off',
  enable_hashagg: 'off',
  enable_memoize: 'off',
  enable_seqscan: 'off',
  geqo: 'off',
  client_min_messages: 'error',
  client_encoding: 'LATIN1',
  timezone_abbreviations: 'India',
  constraint_exclusion: 'off',
  tcp_keepalives_idle: '7200',
  synchronous_commit: 'off',
};

/** What an unqualified name finds first in the path of the hostile role: functions and an operator that say something else. */
const shadows = `
  create schema hostile;
  create function hostile.now() returns timestamptz language sql return timestamptz '1999-12-31 00:00:00+00';
  create function hostile.lower(text) returns text language sql return 'shadow';
  create function hostile.btrim(text) returns text language sql return 'shadow';
  create function hostile.length(text) returns integer language sql return -1;
  create function hostile.round(numeric) returns numeric language sql return -1;
  create function hostile.equals(text, text) returns boolean language sql return false;
  create operator hostile.= (leftarg = text, rightarg = text, function = hostile.equals);
  create function hostile.set_config(text, text, boolean) returns text language sql return 'shadow';
  grant usage on schema hostile to public`;

/** The URL of a database for a new superuser whose sessions begin with every hostile setting that the server knows. */
export async function hostileUrl(database: string): Promise<string> {
  const role = `${database}_hostile`;
  onTestFinished(() =>
    asOwner(async (client) => {
      await client.query(`reassign owned by ${role} to current_user; drop role ${role}`);
    }, database),
  );
  await asOwner(async (client) => {
    await client.query(shadows);
    await client.query(`create role ${role} superuser login password 'h'`);
    for (const [name, value] of Object.entries(hostile)) {
      const { rows } = await client.query(`select from pg_settings where lower(name) = $1`, [name]);
      const given = name === 'search_path' ? value : `'${value}'`;
      if (rows.length > 0) await client.query(`alter role ${role} set ${name} = ${given}`);
    }
  }, database);
  return Object.assign(new URL(databaseUrl(database)), { username: role, password: 'h' }).href;
}
