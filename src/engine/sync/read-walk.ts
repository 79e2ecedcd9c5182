/** A walk to its end: its slices, a second round over the doubtful ones, and what refusals mean. */

import { Fenced, Forbidden, Missing, passesAfter, TidemarkError, TooOld } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import type { Slice } from '../../core/stream.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { closeWalk } from '../batching/commit.ts';
import type { WalkContext } from '../batching/walk-context.ts';
import { endsRun, type Problem, where, worst } from '../context/problems.ts';
import { tell } from '../context/run-context.ts';
import {
  beginSlice,
  leaveSlice,
  type OpenSlice,
  partitionText,
  type SliceEnd,
  slicesOfWalk,
  tooOld,
} from '../state/slice-state.ts';
import { narrowCheckpoint } from '../state/walk-state.ts';
import { needsConfirmation, outcomeOf, ownersConfirming } from '../verify.ts';
import { ownersOf, removeOwner } from './partitions.ts';
import { readSlice } from './read-slice.ts';
import { splitIfLarge } from './split.ts';

/**
 * Reads every slice of a walk that is not done. Gives what kept it from being complete; throws what ends the
 * stream or the run, once all that was begun has ended.
 */
export async function readWalk(walking: WalkContext): Promise<Problem | undefined> {
  const { context, stream, walk, unread } = walking;
  await narrowCheckpoint(context, stream.name, walking.coverage);
  const slices = await withRetry(() => slicesOfWalk(context.deps.warehouse.db, walk));
  const open = slices.filter(({ state }) => state === 'unread');
  unread.count = open.length;
  const isAnswered = slices.some(({ state }) => state === 'read');
  const reader = new WalkReader(walking, isAnswered);
  await reader.readAll(open);
  if (reader.problems.length > 0) return worst(reader.problems);
  // The last slice closes the walk with its last batch; of two that end at once neither does.
  await context.lease.transaction((session) => closeWalk(session, walking));
  return undefined;
}

class WalkReader {
  readonly problems: Problem[] = [];
  readonly #walking: WalkContext;
  /** Aborted by the first error that ends the stream or the run: the slices beside it are stopped. */
  readonly #fatal = new AbortController();
  readonly #refused: { readonly open: OpenSlice; readonly error: Missing | Forbidden }[] = [];
  /** Slices that are read a second time. */
  readonly #doubtful: OpenSlice[] = [];
  /** What owners of days answered in this round: their other slices are not requested. */
  readonly #refusals = new Map<string, Missing | Forbidden>();
  #isSecond = false;
  /** Owners that answered 404 in the first round. */
  #missingOwners = 0;
  /** Whether the source has answered for a slice, in this run or one before it. */
  #answered: boolean;

  constructor(walking: WalkContext, isAnswered: boolean) {
    this.#answered = isAnswered;
    const { context } = walking;
    const signal = AbortSignal.any([context.signal, this.#fatal.signal]);
    this.#walking = { ...walking, context: { ...context, signal } };
  }

  async readAll(slices: readonly OpenSlice[]): Promise<void> {
    await this.#round(slices);
    this.#isSecond = true;
    this.#refusals.clear();
    await this.#round(this.#doubtful);
    if (this.#refused.length > 0) await this.#judge();
  }

  /** Reads the slices, several at once, and what they are cut into. */
  async #round(slices: readonly OpenSlice[]): Promise<void> {
    await Promise.all(slices.map((open) => this.#one(open)));
    this.#fatal.signal.throwIfAborted();
  }

  async #one(open: OpenSlice): Promise<void> {
    const { context } = this.#walking;
    const parts = await context.slot(async () => {
      try {
        context.signal.throwIfAborted();
        return await this.#readOrCut(open);
      } catch (error) {
        await this.#failed(open, error).catch((end: unknown) => this.#fatal.abort(end));
        return [];
      }
    });
    await Promise.all(parts.map((part) => this.#one(part)));
  }

  /** Reads a slice, or cuts it: then gives its parts. */
  async #readOrCut(open: OpenSlice): Promise<readonly OpenSlice[]> {
    const { context, stream } = this.#walking;
    const { parts, count } = await splitIfLarge(this.#walking, open);
    if (parts !== undefined) return parts;
    const refusal = this.#refusals.get(ownerOf(open.slice));
    if (refusal !== undefined) throw refusal;
    await withRetry(() => beginSlice(context.deps.warehouse.db, open.sliceId, context.run.runId));
    const end = await readSlice(this.#walking, open, { again: this.#isSecond, count });
    // A read without a pass sent no request: no owner has answered.
    this.#answered ||= end.passes > 0;
    if (end.status === 'partial') this.problems.push(partialProblem(where(stream, open.slice), end));
    return [];
  }

  /** Sorts out why a slice could not be read. Throws the error where it ends the stream. */
  async #failed(open: OpenSlice, error: unknown): Promise<void> {
    const { context, stream } = this.#walking;
    const isRefused = error instanceof Missing || error instanceof Forbidden;
    if (error instanceof TooOld && stream.by === 'days') {
      // Days that the source does not give any more are passed by.
      await this.#leave(open, error, 'absent');
      return tell(context, 'warn', `${where(stream, open.slice)}: ${error.message}`);
    }
    if (isRefused && stream.by === 'days') this.#refusals.set(ownerOf(open.slice), error);
    if (!this.#isSecond && needsConfirmation(error)) {
      this.#doubtful.push(open);
      if (!(error instanceof Missing) || !this.#lacksEndpoint()) return;
    } else if (isRefused && stream.partitions !== undefined) {
      this.#refused.push({ open, error });
      return;
    }
    if (!(error instanceof TidemarkError)) throw error;
    if (!(error instanceof Fenced)) await this.#leave(open, error);
    if (endsRun(error) || isRefused) throw error;
    const reason = `${where(stream, open.slice)}: ${error.message}`;
    this.problems.push({ status: 'failed', reason, passesAfterMs: passesAfter(error) });
  }

  /** Whether enough owners lack an optional list to say that the server has none. */
  #lacksEndpoint(): boolean {
    const { partitions, optional, by } = this.#walking.stream;
    if (partitions === undefined || optional !== true || by === 'days' || this.#answered) return false;
    this.#missingOwners += 1;
    return this.#missingOwners >= ownersConfirming;
  }

  /** Decides what the refusals of owners mean, by the policy. Throws the refusal that speaks for the stream. */
  async #judge(): Promise<void> {
    const { context, stream } = this.#walking;
    const { deps, run } = context;
    const owners = await ownersOf({ deps, sourceId: run.sourceId, stream }, 'listed');
    const listed = new Set(owners.map(partitionText));
    // If an owner failed or answered 403, a 404 of another owner does not prove that the endpoint is missing.
    const mayHave = this.#answered || this.problems.length > 0;
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
      const text = `${where(stream, open.slice)}: ${error.message}`;
      // Rows of an owner that is gone stay, unless the source neither lists nor refers to it and another answers.
      const isRemoved =
        outcome === 'gone' && !isListed && this.#answered && (await removeOwner(this.#walking, open.slice));
      await this.#leave(open, error, outcome === 'gone' ? 'absent' : 'failed');
      if (outcome === 'wait') {
        const reason = `${text}; give the permission, or leave it out of the configuration`;
        this.problems.push({ status: 'forbidden', reason });
      } else if (outcome !== 'gone') throw error;
      else if (isRemoved) tell(context, 'info', `${where(stream, open.slice)}: deleted at the source`);
      else tell(context, 'warn', text);
    }
  }

  /** Failed: the next run reads it again, and the watermark does not pass it. Absent: the walk goes on without it. */
  async #leave(
    { sliceId }: OpenSlice,
    error: TidemarkError,
    as: 'failed' | 'absent' = 'failed',
  ): Promise<void> {
    const { deps, run } = this.#walking.context;
    const why = { code: error instanceof TooOld ? tooOld : error.code, message: error.message };
    await withRetry(() => leaveSlice(deps.warehouse.db, sliceId, run.runId, as, why)).catch(() => undefined);
  }
}

const ownerOf = ({ partition }: Slice): string => partitionText(partition);

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
