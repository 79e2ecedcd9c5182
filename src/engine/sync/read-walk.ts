/** A walk to its end: its slices, several at once, and what refusals of owners mean. */

import { Fenced, Forbidden, Missing, passesAfter, TidemarkError, TooOld } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { minutes } from '../../core/time.ts';
import { withRetry } from '../../warehouse/with-retry.ts';
import type { WalkRun } from '../batching/commit.ts';
import { NestedLists } from '../batching/nested-lists.ts';
import { sliceContext } from '../batching/slice-context.ts';
import { leavingOut } from '../context/deps.ts';
import { endsRun, type Problem, tell, where, worst } from '../context/run-context.ts';
import { closeIfLast, narrowCheckpoint } from '../state/checkpoint.ts';
import { beginSlice, endSlice, type OpenSlice, type SliceEnd, slicesOf } from '../state/walk-state.ts';
import { confirmed, outcomeOf } from '../verify.ts';
import { readAll, splitIfLarge } from './cut.ts';
import { ownersOf, removeOwner } from './owners.ts';
import { readSlice } from './read-slice.ts';

/**
 * Reads every slice of a walk that is not done. Gives what kept it from being complete; throws what ends the
 * stream or the run, once all that was begun has ended.
 */
export async function readWalk(of: Omit<WalkRun, 'nestedLists' | 'unread'>): Promise<Problem | undefined> {
  const { db, lease, sourceId, stream, walk, coverage } = of;
  // Where the source has no part in what is read, the checkpoint cannot say more than this run reads.
  if (coverage.mapping !== '')
    await lease.transaction((session) => narrowCheckpoint(session, sourceId, stream.name, coverage));
  const slices = await withRetry(() => slicesOf(db, walk.walkId));
  const open = slices.filter(({ state }) => state === 'unread');
  const window = slices[0]?.slice.window;
  const nestedLists = new NestedLists(of, window?.field === 'updated' ? window.from : undefined);
  const walking = { ...of, nestedLists, unread: { count: open.length, ending: 0 } };
  const isAnswered = slices.some(({ state }) => state === 'read');
  const reader = new WalkReader(walking, isAnswered);
  const problems = await reader.read(open);
  if (problems.length > 0) return worst(problems);
  if (reader.left > 0) {
    const runs = Math.ceil(slices.length / Math.max(1, open.length - reader.left));
    const reason = `in turn: ${reader.left} of ${plural(slices.length, 'part')} left to the next runs; all are read within ${plural(runs, 'run')} like this one`;
    return { status: 'ok', reason };
  }
  // The last slice closes the walk with its last batch; of two that end at once neither does.
  await lease.transaction((session) => closeIfLast(session, walking));
  return undefined;
}

class WalkReader {
  readonly #problems: Problem[] = [];
  /** Slices whose owner refused them (404, 403), confirmed by a second request. */
  readonly #refused: { readonly open: OpenSlice; readonly error: Missing | Forbidden }[] = [];
  readonly #walking: WalkRun;
  /** Slices that are left to the next run. */
  left = 0;
  /** Owners of which this run began a slice, and when it began the first one (`performance.now()`). */
  readonly #begun = new Set<string>();
  #since = 0;
  /** Whether the source has answered for a slice, in this run or one before it. */
  #answered: boolean;

  constructor(walking: WalkRun, isAnswered: boolean) {
    this.#answered = isAnswered;
    this.#walking = walking;
  }

  async read(slices: readonly OpenSlice[]): Promise<readonly Problem[]> {
    await readAll(this.#walking, slices, (open, signal) =>
      this.#readOrCut({ ...this.#walking, signal }, open).catch((error) => this.#failed(open, error)),
    );
    if (this.#refused.length > 0) await this.#judge();
    return this.#problems;
  }

  /** Reads a slice, or cuts it: then gives its parts. An answer in doubt is requested a second time. */
  async #readOrCut(walking: WalkRun, open: OpenSlice): Promise<readonly OpenSlice[]> {
    if (open.isPart !== true && !(await this.#begins(walking, open))) return [];
    const { parts, count } = await splitIfLarge(walking, open);
    if (parts !== undefined) return parts;
    const refused = this.#refused.find((one) => one.open.owner === open.owner);
    if (refused !== undefined) throw refused.error;
    await withRetry(() => beginSlice(walking.db, open.sliceId, walking.runId));
    const end = await confirmed((doubts) => readSlice(walking, open, count, doubts));
    // A read without a pass sent no request: no owner has answered.
    this.#answered ||= end.passes > 0;
    if (end.status === 'partial') this.#problems.push(partialProblem(where(walking.stream, open.slice), end));
    return [];
  }

  /** Whether this run begins the slice. A run begins one owner at least. Once its turn is over it only finishes the owners that it began. */
  async #begins(walking: WalkRun, { slice, sliceId, owner }: OpenSlice): Promise<boolean> {
    const { stream, tally, turn } = walking;
    const isLeft = (): boolean => {
      if (turn === undefined || this.#begun.size === 0 || this.#begun.has(owner)) return false;
      const requests = Math.max(tally.requests, tally.expected);
      const used = { requests, minutes: (performance.now() - this.#since) / minutes(1) };
      return used[turn.of] >= turn.most;
    };
    const expected = isLeft() ? 0 : await stream.requests?.(slice, sliceContext(walking, stream, sliceId));
    // Others may have begun meanwhile.
    if (isLeft()) {
      this.left += 1;
      return false;
    }
    tally.expected += expected ?? 1;
    if (this.#begun.size === 0) this.#since = performance.now();
    this.#begun.add(owner);
    return true;
  }

  /** Sorts out why a slice could not be read. Throws the error where it ends the stream. */
  async #failed(open: OpenSlice, error: unknown): Promise<readonly []> {
    if (!(error instanceof TidemarkError) || error instanceof Fenced) throw error;
    const isRefused = error instanceof Missing || error instanceof Forbidden;
    if (error instanceof TooOld) tell(this.#walking, 'warn', await this.#leave(open, error, 'absent'));
    else if (isRefused && this.#walking.stream.partitions !== undefined) this.#refused.push({ open, error });
    else {
      const reason = await this.#leave(open, error, 'failed');
      if (endsRun(error) || isRefused) throw error;
      this.#problems.push({ status: 'failed', reason, passesAfterMs: passesAfter(error) });
    }
    return [];
  }

  /** Decides what the refusals of owners mean, by the policy. Throws the refusal that speaks for the stream. */
  async #judge(): Promise<void> {
    const { stream } = this.#walking;
    const owners = await ownersOf(this.#walking);
    const listed = new Set(owners.flatMap((one) => (one.isListed ? one.owner : [])));
    // If an owner failed or answered 403, a 404 of another owner does not prove that the endpoint is missing.
    const mayHave = this.#answered || this.#problems.length > 0;
    const isClosed = this.#refused.some(({ error }) => error instanceof Forbidden);
    for (const { open, error } of this.#refused) {
      const isMissing = error instanceof Missing;
      const isListed = listed.has(open.owner);
      const outcome = outcomeOf({
        answer: isMissing ? 'missing' : 'forbidden',
        of: 'owner',
        endpoint: stream.optional === true ? 'optional' : 'promised',
        sibling: mayHave || (isMissing && (isClosed || !isListed)),
        wasThere: false,
      });
      if (outcome === 'gone') await this.#passBy(open, error, this.#answered && !isListed);
      else if (outcome === 'wait') await this.#waitFor(open, error);
      else throw error;
    }
  }

  /** The owner is read again by the next run. */
  async #waitFor(open: OpenSlice, error: TidemarkError): Promise<void> {
    const { deps, stream } = this.#walking;
    const next = leavingOut(deps, stream, open.slice.partition);
    const reason = `${await this.#leave(open, error, 'failed')}; ${next}`;
    this.#problems.push({ status: 'forbidden', reason });
  }

  /**
   * The owner is gone: the walk goes on without it. Its rows stay, unless the source neither lists nor refers
   * to it and another one answers (`isUnlisted`).
   */
  async #passBy(open: OpenSlice, error: TidemarkError, isUnlisted: boolean): Promise<void> {
    const isRemoved = isUnlisted && (await removeOwner(this.#walking, open.slice));
    const reason = await this.#leave(open, error, 'absent');
    const name = where(this.#walking.stream, open.slice);
    if (isRemoved) tell(this.#walking, 'info', `${name}: deleted at the source`);
    else tell(this.#walking, 'warn', reason);
  }

  /**
   * Failed: the next run reads it again, and the watermark does not pass it. Absent: the walk goes on without
   * it. Gives the reason for people.
   */
  async #leave(open: OpenSlice, error: TidemarkError, status: 'failed' | 'absent'): Promise<string> {
    const { db, runId, stream } = this.#walking;
    const end = { status, code: error.code, message: error.message } as const;
    await withRetry(() => endSlice(db, open.sliceId, runId, end)).catch(() => undefined);
    return `${where(stream, open.slice)}: ${error.message}`;
  }
}

/**
 * A slice that is done only in part. What changed while it was read may stand still next time; what the
 * deletion limit held, people look at.
 */
function partialProblem(name: string, { expected, read, isHeld }: SliceEnd): Problem {
  const held = `the list, of ${plural(read, 'record')}, would have removed unbelievably many rows; nothing was removed`;
  const short = `the source says ${expected ?? 'nothing'} records, ${read} could be read`;
  const reason = `${name}: ${isHeld ? held : short}`;
  return { status: 'partial', reason, passesAfterMs: isHeld ? undefined : 0 };
}
