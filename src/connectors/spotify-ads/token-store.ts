import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { Misconfigured } from '../../core/errors.ts';
import { makeDirectory } from '../../core/make-directory.ts';
import type { TokenStore } from '../../core/token-store.ts';

/** A refresh token that the source renews, kept in a file between runs. */

export interface TokenFile {
  /** Made if it is not there. */
  readonly directory: string;
  /** Of the file, without an ending; its lock lies beside it. */
  readonly name: string;
  /** The configured token: what is kept is worth something only while that is the same one. */
  readonly configured: { reveal(): string };
  /** Waits for a lock between processes, which ends with the process that holds it. */
  readonly lock: (file: string, signal: AbortSignal) => Promise<{ release(): unknown }>;
}

interface Kept {
  /** Digest of the configured token that this one descends from. */
  readonly of: string;
  readonly refreshToken: string;
}

/**
 * A file readable by its owner alone, replaced as a whole: a crash leaves the old one or the new one. Throws `Misconfigured` where it cannot be
 * read or written, and where something else stands in it.
 */
export const tokenFile = ({ directory, name, configured, lock }: TokenFile): TokenStore => {
  const file = path.join(directory, `${name}.json`);
  const of = createHash('sha256').update(configured.reveal()).digest('hex');
  return {
    async read() {
      const kept = await keptIn(file);
      return kept?.of === of ? kept.refreshToken : undefined;
    },
    async write(refreshToken) {
      await naming(file, () => replace(file, JSON.stringify({ of, refreshToken } satisfies Kept)));
    },
    async alone(work, signal) {
      await naming(file, async () => makeDirectory(directory, 0o700));
      const held = await lock(path.join(directory, `${name}.lock`), signal);
      try {
        return await work();
      } finally {
        held.release();
      }
    },
  };
};

const keptIn = async (file: string): Promise<Kept | undefined> => {
  const text = await naming(file, async () => {
    try {
      return await fs.readFile(file, 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  });
  if (text === undefined) return undefined;
  const kept = parsed(text);
  if (kept !== undefined) return kept;
  // Not quoted: whatever it is, it may be a secret.
  throw new Misconfigured(
    `${file} is not what was written there; remove it to begin again with the configured refresh token`,
  );
};

const parsed = (text: string): Kept | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('of' in value) || !('refreshToken' in value))
      return undefined;
    const { of, refreshToken } = value;
    return typeof of === 'string' && typeof refreshToken === 'string' ? { of, refreshToken } : undefined;
  } catch {
    return undefined;
  }
};

/** On disk when it returns, under its name or not at all. */
const replace = async (file: string, text: string): Promise<void> => {
  const next = `${file}.${process.pid}.new`;
  await fs.rm(next, { force: true });
  const handle = await fs.open(next, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await fs.rename(next, file);
  // The new name is in the directory.
  const directory = await fs.open(path.dirname(file), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
};

const naming = async <T>(file: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    throw new Misconfigured(
      `cannot keep the refresh token in ${file} (${codeOf(cause) ?? 'unknown'}): may this user write there?`,
      {
        cause,
      },
    );
  }
};

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;
