/** One round over slices of a walk: each is read, or it is found out why it cannot be. */

import {
  Fenced,
  Forbidden,
  HasNone,
  Missing,
  passesAfter,
  TidemarkError,
  TooOld,
} from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import type { Slice, Stream } from '../../core/stream.ts';
import { patiently } from '../../warehouse/with-retry.ts';
import type { StreamContext } from '../batching/stream-context.ts';
import { endsRun, type Problem, where } from '../context/problems.ts';
import { tell } from '../context/run-context.ts';
import {
  beginSlice,
  leaveSlice,
  type OpenSlice,
  partitionText,
  type SliceEnd,
  tooOld,
} from '../state/slice-state.ts';
import { isNewsOfOwner } from './confirm-missing.ts';
import { ShownLess } from './fewer-rows.ts';
import { type Gone, isUnavailable } from './gone-partition.ts';
import { passBy } from './partitions.ts';
import { readSlice } from './read-slice.ts';
import { type Part, splitIfLarge, whole } from './split.ts';

/** What the rounds over the slices of one walk have found; each adds to it. */
export interface Findings {
  readonly problems: Problem[];
  /** Slices whose owners have no such list, or are no more. */
  gone: readonly Gone[];
  /** What those said whose lists are closed to us. */
  readonly shut: Forbidden[];
  /** Slices to be asked for once more: that there is no list or nothing in it is news, or it showed less than was counted. One bad answer is none. */
  readonly doubtful: Set<OpenSlice>;
  /** What owners of days have said in this round: they have many slices, and for the others of them it stands. */
  readonly refusals: Map<string, Missing | Forbidden>;
  /** Some slice was answered, in this run or in one before it. */
  answered: boolean;
  /** Slices that are left for good: the source does not tell their days any more. */
  over: number;
}

/** How a round is read. */
export interface Round {
  /** It is the second: what is said now is believed. */
  readonly again: boolean;
  /** The source's clock at the start of the run. */
  readonly clock: Date | undefined;
}

/**
 * Reads the slices, several at once, and what they are cut into. Throws what ends the stream, once all that is under way has ended: what ends the run
 * stops it, beside all else what has begun is read to its end.
 */
export async function readRound(
  { context, ...rest }: StreamContext,
  slices: readonly OpenSlice[],
  findings: Findings,
  round: Round,
): Promise<void> {
  const fatal = new AbortController();
  let isOver = false;
  const signal = AbortSignal.any([context.signal, fatal.signal]);
  const stream: StreamContext = { ...rest, context: { ...context, signal } };
  const readAll = async (parts: readonly Part[]): Promise<void> => {
    const results = await Promise.allSettled(parts.map(read));
    const thrown = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (thrown.length === 0) return;
    // Those that were stopped for it say that they were asked to stop.
    throw fatal.signal.aborted ? fatal.signal.reason : (thrown.find(endsRun) ?? thrown[0]);
  };
  const read = async (part: Part): Promise<void> => {
    const more = await context.slot(async () => {
      if (isOver) return [];
      if (signal.aborted) throw signal.reason;
      stream.unread.waiting -= 1;
      try {
        return await readPart(stream, part, findings, round);
      } catch (error) {
        await settle(stream, part.open, error, findings, round).catch((end: unknown) => {
          isOver = true;
          if (endsRun(end)) fatal.abort(end);
          throw end;
        });
        return [];
      }
    });
    await readAll(more);
  };
  await readAll(slices.map((open) => ({ open, ...whole })));
}

/** Reads a slice, or cuts it: then its parts are to be read. */
async function readPart(
  stream: StreamContext,
  part: Part,
  findings: Findings,
  { again, clock }: Round,
): Promise<readonly Part[]> {
  const { context, flow, unread } = stream;
  const { open } = part;
  const split = await splitIfLarge(stream, part, clock);
  if ('parts' in split) {
    unread.count += split.parts.length - 1;
    unread.waiting += split.parts.length;
    return split.parts;
  }
  const refusal = findings.refusals.get(ownerOf(open.slice));
  if (refusal !== undefined) throw refusal;
  await patiently(() => beginSlice(context.deps.warehouse.db, open.sliceId, context.run.runId));
  const end = await readSlice(stream, open, { again, count: split.count });
  // Of an owner that has no entities yet in its days nothing is asked: nobody has answered.
  findings.answered ||= end.passes > 0;
  if (end.status === 'partial') findings.problems.push(partOf(flow, open.slice, end));
  return [];
}

/** Finds what it means that a slice could not be read. Throws the error where it ends the stream. */
async function settle(
  stream: StreamContext,
  open: OpenSlice,
  error: unknown,
  findings: Findings,
  { again }: Round,
): Promise<void> {
  const { context, flow } = stream;
  if (error instanceof TooOld && flow.days !== undefined) {
    // Left over from an earlier run: there is nothing to wait for. A server's own 410 says nothing of days.
    await passBy(stream, open, { code: tooOld, message: error.message });
    tell(context, 'warn', `${where(flow, open.slice)}: ${error.message}`);
    findings.over += 1;
    return;
  }
  const isRefused = error instanceof Forbidden || error instanceof Missing;
  const isGone = error instanceof Missing && flow.partitions !== undefined;
  if (isGone) findings.gone = [...findings.gone, { open, error }];
  const isOfAll = isGone && isUnavailable(flow, findings.gone, findings.answered, false);
  const isNews = !isOfAll && !again && (await isDoubtful(stream, open.slice, error));
  // A closed door is the owner's. What is not there may be these days alone, unless that is to be asked again.
  const isOfOwner = isRefused && (again || isNews || error instanceof Forbidden);
  if (isOfOwner && flow.days !== undefined) findings.refusals.set(ownerOf(open.slice), error);
  if (isNews) {
    findings.doubtful.add(open);
    return;
  }
  if (isGone && !isOfAll) return;
  if (error instanceof Forbidden) findings.shut.push(error);
  findings.problems.push(await problemOf(stream, open, error));
}

const ownerOf = ({ partition = {} }: Slice): string => partitionText(partition);

/** Whether the slice is to be asked for a second time before the error is believed. */
const isDoubtful = async (stream: StreamContext, slice: Slice, error: unknown): Promise<boolean> =>
  error instanceof HasNone || error instanceof ShownLess || (await isNewsOfOwner(stream, slice, error));

/** What a slice that failed is reported as while others go on. Throws the error where it ends the stream. */
async function problemOf(stream: StreamContext, open: OpenSlice, error: unknown): Promise<Problem> {
  const { context, flow } = stream;
  const { db } = context.deps.warehouse;
  if (!(error instanceof TidemarkError)) throw error;
  const facts = { code: error.code, message: error.message };
  if (!(error instanceof Fenced))
    await patiently(() => leaveSlice(db, open.sliceId, context.run.runId, 'failed', facts)).catch(
      () => undefined,
    );
  if (endsRun(error)) throw error;
  if (error instanceof Forbidden && flow.partitions !== undefined) {
    // Days must go on for the other owners: what was refused is asked for again by the next walk (`slicesSince`).
    if (flow.days !== undefined) await passBy(stream, open, error);
    const reason = `${where(flow, open.slice)}: ${error.message}; give the permission, or leave it out of the configuration`;
    return { status: 'forbidden', reason };
  }
  if (error instanceof Missing || error instanceof Forbidden) throw error;
  return {
    status: 'failed',
    reason: `${where(flow, open.slice)}: ${error.message}`,
    passesAfterMs: passesAfter(error),
  };
}

/** A slice that is done only in part. What changed while it was read may stand still when it is read again; what the brake held, people look at. */
function partOf(flow: Stream, slice: Slice, { expected, fetched, braked }: SliceEnd): Problem {
  const place = where(flow, slice);
  if (braked === true) {
    const list = `the list, of ${plural(fetched, 'record')}`;
    return {
      status: 'partial',
      reason: `${place}: ${list}, would have removed unbelievably many rows; nothing was removed`,
    };
  }
  const reason = `${place}: the source says ${expected ?? 'nothing'} records, ${fetched} could be read`;
  return { status: 'partial', reason, passesAfterMs: 0 };
}
