/** A login for readers of `bi`: what it lacks, and what it has too much of, is found by one query as the statements that change it. */
import crypto from 'node:crypto';
import type { Pool } from 'pg';
import { codeOf, Misconfigured, saidBy } from '../core/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { targetOf, urlFor } from '../warehouse/routes.ts';

export interface ReaderOptions {
  /** Whether it may read `bi_pii`, too. */
  readonly pii?: boolean;
  /** Gives a login that exists another password. A new login always gets one. */
  readonly newPassword?: boolean;
}

/**
 * Makes a login that reads `bi` and nothing else of this database, or brings one up to date. Needs CREATEROLE for that, and the ownership of
 * `bi`; gives what was done, and what this user may not do. Throws `Misconfigured` for a name that cannot be a reader's.
 */
export async function grantReader(
  { pool, url }: Warehouse,
  name: string,
  { pii = false, newPassword = false }: ReaderOptions = {},
) {
  const isNew = !(await existingReader(pool, name));
  const password = isNew || newPassword ? crypto.randomBytes(24).toString('base64url') : undefined;
  const schemas = pii ? ['bi', 'bi_pii'] : ['bi'];
  const missing = async () => (await pool.query<MissingGrant>(whatIsMissing, [name, schemas])).rows;
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
    /** How to connect; with the password only where it was made now. */
    url: urlFor(targetOf(url.reveal()), name, password ?? ''),
    hasPassword: password !== undefined,
    exists: !isNew || denied.length === 0,
    isNew,
    /** Statements that changed something. */
    done: done.filter((statement) => !left.includes(statement)),
    /** Statements that an administrator should run, and why they were not. */
    left: left.map((statement) => ({ statement, reason: reasons.get(statement) ?? notOurs })),
  };
}

interface MissingGrant {
  readonly statement: string;
  /** Whether it changes nothing that other programs may rely on. */
  readonly isOurs: boolean;
}

const whatIsMissing = 'select statement, is_ours as "isOurs" from ops.reader_statements($1, $2)';
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
