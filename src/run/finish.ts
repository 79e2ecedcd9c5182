import {
  AuthFailed,
  Fenced,
  Forbidden,
  HasNone,
  Interrupted,
  Misconfigured,
  Missing,
  OutOfTime,
  SeemsMissing,
  TidemarkError,
  TooManyRejects,
  TooOld,
  Unreachable,
  WarehouseFull,
} from '../core/errors.ts';
import type { StreamStatus } from '../core/run.ts';
import type { Flow, Slice } from '../core/stream.ts';
import { plural } from '../core/words.ts';
import { patiently } from '../warehouse/patience.ts';
import { tell } from './context.ts';
import { fenced } from './fenced.ts';
import { type Gone, isUnavailable, saysNothing } from './gone.ts';
import { isNewsOfOwner } from './last-word.ts';
import { passBy, renewOwners } from './owners.ts';
import { readSlice } from './read-slice.ts';
import { wasRead } from './runs.ts';
import { ShownLess } from './shown-less.ts';
import { beginSlice, hasAnswered, leaveSlice, type OpenSlice, type SliceEnd, tooOld, unreadSlices } from './slices.ts';
import { type Part, splitIfLarge, whole } from './split.ts';
import type { StreamContext } from './stream-context.ts';
import { closeIfLast } from './walks.ts';

/** Why a stream is not ok though it went on. */
export type Problem = { readonly status: StreamStatus; readonly reason: string };

/** Errors that end the whole run, not just the stream they happened in. */
export const endsRun = (error: unknown): boolean =>
  error instanceof AuthFailed ||
  error instanceof Fenced ||
  error instanceof Interrupted ||
  error instanceof Misconfigured ||
  error instanceof OutOfTime ||
  error instanceof Unreachable ||
  error instanceof TooManyRejects ||
  error instanceof WarehouseFull ||
  !(error instanceof TidemarkError);

/** Reads every slice of a walk that is not done, several at once. */
export async function finishWalk(stream: StreamContext, clock: Date | undefined): Promise<Problem | undefined> {
  const { context, flow, walk } = stream;
  const { db } = context.deps.warehouse;
  if (walk.resumed) await renewOwners(stream);
  const slices = await patiently(() => unreadSlices(db, walk));
  if (slices.length === 0) {
    await closeWalk(stream);
    return undefined;
  }
  const problems: Problem[] = [];
  const gone: Gone[] = [];
  /** Those of whose owners it is news that they have no list, or that show less than was counted: one bad answer is none. */
  const doubtful = new Set<OpenSlice>();
  let again = false;
  let over = 0;
  const before = stream.tally.slices;
  // What is left of a walk may be what is gone: that others have the list is known from the run before.
  let answered = walk.resumed && (await patiently(() => hasAnswered(db, walk)));
  const failure = new AbortController();
  const work = async (part: Part): Promise<void> => {
    const { open } = part;
    const more = await context.slot(async () => {
      if (failure.signal.aborted) return [];
      if (context.signal.aborted) throw context.signal.reason;
      stream.unread.waiting -= 1;
      try {
        const split = await splitIfLarge(stream, part, clock);
        if ('parts' in split) {
          stream.unread.count += split.parts.length - 1;
          stream.unread.waiting += split.parts.length;
          return split.parts;
        }
        await patiently(() => beginSlice(db, open.sliceId, context.run.runId));
        const end = await readSlice(stream, open, { again, count: split.count });
        // Of an owner that has no entities yet in its days nothing is asked: nobody has answered.
        answered ||= end.passes > 0;
        if (end.status === 'partial') problems.push({ status: 'partial', reason: partly(flow, open.slice, end) });
        return [];
      } catch (error) {
        if (error instanceof TooOld && flow.stream.days !== undefined) {
          // Left over from an earlier run: there is nothing to wait for. A server's own 410 says nothing of days.
          await passBy(stream, open, { code: tooOld, message: error.message });
          tell(context, 'warn', `${where(flow, open.slice)}: ${error.message}`);
          over += 1;
          return [];
        }
        const isGone = error instanceof Missing && flow.stream.parents !== undefined;
        if (isGone) gone.push({ open, error });
        const isOfAll = isGone && isUnavailable(flow, gone, answered, false);
        if (!isOfAll && !again && (await isDoubtful(stream, open.slice, error))) {
          doubtful.add(open);
          return [];
        }
        if (isGone && !isOfAll) return [];
        const verdict = await sliceFailed(stream, open, error);
        if (verdict === 'ends the stream') {
          failure.abort();
          throw error;
        }
        problems.push(verdict);
        return [];
      }
    });
    await Promise.all(more.map(work));
  };
  stream.unread.count = slices.length;
  stream.unread.waiting = slices.length;
  const workAll = async (all: readonly OpenSlice[]): Promise<void> => {
    const results = await Promise.allSettled(all.map((open) => work({ open, ...whole })));
    const thrown = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (thrown.length > 0) throw thrown.find(endsRun) ?? thrown[0];
  };
  await workAll(slices);
  // What seemed missing before the first list came: by now its answer says what it is.
  if (stream.tally.slices > before)
    for (const { open, error } of gone) if (error instanceof SeemsMissing) doubtful.add(open);
  if (doubtful.size > 0) {
    again = true;
    gone.splice(0, gone.length, ...gone.filter(({ open }) => !doubtful.has(open)));
    stream.unread.waiting += doubtful.size;
    await workAll([...doubtful]);
  }
  const read = stream.tally.slices - before;
  const [first] = gone;
  if (first !== undefined && isUnavailable(flow, gone, answered, true)) throw first.error;
  // Of few owners it may be they who are gone; where none ever had it, night after night nothing would be read and nothing said.
  if (first !== undefined && flow.stream.promised && !answered && !(await wasRead(db, context.run.sourceId, flow)))
    throw first.error;
  for (const one of gone) {
    if (saysNothing(flow, one.error)) problems.push(await leaveUnread(stream, one));
    else await closeAbsent(stream, one);
  }
  const passed = problems.every((problem) => problem.status === 'forbidden');
  // A slice that is the only one closes its walk itself; of several, two that end at once leave that to us, halves of one slice included.
  if ((read > 1 || problems.length > 0 || over > 0) && passed) await closeWalk(stream);
  return worst(problems);
}

/** Whether the slice is to be asked for a second time before the error is believed. */
const isDoubtful = async (stream: StreamContext, slice: Slice, error: unknown): Promise<boolean> =>
  error instanceof HasNone || error instanceof ShownLess || (await isNewsOfOwner(stream, slice, error));

/** Leaves the slice for the next run. */
async function leaveUnread({ context, flow }: StreamContext, { open, error }: Gone): Promise<Problem> {
  const { db } = context.deps.warehouse;
  await patiently(() => leaveSlice(db, open.sliceId, context.run.runId, 'failed', error));
  return { status: 'failed', reason: `${where(flow, open.slice)}: ${error.message}` };
}

/** Closes the slice of an owner that is gone; the rows stay until a census looks at the owner. */
async function closeAbsent(stream: StreamContext, { open, error }: Gone): Promise<void> {
  const { context, flow } = stream;
  await passBy(stream, open, error);
  await closeWalk(stream);
  tell(context, 'warn', `${where(flow, open.slice)}: ${error.message}`);
}

/** Closes the walk if every slice of it is done; a walk without any slice (no owners) is. */
async function closeWalk(stream: StreamContext): Promise<void> {
  const { context, flow, walk } = stream;
  await fenced(context, async ({ trx }) => {
    await closeIfLast({ trx }, walk, {
      sourceId: context.run.sourceId,
      stream: flow.stream.name,
      runId: context.run.runId,
      coverage: stream.coverage,
    });
  });
}

const worst = (problems: readonly Problem[]): Problem | undefined => {
  const first = problems.find((problem) => problem.status === 'failed') ?? problems[0];
  if (first === undefined || problems.length === 1) return first;
  return { status: first.status, reason: `${first.reason} (and ${problems.length - 1} more slices)` };
};

/** Why a slice is done only in part. */
const partly = (flow: Flow, slice: Slice, { expected, fetched, braked }: SliceEnd): string =>
  `${where(flow, slice)}: ${
    braked === true
      ? `the list, of ${plural(fetched, 'record')}, would have removed unbelievably many rows; nothing was removed`
      : `the source says ${expected ?? 'nothing'} records, ${fetched} could be read`
  }`;

/** The stream and the slice of it, for people. */
function where({ stream }: Flow, slice: Slice): string {
  const parts = [
    ...Object.entries(slice.partition ?? {}).map(([name, value]) => `${name} ${value}`),
    ...(slice.window === undefined
      ? []
      : [`${slice.window.from?.toISOString() ?? '…'}/${slice.window.to?.toISOString() ?? '…'}`]),
  ];
  return parts.length === 0 ? stream.name : `${stream.name} (${parts.join(', ')})`;
}

/**
 * What a failed slice means for its stream: a problem to report while other slices go on, or the end of the stream.
 */
async function sliceFailed(
  stream: StreamContext,
  open: OpenSlice,
  error: unknown,
): Promise<Problem | 'ends the stream'> {
  const { context, flow } = stream;
  const { db } = context.deps.warehouse;
  if (!(error instanceof TidemarkError)) return 'ends the stream';
  const facts = { code: error.code, message: error.message };
  if (!(error instanceof Fenced))
    await patiently(() => leaveSlice(db, open.sliceId, context.run.runId, 'failed', facts)).catch(() => undefined);
  if (endsRun(error)) return 'ends the stream';
  if (error instanceof Forbidden && flow.stream.parents !== undefined) {
    // Days must go on for the other owners: what was refused is asked for again by the next walk (`slicesSince`).
    if (flow.stream.days !== undefined) await passBy(stream, open, error);
    return { status: 'forbidden', reason: `${where(flow, open.slice)}: ${error.message}` };
  }
  if (error instanceof Missing || error instanceof Forbidden) return 'ends the stream';
  return { status: 'failed', reason: `${where(flow, open.slice)}: ${error.message}` };
}
