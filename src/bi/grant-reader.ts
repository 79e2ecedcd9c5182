/** A login for readers of `bi`: what it lacks, and what it has too much of, is found by one query as the statements that change it. */
import crypto from 'node:crypto';
import type { Pool } from 'pg';
import { Misconfigured, saidBy } from '../core/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { codeOf } from '../warehouse/pg-errors.ts';

export interface ReaderOptions {
  /** Whether it may read `bi_pii`, too. */
  readonly pii?: boolean;
  /** Gives a login that exists another password. A new login always gets one. */
  readonly newPassword?: boolean;
}

/** What was done, and what this user may not do. */
export interface GrantedReader {
  /** How to connect; with the password only where it was made now. */
  readonly url: string;
  readonly exists: boolean;
  readonly isNew: boolean;
  /** Statements that changed something. */
  readonly done: readonly string[];
  /** Statements that an administrator should run, and why they were not. */
  readonly left: readonly { readonly statement: string; readonly reason: string }[];
}

/**
 * Makes a login that reads `bi` and nothing else of this database, or brings one up to date. Needs CREATEROLE for that, and the ownership of
 * `bi`; what it may not do is left. Throws `Misconfigured` for a name that cannot be a reader's.
 */
export async function grantReader(
  { pool, url }: Warehouse,
  name: string,
  { pii = false, newPassword = false }: ReaderOptions = {},
): Promise<GrantedReader> {
  const isNew = !(await existingReader(pool, name));
  const password = isNew || newPassword ? crypto.randomBytes(24).toString('base64url') : undefined;
  const schemas = pii ? ['bi', 'bi_pii'] : ['bi'];
  const missing = async () => (await pool.query<Missing>(whatIsMissing, [name, schemas])).rows;
  const reasons = new Map<string, string>();
  const done: string[] = [];
  const run = async (statement: string): Promise<void> => {
    try {
      await pool.query(statement);
      done.push(statement);
    } catch (error) {
      if (codeOf(error) !== insufficientPrivilege) throw error;
      reasons.set(statement, saidBy(error));
    }
  };
  if (password !== undefined) await run(loginStatement(name, isNew, password));
  const denied = [...reasons.keys()];
  if (denied.length === 0 || !isNew)
    for (const { statement, isOurs } of await missing()) if (isOurs) await run(statement);
  const left = [...denied, ...(await missing()).map(({ statement }) => statement)];
  return {
    url: urlOf(url.reveal(), name, password),
    exists: !isNew || denied.length === 0,
    isNew,
    done: done.filter((statement) => !left.includes(statement)),
    left: left.map((statement) => ({ statement, reason: reasons.get(statement) ?? notOurs })),
  };
}

const insufficientPrivilege = '42501';
const notOurs = 'this user may not change it, or others rely on it';

/** Whether there is such a login. Throws Misconfigured for one that is more than a reader. */
async function existingReader(pool: Pool, name: string): Promise<boolean> {
  if (!/^(?!pg_|public$|none$)[a-z_][\w-]{0,62}$/i.test(name))
    throw new Misconfigured(`“${name}” is no name for a login: take letters, digits and underscores`);
  const { rows } = await pool.query<{ isMore: boolean }>(
    `select rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls or rolname = current_user
        or pg_has_role(oid, (select nspowner from pg_namespace where nspname = 'bi'), 'member') as "isMore"
      from pg_roles where rolname = $1`,
    [name],
  );
  if (rows[0]?.isMore)
    throw new Misconfigured(
      `${name} is more than a reader (it owns the warehouse, or may make roles or databases): take another name`,
    );
  return rows.length > 0;
}

/** The password is sent as what Postgres keeps of it: statements are logged and counted by their text. */
const loginStatement = (name: string, isNew: boolean, password: string): string =>
  `${isNew ? 'create' : 'alter'} role "${name}" login connection limit 20 password '${scramVerifier(password)}'`;

/** As `rolpassword` holds it, see RFC 5803; for a password of ASCII characters. */
function scramVerifier(password: string): string {
  const salt = crypto.randomBytes(16);
  const salted = crypto.pbkdf2Sync(password, salt, 4096, 32, 'sha256');
  const keyOf = (what: string): Buffer => crypto.createHmac('sha256', salted).update(what).digest();
  const stored = crypto.createHash('sha256').update(keyOf('Client Key')).digest('base64');
  return `SCRAM-SHA-256$4096:${salt.toString('base64')}$${stored}:${keyOf('Server Key').toString('base64')}`;
}

function urlOf(owner: string, name: string, password = ''): string {
  const url = new URL(owner);
  url.username = encodeURIComponent(name);
  url.password = password;
  for (const param of ['user', 'password', 'options']) url.searchParams.delete(param);
  return url.href;
}

interface Missing {
  readonly statement: string;
  /** Whether `grantReader` runs it: it changes nothing that other programs may rely on. */
  readonly isOurs: boolean;
}

/**
 * Statements that are still to be run for the login $1 and the schemas $2, in order. A login that does not exist yet has the rights of PUBLIC.
 * Settings are those of the login itself: those of a group role are not inherited.
 */
const whatIsMissing = `
with reader as (
  select $1::text as name, (select oid from pg_roles where rolname = $1) as oid
),
bi as (select nspowner as owner from pg_namespace where nspname = 'bi'),
settings (name, value) as (values
  ('default_transaction_read_only', 'on'), ('statement_timeout', '60s'), ('idle_in_transaction_session_timeout', '60s'),
  ('search_path', 'bi'), ('TimeZone', 'UTC'), ('work_mem', '32MB'), ('jit', 'off')
),
shown as (select * from pg_namespace where nspname = any ($2)),
-- What PUBLIC, the login and the roles that it belongs to may do with schemas and with this database, beyond reading.
rights as (
  select 'schema' as kind, n.nspname::text as name, a.privilege_type, a.grantee,
    n.nspname = 'public' or n.nspowner = bi.owner as owned
  from bi, pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
  where n.nspname !~ '^(pg_|information_schema$)' and a.grantee <> n.nspowner
    and not (a.privilege_type = 'USAGE' and n.nspname = any ($2))
  union all
  select 'database', d.datname, a.privilege_type, a.grantee, d.datdba = bi.owner
  from bi, pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
  where d.datname = current_database() and a.grantee <> d.datdba and a.privilege_type <> 'CONNECT'
)
select statement, ours as "isOurs" from (
  select 1 as place, format('alter role %I login connection limit 20', rolname) as statement, true as ours
  from pg_roles join reader using (oid) where not rolcanlogin or rolconnlimit <> 20
  union all
  select 2, format('alter role %I set %s = %L', r.name, s.name, s.value), true
  from reader r, settings s
  where not exists (
    select from pg_db_role_setting d, unnest(d.setconfig) c
    where d.setrole = r.oid and d.setdatabase = 0 and lower(c) = lower(s.name || '=' || s.value)
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
  -- Views call them with the rights of the reader; without the right to use their schema nothing else can.
  select 6, format('grant execute on function %s to %I', p.oid::regprocedure, r.name), true
  from reader r, bi, pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspowner = bi.owner and n.nspname <> 'public'
    and not coalesce(has_function_privilege(r.oid, p.oid, 'execute'), has_function_privilege('public', p.oid, 'execute'))
  union all
  select 7, format('revoke %s on %s %I from %s', lower(x.privilege_type), x.kind, x.name,
    case x.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(x.grantee)) end),
    x.grantee = r.oid or (x.grantee = 0 and x.owned)
  from reader r, rights x
  where x.grantee = 0 or pg_has_role(r.oid, nullif(x.grantee, 0), 'usage')
) missing
order by place, statement`;
