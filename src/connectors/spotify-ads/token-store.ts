/** Where a refresh token that the platform renews is kept: in a file between runs, or in memory. */

import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { Misconfigured } from '../../core/errors.ts';

export interface TokenStore {
  /** The newest token that was kept; undefined if none was, or if it descends from another configured one. */
  read(): Promise<string | undefined>;
  /** Durable when it returns. */
  write(refreshToken: string): Promise<void>;
  /** Runs `work` while no other process does: no other process may use up a token between its reading and the writing of its successor. */
  alone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

interface TokenFile {
  /** Made if it is missing. */
  readonly directory: string;
  /** Of the file, without an ending; its lock is beside it. */
  readonly name: string;
  /** The configured token. A kept token counts only while this is the one that it descends from. */
  readonly configured: { reveal(): string };
  /** Waits for a lock between processes that ends with the process that holds it. */
  readonly lock: (file: string, signal: AbortSignal) => Promise<{ release(): unknown }>;
}

/** `of`: digest of the configured token. */
const shape = z.object({ of: z.string(), refreshToken: z.string() });

/**
 * A file readable by its owner alone, replaced as a whole: a crash leaves the old one or the new one. Throws `Misconfigured`
 * where it cannot be read or written, and where it holds something else.
 */
export const tokenFile = ({ directory, name, configured, lock }: TokenFile): TokenStore => {
  const file = path.join(directory, `${name}.json`);
  const of = createHash('sha256').update(configured.reveal()).digest('hex');
  return {
    async read() {
      const text = await naming(file, () =>
        fs.readFile(file, 'utf8').catch((error: unknown) => {
          if (codeOf(error) !== 'ENOENT') throw error;
        }),
      );
      const kept = text === undefined ? undefined : parsed(file, text);
      return kept?.of === of ? kept.refreshToken : undefined;
    },
    write: (refreshToken) =>
      naming(file, () => replace(file, JSON.stringify({ of, refreshToken } satisfies z.infer<typeof shape>))),
    async alone(work, signal) {
      await naming(file, () => fs.mkdir(directory, { recursive: true, mode: 0o700 }));
      const held = await lock(path.join(directory, `${name}.lock`), signal);
      try {
        return await work();
      } finally {
        held.release();
      }
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

const naming = async <T>(file: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    const code = codeOf(cause) ?? 'unknown';
    throw new Misconfigured(
      `cannot keep the refresh token in ${file} (${code}): may this user write there?`,
      { cause },
    );
  }
};

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

/** Keeps the token as long as the process lives: for servers that do not renew it. */
export const memoryStore = (): TokenStore => {
  let kept: string | undefined;
  return {
    read: async () => kept,
    write: async (token) => {
      kept = token;
    },
    alone: (work) => work(),
  };
};
