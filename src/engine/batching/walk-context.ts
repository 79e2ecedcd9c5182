import type { Stream } from '../../core/stream.ts';
import type { RunContext, Tally } from '../context/run-context.ts';
import type { Coverage } from '../state/checkpoint.ts';
import type { Walk } from '../state/walk-state.ts';
import { NestedLists } from './nested-lists.ts';

/** A walk to be read, and what is known of its stream. */
interface WalkOf {
  readonly stream: Stream;
  readonly walk: Walk;
  readonly tally: Tally;
  /** What the stream's checkpoint covers once the walk is done. */
  readonly coverage: Coverage;
  /** No walk over the stream was ever complete. */
  readonly isFirst: boolean;
  /** Whether a good version may resolve an open reject of the stream. */
  readonly resolves: boolean;
  /** A forced resync: what is read now wins over what is stored. */
  readonly force: boolean;
}

/** What the reading of a walk's slices shares. */
export interface WalkContext extends WalkOf {
  readonly context: RunContext;
  readonly nestedLists: NestedLists;
  /** Slices of the walk that are not read to their end. */
  readonly unread: { count: number };
}

/** The context of a walk that begins, or goes on, now. */
export const newWalkContext = (context: RunContext, of: WalkOf): WalkContext => ({
  ...of,
  ...{ context, unread: { count: 0 } },
  nestedLists: new NestedLists(context, of.stream),
});
