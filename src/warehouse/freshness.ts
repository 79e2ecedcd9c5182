import { sql } from 'kysely';

/**
 * How fresh a stream is, of a row `t` of ops.streams: `at` is when the last complete walk over it began, null where there was none. A backfill speaks
 * for its window only. Everything that shows freshness uses this; `bi.data_freshness` holds the same expression.
 */
export const lastComplete = sql`lateral (
  select max(w.opened_at) as at from ops.walks w
  where w.source_id = t.source_id and w.stream = t.stream and w.status = 'done' and w.kind <> 'backfill')`;
