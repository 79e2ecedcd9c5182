/** How the ads platform is logged in to: by a configured access token, or by those that a refresh token obtains (RFC 6749 section 6). */

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { AuthFailed, Misconfigured, saidBy } from '../../core/errors.ts';
import { makeDirectory } from '../../core/make-directory.ts';
import type { Vault } from '../../core/vault.ts';
import { accessTokens, type Given } from '../../http/access-tokens.ts';
import { type Auth, basic, bearer, type Client, type Hidden } from '../../http/auth.ts';

// Where a refresh token that the platform renews is kept between runs.

export interface TokenStore {
  /** The newest token that was kept; undefined if none was, or if it descends from another configured one. */
  read(): Promise<string | undefined>;
  /** The token by which the newest was obtained: it is the last that has worked. Undefined where it is not kept. */
  before?(): string | undefined;
  /** Durable when it returns. `used`: the token by which this one was obtained. */
  write(refreshToken: string, used: string): Promise<void>;
  /** Runs `work` while no other process does: no other process may use up a token between its reading and the writing of its successor. */
  alone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

interface TokenFile {
  /** Made if it is missing. */
  readonly directory: string;
  /** Of the file, without an ending; its lock is beside it. */
  readonly name: string;
  /** The configured token. A kept token counts only while this is the one that it descends from. */
  readonly configured: Hidden;
  /** Waits for a lock between processes that ends with the process that holds it. */
  readonly lock: (file: string, signal: AbortSignal) => Promise<{ release(): unknown }>;
}

/** `of`: digest of the configured token. */
const shape = z.object({ of: z.string(), refreshToken: z.string(), before: z.string().optional() });

const digest = (token: Hidden): string => createHash('sha256').update(token.reveal()).digest('hex');

/** Kept in a vault, under a name. Until a first one is there, the one in `file` counts, where it was kept until now. */
export const vaultTokens = (vault: Vault, name: string, configured: Hidden, file: TokenStore): TokenStore => {
  const of = digest(configured);
  let current: z.infer<typeof shape> | undefined;
  let keep: (text: string) => Promise<void> = () => Promise.reject(new Error('a write outside of alone'));
  return {
    read: async () => current?.refreshToken ?? file.read(),
    before: () => current?.before,
    write: (refreshToken, used) => keep(JSON.stringify({ of, refreshToken, before: used })),
    alone: (work) =>
      vault.alone(name, (text, keepText) => {
        const kept = text === undefined ? undefined : shape.parse(JSON.parse(text));
        current = kept?.of === of ? kept : undefined;
        keep = keepText;
        return work();
      }),
  };
};

/**
 * A file readable by its owner alone, replaced as a whole: a crash leaves the old one or the new one. Throws `Misconfigured`
 * where it cannot be read or written, and where it holds something else.
 */
export const tokenFile = ({ directory, name, configured, lock }: TokenFile): TokenStore => {
  const file = path.join(directory, `${name}.json`);
  const of = digest(configured);
  const naming = <T>(work: Promise<T>): Promise<T> =>
    work.catch((cause: unknown) => {
      const message = `cannot keep the refresh token in ${file} (${saidBy(cause)}): may this user write there?`;
      throw new Misconfigured(message, { cause });
    });
  return {
    async read() {
      if (!existsSync(file)) return undefined;
      const kept = parsed(file, await naming(fs.readFile(file, 'utf8')));
      return kept.of === of ? kept.refreshToken : undefined;
    },
    write: (refreshToken) => naming(replace(file, JSON.stringify({ of, refreshToken }))),
    async alone(work, signal) {
      await naming(Promise.try(makeDirectory, directory, 0o700));
      const held = await lock(path.join(directory, `${name}.lock`), signal);
      return work().finally(() => held.release());
    },
  };
};

const parsed = (file: string, text: string): z.infer<typeof shape> => {
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    // Without the cause: it may quote a secret.
    throw new Misconfigured(
      `${file} does not hold a kept refresh token; remove it to start again with the configured one`,
    );
  }
};

/** When it returns, the new content is on disk under the file's name. */
const replace = async (file: string, text: string): Promise<void> => {
  const next = `${file}.${process.pid}.new`;
  await fs.rm(next, { force: true });
  await fs.writeFile(next, text, { flag: 'wx', mode: 0o600, flush: true });
  await fs.rename(next, file);
  // The new name is in the directory.
  const directory = await fs.open(path.dirname(file), 'r');
  await directory.sync().finally(() => directory.close());
};

interface Refresh extends Pick<Client, 'tokenUrl' | 'clientId' | 'clientSecret'> {
  readonly kind: 'refresh';
  readonly refreshToken: Hidden;
}
export type AdsCredentials = Refresh | { readonly kind: 'token'; readonly accessToken: Hidden };

/** Without a store, a renewed refresh token lives as long as the process. */
export const authFor = (credentials: AdsCredentials, store?: TokenStore): Auth =>
  credentials.kind === 'refresh' ? refreshing(credentials, store) : bearer(credentials.accessToken);

const refreshing = ({ clientId, clientSecret, refreshToken, tokenUrl }: Refresh, store?: TokenStore) => {
  let current = refreshToken.reveal();
  return accessTokens({
    tokenUrl,
    auth: basic(clientId, clientSecret),
    secrets: () => [refreshToken.reveal(), current],
    obtain(ask, closing) {
      const refresh = async (token: string): Promise<Given> => {
        const given = await ask({ grant_type: 'refresh_token', refresh_token: token });
        const next = given.refresh_token ?? token;
        // Refresh tokens are single-use: keep the new one before anything else can fail.
        if (next !== token) await store?.write(next, token);
        current = next;
        return given;
      };
      const obtain = async (): Promise<Given> => {
        // Another process may have used the token that this one has.
        current = (await store?.read()) ?? current;
        const before = store?.before?.();
        return refresh(current).catch((error: unknown) => {
          if (!(error instanceof AuthFailed) || before === undefined) throw error;
          // A token that never worked may have come of an answer that the platform took back.
          return refresh(before).catch(() => Promise.reject(error));
        });
      };
      return store === undefined ? obtain() : store.alone(obtain, closing);
    },
    refused:
      "the refresh token or the client's id and secret are not accepted: log in again and set ADS_REFRESH_TOKEN",
  });
};
