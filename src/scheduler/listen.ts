/** Hears of new jobs: a session of its own that listens to a channel of Postgres. */
import type pg from 'pg';
import { seconds } from '../core/time.ts';
import { repeat } from './repeat.ts';

export interface Listener {
  close(): Promise<void>;
}

/**
 * Listens until it is closed. A session that cannot be opened, or is lost, is opened again. Each time `onConnect` is called: what was sent
 * before is not heard.
 */
export function listen(
  pool: pg.Pool,
  channel: string,
  hear: (payload: string) => void,
  onConnect: () => void,
): Listener {
  const over = new AbortController();
  let session: Awaited<ReturnType<typeof listening>> | undefined;
  const keep = async (): Promise<void> => {
    await session?.lost;
    if (over.signal.aborted) return;
    session = await listening(pool, channel, hear);
    if (over.signal.aborted) session.end();
    else onConnect();
  };
  void repeat(seconds(1), over.signal, keep, () => undefined);
  return {
    async close() {
      over.abort();
      session?.end();
    },
  };
}

async function listening(pool: pg.Pool, channel: string, hear: (payload: string) => void) {
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  const client = await pool.connect();
  client.on('notification', ({ payload = '' }) => hear(payload));
  let isOver = false;
  // Its connection is closed, not lent to others: it would go on listening.
  const end = (): void => {
    if (!isOver) client.release(true);
    isOver = true;
    resolve();
  };
  client.on('error', end).on('end', end);
  await client.query(`listen ${channel}`).catch((error: unknown) => {
    end();
    throw error;
  });
  return { lost, end };
}
