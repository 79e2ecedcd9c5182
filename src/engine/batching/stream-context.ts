import type { Stream } from '../../core/stream.ts';
import type { Instant } from '../../core/time.ts';
import type { RunContext, Tally } from '../context/run-context.ts';
import type { Coverage } from '../state/coverage.ts';
import type { Walk } from '../state/walk-state.ts';
import { type Tails, tailsOf } from './nested-lists.ts';

/** What the reading of a stream's slices shares. */
export interface StreamContext {
  readonly context: RunContext;
  readonly flow: Stream;
  readonly walk: Walk;
  readonly tally: Tally;
  /** What the stream's checkpoint speaks for once the walk is done. */
  readonly coverage: Coverage;
  readonly tails: Tails;
  /** Whether a good version may resolve an open reject of the stream. */
  readonly resolves: boolean;
  /** How many slices of the walk are not read to their end, and how many of them nobody has begun to read. */
  readonly unread: { count: number; waiting: number };
  /** A forced resync: what is read now wins over what is stored. */
  readonly force: boolean;
  readonly clock: () => Instant;
}

/** The context of a walk that begins, or goes on, now. */
export const newStreamContext = (
  context: RunContext,
  of: Pick<StreamContext, 'flow' | 'walk' | 'tally' | 'coverage' | 'resolves' | 'force' | 'clock'>,
): StreamContext => ({ ...of, context, tails: tailsOf(context, of.flow), unread: { count: 0, waiting: 0 } });
