import { setImmediate } from 'node:timers/promises';
import { BadData } from '../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../core/paging.ts';
import { RawRecord } from '../core/raw-record.ts';
import type { Json } from '../core/request.ts';
import type { Flow, Mapped, Slice } from '../core/stream.ts';
import type { Row } from '../core/table.ts';
import { dateToInstant, type Instant } from '../core/time.ts';
import { readingOf } from '../extract/reading.ts';
import { type Batch, newBatch, type Reject } from '../load/batch.ts';
import { type BinaryWriter, binaryWriter } from '../load/binary.ts';
import { type Gathering, gather } from '../load/gather.ts';
import { type Load, type Loaded, load, settings } from '../load/load.ts';
import type { Scope } from '../load/scope.ts';
import type { Session } from '../load/session.ts';
import { writeThrough } from '../load/through.ts';
import { type RunContext, type Tally, tallyBatch, tell, tellProgress } from './context.ts';
import { givenTo } from './given.ts';
import { mapRecord, type Outcome, rawEncoders, rejectOf } from './map.ts';
import { scopeText } from './plan.ts';
import { countBatch } from './runs.ts';
import { type Tails, unchangedOf } from './tails.ts';
import { closeIfLast, endSlice, type OpenSlice, type SliceEnd, type Walk } from './walks.ts';

/** Rows and bytes at which a batch is committed. */
const batchRecords = 5_000;
const batchBytes = 4 << 20;
/** Where there are two batches at a time, one on its way into the warehouse and one being filled, both are smaller. */
const partBytes = 1 << 20;
const partRecords = 500;

/** A page is worked on for so long, then answers that have come meanwhile are heard, and the next requests leave. */
const longestWorkMs = 3;
const fewRecords = 16;

export interface StreamContext {
  readonly context: RunContext;
  readonly flow: Flow;
  readonly walk: Walk;
  readonly tally: Tally;
  readonly tails: Tails;
  /** Whether a good version may resolve an open reject of the stream. */
  readonly resolves: boolean;
  /** How many slices of the walk are not read to their end. */
  readonly unread: { count: number };
  /** A forced resync: what is read now wins over what is stored. */
  readonly force: boolean;
  readonly clock: () => Instant;
}

/**
 * Reads one slice to its end: pages → rows → batches; the last batch carries the slice's receipt and, where it is the walk's last slice,
 * the checkpoint. When it fails half-way, what was read until then is committed without them, and the error is thrown.
 */
export async function readSlice(stream: StreamContext, open: OpenSlice): Promise<SliceEnd> {
  const { context, flow, tally } = stream;
  const reading = await openReading(stream, open);
  // The memory of a batch is used again by the next one, in this slice and in those after it.
  const newWriter = (): BinaryWriter => context.writers.pop() ?? binaryWriter(batchBytes + (1 << 20));
  const raw = rawEncoders(flow, open.slice);
  let writer = newWriter();
  let spare: BinaryWriter | undefined;
  let batch: Batch | undefined;
  let received = 0;
  let outside = 0;
  let announced = 0;
  let end: WalkEnd;
  const whole = flow.absent === 'replaced';
  const roomy = !flow.table.entity && Object.keys(flow.children).length === 0;
  let gathering: Gathering | undefined;
  // While one batch is on its way into the warehouse the next one is read.
  let underWay: Promise<unknown> | undefined;
  try {
    for (;;) {
      const step = await reading.pages.next();
      if (step.done === true) {
        end = step.value;
        break;
      }
      batch ??= newBatch(flow, writer);
      const taken = await takePage(stream, batch, step.value, reading, open.slice, raw);
      received += taken.received;
      outside += taken.outside;
      tally.received += taken.received;
      if (step.value.total !== undefined && step.value.total > announced && open.slice.window === undefined) {
        tally.announced = (tally.announced ?? 0) + step.value.total - announced;
        announced = step.value.total;
      }
      tellProgress(context, flow, tally);
      // The last slice of a walk has the warehouse for itself: reading need not wait for it. Of several slices one is always being read.
      const isAlone = !whole && stream.unread.count <= 1;
      const isFull = batch.received >= (isAlone ? partRecords : batchRecords);
      if (!isFull && batch.bytes < (isAlone || (whole && roomy) ? partBytes : batchBytes)) continue;
      if (whole && !roomy) continue;
      const full = batch;
      batch = undefined;
      await underWay;
      if (!whole) underWay = commit(stream, full, open);
      else {
        gathering ??= await gatherFor(stream, open.slice);
        underWay = gathering.add(full);
      }
      underWay.catch(() => undefined);
      if (!whole && !isAlone) await underWay;
      else [writer, spare] = [spare ?? newWriter(), writer];
      if (whole) {
        const tooMany = context.rejections.add(flow.stream.name, full.received, full.rejects.length);
        if (tooMany !== undefined) throw tooMany;
      }
    }
    await underWay;
  } catch (error) {
    const isLost = await underWay?.then(
      () => false,
      () => true,
    );
    await gathering?.close();
    // Days are replaced as a whole or not at all: readers never see half of one. What follows a batch that the warehouse refused stays out, too.
    if (batch !== undefined && flow.stream.days === undefined && isLost !== true) await salvage(stream, batch, open);
    throw error;
  } finally {
    // The paging may still have a request under way when we leave early.
    await reading.pages.return?.(undefined as never).catch(() => undefined);
  }
  if (outside > 0 && stream.walk.kind !== 'backfill')
    tell(context, 'info', `${flow.stream.name}: ${outside} records lay outside the window that was asked for`);
  const sliceEnd: SliceEnd = {
    status: end.matched ? 'done' : 'partial',
    expected: end.expected,
    fetched: end.fetched,
    landed: received,
    passes: end.passes,
  };
  const loaded = await commit(stream, batch ?? newBatch(flow, writer), open, sliceEnd, gathering).finally(() =>
    gathering?.close(),
  );
  context.writers.push(writer, ...(spare === undefined ? [] : [spare]));
  if (loaded.braked) {
    tell(
      context,
      'warn',
      `${flow.stream.name}: the list would have removed unbelievably many rows; nothing was removed`,
    );
    return { ...sliceEnd, status: 'partial' };
  }
  return sliceEnd;
}

/** Rows of a scope that holds nothing yet go straight into the table; others are staged, to be compared at the end. */
async function gatherFor({ context, flow, force }: StreamContext, slice: Slice): Promise<Gathering> {
  const { pool } = context.deps.warehouse;
  const merge = { sourceId: context.run.sourceId, runId: context.run.runId, force };
  const how = { settings, signal: context.lease.signal };
  return (await writeThrough(pool, flow, scopeOf(flow, slice), merge, how)) ?? (await gather(pool, flow));
}

async function openReading({ context, flow }: StreamContext, open: OpenSlice): Promise<Reading> {
  const { stream } = flow;
  if (stream.read !== undefined) return stream.read(open.slice, givenTo(context, flow, open.sliceId), context.signal);
  if (stream.walk === undefined) throw new Error(`${stream.name} can neither be walked nor read`);
  return readingOf(context.deps.source.http, await stream.walk(open.slice, context.signal), context.signal);
}

/** Maps one page into the batch, fetching truncated lists of records whose content changed. */
async function takePage(
  stream: StreamContext,
  batch: Batch,
  page: Page,
  reading: Reading,
  slice: Slice,
  raw: ReturnType<typeof rawEncoders>,
): Promise<{ received: number; outside: number }> {
  const { flow } = stream;
  const fetchedAt = stream.clock();
  const wanted = inWindow(stream, page, slice);
  const refuse = (bad: BadData, record: Json, stage: Reject['stage']): void =>
    batch.reject(rejectOf(bad, record, stage, { page, reading, slice }));
  const take = (outcome: Outcome, tails?: Readonly<Record<string, readonly Row[]>> | BadData): void => {
    const bad = 'bad' in outcome ? outcome.bad : tails;
    if (bad instanceof BadData) refuse(bad, outcome.record, 'transform');
    else if ('mapped' in outcome) {
      try {
        batch.add(outcome.mapped, fetchedAt, bad);
        if (stream.resolves) batch.landed(reading.id(outcome.record));
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
    if (record instanceof RawRecord) {
      const encode = raw(record);
      if (encode !== undefined && batch.addRaw(record, encode, fetchedAt)) {
        if (stream.resolves) batch.landed(reading.id(record));
        continue;
      }
    }
    const outcome = mapRecord(flow, record, slice);
    if (waiting.length > 0 || isPartial(outcome)) waiting.push(outcome);
    else take(outcome);
  }
  if (waiting.length > 0) {
    const tails = await tailsFor(stream, batch, waiting);
    for (const outcome of waiting) take(outcome, 'mapped' in outcome ? tails.get(outcome.mapped) : undefined);
  }
  return { received: wanted.records.length, outside: wanted.outside };
}

const isPartial = (outcome: Outcome): boolean => 'mapped' in outcome && (outcome.mapped.tails?.length ?? 0) > 0;

/** The lists of those records that came in part and whose content changed, or why a record must be rejected. */
async function tailsFor(
  stream: StreamContext,
  batch: Batch,
  outcomes: readonly Outcome[],
): Promise<ReadonlyMap<Mapped, Readonly<Record<string, readonly Row[]>> | BadData>> {
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
  const unchanged = stream.force ? new Set() : await unchangedOf(stream.context, stream.flow, digests);
  return new Map(
    await Promise.all(
      digests
        .filter(({ mapped }) => !unchanged.has(mapped))
        .map(async ({ mapped }) => [mapped, await fetchTails(stream, mapped)] as const),
    ),
  );
}

/** The lists of a record that came in part, or why the record must be rejected. */
async function fetchTails(
  stream: StreamContext,
  mapped: Mapped,
): Promise<Readonly<Record<string, readonly Row[]>> | BadData> {
  try {
    return await stream.tails.fetch(mapped.tails ?? []);
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
  const windows = stream.flow.stream.windows;
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

/** Commits a batch; with `end` it is the slice's last one. */
async function commit(
  stream: StreamContext,
  batch: Batch,
  open: OpenSlice,
  end?: SliceEnd,
  before?: Gathering,
): Promise<Loaded> {
  const { context, flow, tally, walk } = stream;
  const tooMany = context.rejections.add(flow.stream.name, batch.received, batch.rejects.length);
  const closing = tooMany === undefined ? end : undefined;
  const replaces = closing?.status === 'done' && flow.absent === 'replaced' ? scopeOf(flow, open.slice) : undefined;
  const how: Load = {
    stream: flow.stream.name,
    sourceId: context.run.sourceId,
    runId: context.run.runId,
    force: stream.force,
    resolves: stream.resolves,
    ...(replaces === undefined ? {} : { replaces }),
    close: (session, loaded) => close(stream, open, session, loaded, closing),
    guard: (session) => context.lease.guard(session),
  };
  // An orderly stop lets the batch in hand finish; only the loss of the lease ends it.
  const loaded = await load(context.deps.warehouse.pool, batch, how, context.lease.signal, before);
  tallyBatch(tally, loaded);
  if (tooMany !== undefined) throw tooMany;
  if (closing !== undefined) {
    tally.slices += 1;
    stream.unread.count -= 1;
    tally.expected = tally.expected === null || closing.expected === null ? null : tally.expected + closing.expected;
    tally.fetched += closing.fetched;
    tally.landed += closing.landed;
  }
  return loaded;

  async function close(
    at: StreamContext,
    of: OpenSlice,
    session: Session,
    result: Loaded,
    receipt: SliceEnd | undefined,
  ): Promise<void> {
    if (receipt !== undefined) {
      const status = result.braked ? ('partial' as const) : receipt.status;
      await endSlice(session, of.sliceId, at.context.run.runId, { ...receipt, status });
      // Two slices that end at once may each take the other for unread: `finishWalk` then closes the walk behind them.
      if (at.unread.count <= 1)
        await closeIfLast(session, walk, {
          sourceId: at.context.run.sourceId,
          stream: at.flow.stream.name,
          runId: at.context.run.runId,
          scope: scopeText(at.flow.stream),
        });
    }
    await countBatch(session, at.context.run, at.flow.stream.name, result);
  }
}

/** What a complete reading of a slice speaks for. */
function scopeOf(flow: Flow, { partition = {}, window }: Slice): Scope {
  const { days } = flow.stream;
  if (days === undefined || window?.from === undefined || window.to === undefined) return { equal: partition };
  return { equal: partition, days: { column: days.column, from: window.from, to: window.to } };
}

/** What was read before a failure is kept: it is true, and the next run has less to do. */
async function salvage(stream: StreamContext, batch: Batch, open: OpenSlice): Promise<void> {
  if (batch.received > 0 && !stream.context.lease.signal.aborted) await commit(stream, batch, open);
}
