import type { Stream } from '../../core/stream.ts';
import type { RunContext, Tally } from '../context/run-context.ts';
import type { Coverage } from '../state/coverage.ts';
import type { Walk } from '../state/walk-state.ts';
import { NestedLists } from './nested-lists.ts';

/** What the reading of a walk's slices shares. */
export interface WalkContext {
  readonly context: RunContext;
  readonly stream: Stream;
  readonly walk: Walk;
  readonly tally: Tally;
  /** What the stream's checkpoint covers once the walk is done. */
  readonly coverage: Coverage;
  /** No walk over the stream was ever complete. */
  readonly isFirst: boolean;
  readonly nestedLists: NestedLists;
  /** Whether a good version may resolve an open reject of the stream. */
  readonly resolves: boolean;
  /** Slices of the walk that are not read to their end. */
  readonly unread: { count: number };
  /** A forced resync: what is read now wins over what is stored. */
  readonly force: boolean;
}

/** The context of a walk that begins, or goes on, now. */
export const newWalkContext = (
  context: RunContext,
  of: Omit<WalkContext, 'context' | 'nestedLists' | 'unread'>,
): WalkContext => ({
  ...of,
  context,
  nestedLists: new NestedLists(context, of.stream),
  unread: { count: 0 },
});
