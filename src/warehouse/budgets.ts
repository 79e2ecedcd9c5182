/** Rate limits and pauses of sources, kept by all processes together: one row each in `ops.budgets`, by the database clock. */
import { type Kysely, sql } from 'kysely';
import { orStopped } from '../core/abort.ts';
import { TimedOut } from '../core/errors.ts';
import type { AnyDatabase } from './connect.ts';

/** `perSecond` requests a second, `burst` of them at once. */
type RateLimit = Readonly<Record<'perSecond' | 'burst', number>>;

type Wait = { readonly wait: number };
type Pause = { readonly key: string; readonly ms: number };

/** A call gives up after this time: its caller has a limit of its own to fall back on, and must not wait as long as a load may. */
const patienceMs = 2_000;

/**
 * The budgets of a warehouse, which may still be opening. Each call is one statement; it rejects with what Postgres answers, with `TimedOut`
 * after two seconds, and with what `stopped` makes of an aborted signal.
 */
export const budgetsOf = (db: Kysely<AnyDatabase> | Promise<Kysely<AnyDatabase>>) => {
  const ask = async <Row>(statement: ReturnType<typeof sql<Row>>, signal?: AbortSignal): Promise<Row[]> => {
    const late = AbortSignal.timeout(patienceMs);
    const rows = (async () => (await statement.execute(await db)).rows)();
    return orStopped(rows, signal ? AbortSignal.any([signal, late]) : late).catch((error: unknown) => {
      if (signal?.aborted || !late.aborted) throw error;
      throw new TimedOut(`the warehouse did not answer within ${patienceMs / 1000} s`, { cause: error });
    });
  };
  return {
    /**
     * Takes `count` requests of the limit, first come, first served. Resolves with the ms until the first of them may leave, negative where
     * it might have left already; the k-th after it may leave k ÷ `perSecond` later.
     */
    async take(key: string, count: number, { perSecond, burst }: RateLimit, signal?: AbortSignal) {
      const span = sql`make_interval(secs => ${count / perSecond})`;
      const earliest = sql`clock_timestamp() - make_interval(secs => ${(burst - 1) / perSecond})`;
      const [row] = await ask(
        sql<Wait>`insert into ops.budgets as b (key, free_at) values (${key}, ${earliest} + ${span})
          on conflict (key) do update set free_at = greatest(b.free_at, ${earliest}) + ${span}
          returning extract(epoch from free_at - ${span} - clock_timestamp())::float8 * 1000 as wait`,
        signal,
      );
      return row?.wait ?? 0;
    },
    /** The key is paused for `ms` from now; a longer pause is kept. */
    async pause(key: string, ms: number): Promise<void> {
      await ask(sql`insert into ops.budgets as b (key, free_at)
        values (${key}, clock_timestamp() + make_interval(secs => ${ms / 1000}))
        on conflict (key) do update set free_at = greatest(b.free_at, excluded.free_at)`);
    },
    /** The ms left of each pause of `key`, and of keys that begin with it and a space. */
    async pauses(key: string, signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
      const rows = await ask(
        sql<Pause>`select key, extract(epoch from free_at - clock_timestamp())::float8 * 1000 as ms
          from ops.budgets where (key = ${key} or starts_with(key, ${`${key} `})) and free_at > clock_timestamp()`,
        signal,
      );
      return new Map(rows.map(({ key, ms }) => [key, ms]));
    },
  };
};
