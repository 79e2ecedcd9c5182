/** A walk to its end: its slices, a second round over the doubtful ones, and what refusals mean. */

import { Fenced, Forbidden, Missing, passesAfter, TidemarkError, TooOld } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import type { Slice } from '../../core/stream.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { closeWalk } from '../batching/commit.ts';
import type { WalkContext } from '../batching/walk-context.ts';
import { endsRun, type Problem, where, worst } from '../context/problems.ts';
import { tell } from '../context/run-context.ts';
import { withLease } from '../state/lease-guard.ts';
import {
  beginSlice,
  hasAnswered,
  leaveSlice,
  type OpenSlice,
  partitionText,
  type SliceEnd,
  tooOld,
  unreadSlices,
} from '../state/slice-state.ts';
import { narrowCheckpoint } from '../state/walk-state.ts';
import { needsConfirmation, outcomeOf, ownersConfirming } from '../verify.ts';
import { listedOwners, removeOwner, renewOwners, skipSlice } from './partitions.ts';
import { readSlice } from './read-slice.ts';
import { type Part, splitIfLarge } from './split.ts';

/**
 * Reads every slice of a walk that is not done. Gives what kept it from being complete; throws what ends the
 * stream or the run.
 */
export async function readWalk(walking: WalkContext, clock: Date | undefined): Promise<Problem | undefined> {
  const { context, walk } = walking;
  const { db } = context.deps.warehouse;
  await narrowCheckpoint(context, walking.stream.name, walking.coverage);
  if (walk.resumed) await withRetry(() => renewOwners(walking));
  const slices = await withRetry(() => unreadSlices(db, walk));
  // The owners left in a resumed walk may be those that are gone: others answered in an earlier run.
  const answered = walk.resumed && (await withRetry(() => hasAnswered(db, walk)));
  return new WalkReader(walking, clock, answered).readAll(slices);
}

type Refused = { readonly open: OpenSlice; readonly error: Missing | Forbidden };

class WalkReader {
  readonly #walking: WalkContext;
  /** The source's clock at the beginning of the run. */
  readonly #clock: Date | undefined;
  readonly #fatal = new AbortController();
  readonly #problems: Problem[] = [];
  readonly #refused: Refused[] = [];
  /** Slices that are read again in the second round. */
  readonly #doubtful = new Set<OpenSlice>();
  /** What owners of days answered in this round: their other slices are not asked for. */
  readonly #refusals = new Map<string, Missing | Forbidden>();
  #isOver = false;
  /** Owners that answered 404 in the first round. */
  #missingOwners = 0;
  #isSecond = false;
  #answered: boolean;
  #read = 0;
  #passedBy = 0;

  constructor(walking: WalkContext, clock: Date | undefined, answered: boolean) {
    const { context } = walking;
    const signal = AbortSignal.any([context.signal, this.#fatal.signal]);
    this.#walking = { ...walking, context: { ...context, signal } };
    this.#clock = clock;
    this.#answered = answered;
  }

  async readAll(slices: readonly OpenSlice[]): Promise<Problem | undefined> {
    const { unread } = this.#walking;
    unread.count = slices.length;
    unread.waiting = slices.length;
    await this.#round(slices.map((open) => ({ open, isCut: this.#isSecond })));
    if (this.#doubtful.size > 0) {
      this.#isSecond = true;
      this.#refusals.clear();
      unread.waiting += this.#doubtful.size;
      await this.#round([...this.#doubtful].map((open) => ({ open, isCut: this.#isSecond })));
    }
    await this.#judge();
    // The only slice of a walk closes it with its last batch; two that end at once leave it to us.
    if (this.#problems.length === 0 && (this.#read !== 1 || this.#passedBy > 0))
      await withLease(this.#walking.context, (session) => closeWalk(session, this.#walking));
    return worst(this.#problems);
  }

  /**
   * Reads the parts, several at once, and what they are cut into. Throws once all that was begun has ended.
   */
  async #round(parts: readonly Part[]): Promise<void> {
    const results = await Promise.allSettled(parts.map((part) => this.#one(part)));
    const thrown = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (thrown.length === 0) return;
    const { signal } = this.#fatal;
    throw signal.aborted ? signal.reason : (thrown.find(endsRun) ?? thrown[0]);
  }

  async #one(part: Part): Promise<void> {
    const { context, unread } = this.#walking;
    const more = await context.slot(async () => {
      if (this.#isOver) return [];
      context.signal.throwIfAborted();
      unread.waiting -= 1;
      try {
        return await this.#readOrCut(part);
      } catch (error) {
        await this.#failed(part.open, error).catch((end: unknown) => {
          this.#isOver = true;
          if (endsRun(end)) this.#fatal.abort(end);
          throw end;
        });
        return [];
      }
    });
    await this.#round(more);
  }

  /** Reads a slice, or cuts it: then gives its parts. */
  async #readOrCut(part: Part): Promise<readonly Part[]> {
    const { context, stream, unread } = this.#walking;
    const { open } = part;
    const split = await splitIfLarge(this.#walking, part, this.#clock);
    if ('parts' in split) {
      unread.count += split.parts.length - 1;
      unread.waiting += split.parts.length;
      return split.parts;
    }
    const refusal = this.#refusals.get(ownerOf(open.slice));
    if (refusal !== undefined) throw refusal;
    await withRetry(() => beginSlice(context.deps.warehouse.db, open.sliceId, context.run.runId));
    const end = await readSlice(this.#walking, open, { again: this.#isSecond, count: split.count });
    this.#read += 1;
    // A read without a pass sent no request: no owner has answered.
    this.#answered ||= end.passes > 0;
    if (end.status === 'partial') this.#problems.push(partialProblem(where(stream, open.slice), end));
    return [];
  }

  /** Sorts out why a slice could not be read. Throws the error where it ends the stream. */
  async #failed(open: OpenSlice, error: unknown): Promise<void> {
    const { stream } = this.#walking;
    if (error instanceof TooOld && stream.by === 'days') return this.#tooOld(open, error);
    const isRefused = error instanceof Missing || error instanceof Forbidden;
    if (isRefused && stream.by === 'days') this.#refusals.set(ownerOf(open.slice), error);
    if (!this.#isSecond && needsConfirmation(error)) {
      this.#doubtful.add(open);
      if (!(error instanceof Missing) || !this.#lacksEndpoint(open)) return;
    } else if (isRefused && stream.partitions !== undefined) {
      this.#refused.push({ open, error });
      return;
    }
    if (!(error instanceof TidemarkError)) throw error;
    if (!(error instanceof Fenced)) await this.#leave(open, error);
    if (endsRun(error) || isRefused) throw error;
    const reason = `${where(stream, open.slice)}: ${error.message}`;
    this.#problems.push({ status: 'failed', reason, passesAfterMs: passesAfter(error) });
  }

  /** Whether enough owners lack an optional list to say that the server has none. */
  #lacksEndpoint({ slice }: OpenSlice): boolean {
    const { stream } = this.#walking;
    if (slice.partition === undefined || stream.optional !== true || stream.by === 'days' || this.#answered)
      return false;
    this.#missingOwners += 1;
    return this.#missingOwners >= ownersConfirming;
  }

  /**
   * Decides what the refusals of owners mean, by the policy. Throws the refusal that speaks for the stream.
   */
  async #judge(): Promise<void> {
    const { stream } = this.#walking;
    if (this.#refused.length === 0) return;
    const listed = await listedOwners(this.#walking);
    // If an owner failed or answered 403, a 404 of another owner does not prove that the endpoint is missing.
    const mayHave = this.#answered || this.#problems.length > 0;
    const isClosed = this.#refused.some(({ error }) => error instanceof Forbidden);
    for (const { open, error } of this.#refused) {
      const isListed = listed.has(ownerOf(open.slice));
      const isMissing = error instanceof Missing;
      const outcome = outcomeOf({
        answer: isMissing ? 'missing' : 'forbidden',
        of: 'owner',
        endpoint: stream.optional === true ? 'optional' : 'promised',
        sibling: mayHave || (isMissing && (isClosed || !isListed)),
        hasDays: false,
      });
      if (outcome === 'wait') await this.#wait(open, error);
      else if (outcome === 'gone') await this.#gone(open, error, isListed);
      else {
        await this.#leave(open, error);
        throw error;
      }
    }
  }

  /** The owner's slice stays open: the next run reads it again, and the watermark does not pass it. */
  async #wait(open: OpenSlice, error: TidemarkError): Promise<void> {
    await this.#leave(open, error);
    const reason = `${where(this.#walking.stream, open.slice)}: ${error.message}; give the permission, or leave it out of the configuration`;
    this.#problems.push({ status: 'forbidden', reason });
  }

  /**
   * Rows of an owner that is gone stay, unless the source neither lists nor refers to it and another owner
   * answers.
   */
  async #gone(open: OpenSlice, error: TidemarkError, isListed: boolean): Promise<void> {
    const { context, stream } = this.#walking;
    const { partition } = open.slice;
    const isRemoved =
      !isListed && this.#answered && partition !== undefined && (await removeOwner(this.#walking, partition));
    await skipSlice(context, open, { code: error.code, message: error.message });
    this.#passedBy += 1;
    if (isRemoved)
      tell(context, 'info', `${where(stream, open.slice)}: deleted at the source, which shows it no more`);
    else tell(context, 'warn', `${where(stream, open.slice)}: ${error.message}`);
  }

  /** Days that the source does not give any more are passed by. */
  async #tooOld(open: OpenSlice, { message }: TooOld): Promise<void> {
    const { context, stream } = this.#walking;
    await skipSlice(context, open, { code: tooOld, message });
    this.#passedBy += 1;
    tell(context, 'warn', `${where(stream, open.slice)}: ${message}`);
  }

  #leave({ sliceId }: OpenSlice, { code, message }: TidemarkError): Promise<void> {
    const { deps, run } = this.#walking.context;
    return withRetry(() =>
      leaveSlice(deps.warehouse.db, sliceId, run.runId, 'failed', { code, message }),
    ).catch(() => undefined);
  }
}

const ownerOf = ({ partition = {} }: Slice): string => partitionText(partition);

/**
 * A slice that is done only in part. What changed while it was read may stand still next time; what the
 * deletion limit held, people look at.
 */
function partialProblem(name: string, { expected, fetched, isHeld }: SliceEnd): Problem {
  if (isHeld !== true) {
    const reason = `${name}: the source says ${expected ?? 'nothing'} records, ${fetched} could be read`;
    return { status: 'partial', reason, passesAfterMs: 0 };
  }
  const list = `the list, of ${plural(fetched, 'record')}`;
  return {
    status: 'partial',
    reason: `${name}: ${list}, would have removed unbelievably many rows; nothing was removed`,
  };
}
