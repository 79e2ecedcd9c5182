/** One page of records becomes rows of a batch. */

import { setImmediate } from 'node:timers/promises';
import { BadData } from '../../core/errors.ts';
import type { Page, Reading } from '../../core/paging.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped, NestedList, Slice } from '../../core/stream.ts';
import { dateToInstant } from '../../core/time.ts';
import type { Batch, Reject } from '../../load/batch.ts';
import { mapRecord, type Outcome, rejectOf } from './map-record.ts';
import type { Fetched, Refusal } from './nested-lists.ts';
import type { StreamContext } from './stream-context.ts';
import { unchangedOf } from './unchanged.ts';

/** A page is worked on for so long, then answers that have come meanwhile are heard, and the next requests leave. */
const longestWorkMs = 3;
const fewRecords = 16;

/** Maps one page into the batch, fetching truncated lists of records whose content changed. `refusals`: those that the source did not give. */
export async function takePage(
  stream: StreamContext,
  batch: Batch,
  page: Page,
  reading: Reading,
  slice: Slice,
): Promise<{ readonly received: number; readonly outside: number; readonly refusals: readonly Refusal[] }> {
  const { flow } = stream;
  const fetchedAt = stream.clock();
  const wanted = inWindow(stream, page, slice);
  const refuse = (bad: BadData, record: Json, stage: Reject['stage']): void =>
    batch.reject(rejectOf(flow, bad, record, stage, { page, reading, slice }));
  const refusals: Refusal[] = [];
  const take = (outcome: Outcome, tails?: Fetched | BadData): void => {
    const bad = 'bad' in outcome ? outcome.bad : tails;
    if (bad instanceof BadData) refuse(bad, outcome.record, 'transform');
    else if ('mapped' in outcome) {
      try {
        batch.add(outcome.mapped, fetchedAt, bad?.rows, bad?.lacking);
        refusals.push(...(bad?.refusals ?? []));
        if (stream.resolves) batch.names.push(reading.id(outcome.record));
      } catch (error) {
        if (!(error instanceof BadData)) throw error;
        refuse(error, outcome.record, 'encode');
      }
    }
  };
  // A record's rows are encoded before the next record is mapped: they die young. From the first on that waits for its lists, all wait:
  // the order of the page stands.
  const waiting: Outcome[] = [];
  let rested = performance.now();
  for (const [place, record] of wanted.records.entries()) {
    if (place % fewRecords === 0 && performance.now() - rested > longestWorkMs) {
      await setImmediate();
      rested = performance.now();
    }
    const outcome = mapRecord(flow, record, slice);
    if (waiting.length > 0 || isPartial(outcome)) waiting.push(outcome);
    else take(outcome);
  }
  if (waiting.length > 0) {
    const tails = await tailsFor(stream, batch, waiting);
    for (const outcome of waiting) take(outcome, 'mapped' in outcome ? tails.get(outcome.mapped) : undefined);
  }
  return { received: wanted.records.length, outside: wanted.outside, refusals };
}

const isPartial = (outcome: Outcome): boolean =>
  'mapped' in outcome && (outcome.mapped.nestedLists?.length ?? 0) > 0;

/** The lists of those records that came in part and whose content changed, or why a record must be rejected. */
async function tailsFor(
  stream: StreamContext,
  batch: Batch,
  outcomes: readonly Outcome[],
): Promise<ReadonlyMap<Mapped, Fetched | BadData>> {
  const digests = outcomes.flatMap((outcome) => {
    if (!('mapped' in outcome) || !isPartial(outcome)) return [];
    const { mapped } = outcome;
    try {
      return [{ mapped, digest: batch.digest(mapped) }];
    } catch (error) {
      // It will be rejected when it is taken, by the same check.
      if (error instanceof BadData) return [];
      throw error;
    }
  });
  const unchanged = await unchangedOf(stream.context, stream.flow, digests);
  return new Map(
    await Promise.all(
      digests.flatMap(({ mapped }) => {
        const lacked = unchanged.get(mapped);
        const tails = mapped.nestedLists ?? [];
        const wanted =
          stream.force || lacked === undefined ? tails : tails.filter(({ child }) => lacked.includes(child));
        if (wanted.length === 0) return [];
        return [
          fetchTails(stream, mapped, wanted, lacked ?? []).then((fetched) => [mapped, fetched] as const),
        ];
      }),
    ),
  );
}

/** The lists of a record that came in part, or why the record must be rejected. */
async function fetchTails(
  stream: StreamContext,
  mapped: Mapped,
  tails: readonly NestedList[],
  lacked: readonly string[],
): Promise<Fetched | BadData> {
  try {
    return await stream.tails.fetch(mapped, tails, lacked);
  } catch (error) {
    if (error instanceof BadData) return error;
    throw error;
  }
}

/**
 * Records outside the window are dropped in a backfill, which must touch nothing else; elsewhere they are taken along: a server that
 * reads dates differently from how it writes them must not cost a row.
 */
function inWindow(
  stream: StreamContext,
  page: Page,
  slice: Slice,
): { readonly records: Page['records']; readonly outside: number } {
  const { window } = slice;
  const windows = stream.flow.windows;
  if (window === undefined || windows === undefined) return { records: page.records, outside: 0 };
  const from = window.from === undefined ? undefined : dateToInstant(window.from);
  const to = window.to === undefined ? undefined : dateToInstant(window.to);
  const inside = page.records.filter((record) => {
    const at = windows.instant(record, window.field);
    return at === undefined || ((from === undefined || at >= from) && (to === undefined || at < to));
  });
  const outside = page.records.length - inside.length;
  return { records: stream.walk.kind === 'backfill' ? inside : page.records, outside };
}
