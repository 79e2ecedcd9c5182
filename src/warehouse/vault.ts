/** Keeps secrets that a source renews in the warehouse, encrypted, so that every machine finds the newest. */
import crypto from 'node:crypto';
import { codeOf, Misconfigured, Unreachable } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';
import type { Vault } from '../core/vault.ts';
import type { Warehouse } from './connect.ts';
import { lockNotAvailable } from './pg-errors.ts';
import { isConnectionLoss, withRetry } from './with-retry.ts';

/**
 * A vault in `ops.kept_secrets` of the warehouse that `open` gives with its schema up to date. `alone` throws `Misconfigured` for another key
 * than the one that sealed the text, `Unreachable` if another process keeps the row for a minute.
 */
export const vaultIn = (open: () => Promise<Pick<Warehouse, 'pool'>>, secret: Secret): Vault => ({
  async alone(name, work) {
    const { pool } = await open();
    const key = crypto.hkdfSync('sha256', secret.reveal(), '', 'tidemark kept secrets', 32);
    const client = await pool.connect();
    try {
      await client.query(`begin; set local lock_timeout = '60s'`);
      await client.query('insert into ops.kept_secrets (name) values ($1) on conflict do nothing', [name]);
      const find = 'select sealed from ops.kept_secrets where name = $1 for update';
      const { rows } = await client.query<{ sealed: Buffer | null }>(find, [name]);
      const before = rows[0]?.sealed ?? null;
      const keep = async (text: string): Promise<void> => {
        // Nothing but what was read is replaced; written twice it is the same.
        const store = `update ops.kept_secrets set sealed = $3, kept_at = now()
          where name = $1 and (sealed is not distinct from $2 or sealed = $3)`;
        const values = [name, before, seal(text, name, key)];
        const here = client.query(store, values).then(() => client.query('commit'));
        await here.catch((error: unknown) => {
          if (!isConnectionLoss(error)) throw error;
          // The old one is used up: the new one must not be lost with the connection.
          return withRetry(() => pool.query(store, values));
        });
      };
      return await work(before === null ? undefined : unseal(before, name, key), keep);
    } catch (cause) {
      if (codeOf(cause) !== lockNotAvailable) throw cause;
      throw new Unreachable(`another process has been renewing the token of ${name} for a minute`, { cause });
    } finally {
      await client.query('commit').catch(() => undefined);
      client.release(true);
    }
  },
});

const cipher = 'aes-256-gcm';

function seal(text: string, name: string, key: ArrayBuffer): Buffer {
  const nonce = crypto.randomBytes(12);
  const sealing = crypto.createCipheriv(cipher, new Uint8Array(key), nonce).setAAD(Buffer.from(name));
  const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()]);
  return Buffer.concat([nonce, sealing.getAuthTag(), sealed]);
}

function unseal(sealed: Buffer, name: string, key: ArrayBuffer): string {
  const opening = crypto.createDecipheriv(cipher, new Uint8Array(key), sealed.subarray(0, 12));
  opening.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(12, 28));
  try {
    return opening.update(sealed.subarray(28), undefined, 'utf8') + opening.final('utf8');
  } catch (cause) {
    throw new Misconfigured(
      `the refresh token of ${name} in the warehouse was sealed with another TIDEMARK_SECRET_KEY: set that key again, or log in ` +
        `again and delete from ops.kept_secrets where name = '${name}'`,
      { cause },
    );
  }
}
