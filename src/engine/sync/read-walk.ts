/** A walk to its end: its slices, several at once, and what refusals of owners mean. */

import { Fenced, Forbidden, Missing, passesAfter, TidemarkError, TooOld } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import { closeWalk, type WalkContext, type Walking } from '../batching/commit.ts';
import { NestedLists } from '../batching/nested-lists.ts';
import { tell } from '../context/run-context.ts';
import { endsRun, type Problem, where, worst } from '../context/stream-in-run.ts';
import { narrowCheckpoint } from '../state/checkpoint.ts';
import { beginSlice, endSlice, type OpenSlice, type SliceEnd, slicesOf } from '../state/walk-state.ts';
import { confirmed, outcomeOf } from '../verify.ts';
import { splitIfLarge } from './cut.ts';
import { ownersOf, removeOwner } from './owners.ts';
import { readSlice } from './read-slice.ts';

/**
 * Reads every slice of a walk that is not done. Gives what kept it from being complete; throws what ends the
 * stream or the run, once all that was begun has ended.
 */
export async function readWalk(of: Walking): Promise<Problem | undefined> {
  const { context, stream, walk, coverage } = of;
  // Where the source has no part in what is read, the checkpoint cannot say more than this run reads.
  if (coverage.words !== coverage.ours)
    await context.lease.transaction((session) =>
      narrowCheckpoint(session, context.run.sourceId, stream.name, coverage),
    );
  const slices = await withRetry(() => slicesOf(context.deps.warehouse.db, walk.walkId));
  const open = slices.filter(({ state }) => state === 'unread');
  const walking = { ...of, nestedLists: new NestedLists(of), unread: { count: open.length } };
  const isAnswered = slices.some(({ state }) => state === 'read');
  const problems = await new WalkReader(walking, isAnswered).read(open);
  if (problems.length > 0) return worst(problems);
  // The last slice closes the walk with its last batch; of two that end at once neither does.
  await context.lease.transaction((session) => closeWalk(session, walking));
  return undefined;
}

/** An owner that was refused, confirmed by a second request, and its slices. */
interface Refused {
  readonly error: Missing | Forbidden;
  readonly slices: readonly OpenSlice[];
}

class WalkReader {
  readonly #problems: Problem[] = [];
  /** By owner. */
  readonly #refused = new Map<string, Refused>();
  readonly #walking: WalkContext;
  /** Aborted by the first error that ends the stream or the run: the slices beside it are stopped. */
  readonly #fatal = new AbortController();
  /** Whether the source has answered for a slice, in this run or one before it. */
  #answered: boolean;

  constructor(walking: WalkContext, isAnswered: boolean) {
    this.#answered = isAnswered;
    const { context } = walking;
    const signal = AbortSignal.any([context.signal, this.#fatal.signal]);
    this.#walking = { ...walking, context: { ...context, signal } };
  }

  async read(slices: readonly OpenSlice[]): Promise<readonly Problem[]> {
    await this.#readAll(slices);
    this.#fatal.signal.throwIfAborted();
    if (this.#refused.size > 0) await this.#judge();
    return this.#problems;
  }

  /** Reads the slices, and what they are cut into. */
  async #readAll(slices: readonly OpenSlice[]): Promise<void> {
    const { context } = this.#walking;
    const read = async (open: OpenSlice): Promise<readonly OpenSlice[]> => {
      try {
        context.signal.throwIfAborted();
        return await this.#readOrCut(open);
      } catch (error) {
        await this.#failed(open, error).catch((end: unknown) => this.#fatal.abort(end));
        return [];
      }
    };
    await Promise.all(slices.map(async (open) => this.#readAll(await context.slot(() => read(open)))));
  }

  /** Reads a slice, or cuts it: then gives its parts. An answer in doubt is requested a second time. */
  async #readOrCut(open: OpenSlice): Promise<readonly OpenSlice[]> {
    const { context, stream } = this.#walking;
    const { parts, count } = await splitIfLarge(this.#walking, open);
    if (parts !== undefined) return parts;
    const refused = this.#refused.get(open.owner);
    if (refused !== undefined) throw refused.error;
    await withRetry(() => beginSlice(context.deps.warehouse.db, open.sliceId, context.run.runId));
    const end = await confirmed((doubt) => readSlice(this.#walking, open, count, doubt));
    // A read without a pass sent no request: no owner has answered.
    this.#answered ||= end.passes > 0;
    if (end.status === 'partial') this.#problems.push(partialProblem(where(stream, open.slice), end));
    return [];
  }

  /** Sorts out why a slice could not be read. Throws the error where it ends the stream. */
  async #failed(open: OpenSlice, error: unknown): Promise<void> {
    const { context, stream } = this.#walking;
    if (!(error instanceof TidemarkError)) throw error;
    const reason = `${where(stream, open.slice)}: ${error.message}`;
    if (error instanceof TooOld) {
      await this.#leave(open, error, 'absent');
      return tell(context, 'warn', reason);
    }
    const isRefused = error instanceof Missing || error instanceof Forbidden;
    if (isRefused && stream.partitions !== undefined) {
      const { slices = [] } = this.#refused.get(open.owner) ?? {};
      this.#refused.set(open.owner, { error, slices: [...slices, open] });
      return;
    }
    if (!(error instanceof Fenced)) await this.#leave(open, error, 'failed');
    if (endsRun(error) || isRefused) throw error;
    this.#problems.push({ status: 'failed', reason, passesAfterMs: passesAfter(error) });
  }

  /** Decides what the refusals of owners mean, by the policy. Throws the refusal that speaks for the stream. */
  async #judge(): Promise<void> {
    const { stream } = this.#walking;
    const owners = await ownersOf(this.#walking);
    const listed = new Set(owners.flatMap((one) => (one.isListed ? one.owner : [])));
    // If an owner failed or answered 403, a 404 of another owner does not prove that the endpoint is missing.
    const mayHave = this.#answered || this.#problems.length > 0;
    const isClosed = [...this.#refused.values()].some(({ error }) => error instanceof Forbidden);
    for (const [owner, refused] of this.#refused) {
      const isMissing = refused.error instanceof Missing;
      const isListed = listed.has(owner);
      const outcome = outcomeOf({
        answer: isMissing ? 'missing' : 'forbidden',
        of: 'owner',
        endpoint: stream.optional === true ? 'optional' : 'promised',
        sibling: mayHave || (isMissing && (isClosed || !isListed)),
        hasDays: false,
      });
      if (outcome !== 'gone' && outcome !== 'wait') throw refused.error;
      for (const open of refused.slices)
        await this.#settle(open, refused.error, outcome, this.#answered && !isListed);
    }
  }

  /**
   * An owner that waits is read again by the next run. One that is gone is passed by; its rows stay, unless the
   * source neither lists nor refers to it and another one answers (`isUnlisted`).
   */
  async #settle(
    open: OpenSlice,
    error: TidemarkError,
    outcome: 'gone' | 'wait',
    isUnlisted: boolean,
  ): Promise<void> {
    const { context, stream } = this.#walking;
    const isRemoved = outcome === 'gone' && isUnlisted && (await removeOwner(this.#walking, open.slice));
    await this.#leave(open, error, outcome === 'gone' ? 'absent' : 'failed');
    const name = where(stream, open.slice);
    const reason = `${name}: ${error.message}`;
    const next = 'give the permission, or leave it out of the configuration';
    if (outcome === 'wait') this.#problems.push({ status: 'forbidden', reason: `${reason}; ${next}` });
    else if (isRemoved) tell(context, 'info', `${name}: deleted at the source`);
    else tell(context, 'warn', reason);
  }

  /** Failed: the next run reads it again, and the watermark does not pass it. Absent: the walk goes on without it. */
  async #leave(
    { sliceId }: OpenSlice,
    { code, message }: TidemarkError,
    status: 'failed' | 'absent',
  ): Promise<void> {
    const { deps, run } = this.#walking.context;
    const end = () => endSlice(deps.warehouse.db, sliceId, run.runId, { status, code, message });
    await withRetry(end).catch(() => undefined);
  }
}

/**
 * A slice that is done only in part. What changed while it was read may stand still next time; what the
 * deletion limit held, people look at.
 */
function partialProblem(name: string, { expected, fetched, isHeld }: SliceEnd): Problem {
  const held = `the list, of ${plural(fetched, 'record')}, would have removed unbelievably many rows; nothing was removed`;
  const short = `the source says ${expected ?? 'nothing'} records, ${fetched} could be read`;
  const reason = `${name}: ${isHeld ? held : short}`;
  return { status: 'partial', reason, passesAfterMs: isHeld ? undefined : 0 };
}
