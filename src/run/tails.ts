import { sql } from 'kysely';
import { Forbidden, Missing } from '../core/errors.ts';
import type { PageWalk } from '../core/paging.ts';
import type { Json } from '../core/request.ts';
import type { Flow, Mapped, Tail } from '../core/stream.ts';
import type { Row } from '../core/table.ts';
import { pages } from '../extract/pages.ts';
import { type RunContext, tell } from './context.ts';
import { markStream } from './runs.ts';

/** So many different records in a row without the list, and none with it: the server does not have the endpoint. */
const missesUntilUnavailable = 3;

/** Fetches the lists that came only in part with their records, for one stream of a run. */
export interface Tails {
  /**
   * The complete lists by child; a child is absent where it cannot be had: its rows are left as they are.
   * Throws `BadData` where a list cannot become rows: then its record is rejected.
   */
  fetch(tails: readonly Tail[]): Promise<Readonly<Record<string, readonly Row[]>>>;
}

/** Remembers per child whether the server has the endpoint at all, found out from its answers. */
export function tailsOf(context: RunContext, flow: Flow): Tails {
  const state = new Map<string, { answered: boolean; misses: number; off: boolean }>();
  const of = (child: string) => {
    const known = state.get(child) ?? { answered: false, misses: 0, off: false };
    state.set(child, known);
    return known;
  };

  /** The complete list of one walk, whichever children it is for; undefined where it cannot be had. */
  const list = async (names: readonly string[], walk: PageWalk): Promise<readonly Json[] | undefined> => {
    const children = names.map(of);
    if (children.every((child) => child.off)) return undefined;
    try {
      const records: Json[] = [];
      for await (const page of pages(context.deps.source.http, walk, context.signal)) records.push(...page.records);
      for (const [i, child] of children.entries()) {
        if (!child.answered) await mark(names[i] ?? '', 'available', null);
        child.answered = true;
      }
      return records;
    } catch (error) {
      if (error instanceof Missing) {
        // Either this one record was deleted a moment ago, or the server has no such endpoint: several in a row tell.
        for (const [i, child] of children.entries()) {
          child.misses += 1;
          if (!child.answered && child.misses >= missesUntilUnavailable)
            await off(names[i] ?? '', 'unavailable', error);
        }
        return undefined;
      }
      if (error instanceof Forbidden && children.every((child) => !child.answered)) {
        for (const name of names) await off(name, 'forbidden', error);
        return undefined;
      }
      throw error;
    }
  };

  const off = async (child: string, how: 'unavailable' | 'forbidden', error: Error): Promise<void> => {
    if (of(child).off) return;
    of(child).off = true;
    await mark(child, how, error.message);
    tell(context, 'warn', `${flow.stream.name}: ${child} ${how}: ${error.message}`);
  };

  const mark = (child: string, how: 'available' | 'unavailable' | 'forbidden', reason: string | null): Promise<void> =>
    markStream(context.deps.warehouse.db, context.run.sourceId, child, how, reason);

  return {
    async fetch(tails) {
      // Several children may be read from one list: it is fetched once.
      const lists = new Map<PageWalk, readonly Tail[]>();
      for (const tail of tails) lists.set(tail.walk, [...(lists.get(tail.walk) ?? []), tail]);
      const fetched = await Promise.all(
        [...lists].map(async ([walk, of]) => {
          const records = await list(
            of.map((tail) => tail.child),
            walk,
          );
          return records === undefined ? [] : of.map((tail) => [tail.child, tail.rows(records)] as const);
        }),
      );
      return Object.fromEntries(fetched.flat());
    },
  };
}

/** Which of these records the warehouse already holds with the same content: their tails need not be fetched. */
export async function unchangedOf(
  context: RunContext,
  flow: Flow,
  digests: readonly { readonly mapped: Mapped; readonly digest: bigint }[],
): Promise<ReadonlySet<Mapped>> {
  const [key] = flow.table.key;
  if (key === undefined || digests.length === 0) return new Set();
  const types: Readonly<Record<string, string>> = flow.table.columns;
  const keys = digests.map(({ mapped }) => String(mapped.row[key]));
  const { rows } = await sql<{ key: string; hash: string }>`select ${sql.id(key)}::text as key, _row_hash::text as hash
    from ${sql.id(flow.table.schema, flow.table.name)}
    where source_id = ${context.run.sourceId} and _deleted_at is null and _row_hash is not null
      and ${sql.id(key)} = any (${keys}::${sql.raw(types[key] ?? 'text')}[])`.execute(context.deps.warehouse.db);
  const stored = new Map(rows.map((row) => [row.key, row.hash]));
  return new Set(
    digests.flatMap(({ mapped, digest }) => (stored.get(String(mapped.row[key])) === String(digest) ? [mapped] : [])),
  );
}
