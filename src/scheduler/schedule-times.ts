import { days, hours, minutes, seconds } from '../core/time.ts';

/** Durations of the scheduler, in milliseconds. */
export interface Times {
  /** Between looks for requests; pg-boss allows no less than half a second. */
  readonly pollMs: number;
  /** Between reports of progress; a wish to stop is heard as often. */
  readonly heartbeatMs: number;
  /** After so long without an answer of the warehouse a worker stops its runs. */
  readonly leaseMs: number;
  /** Between looks for workers that died. */
  readonly reapMs: number;
  /** A request whose pipeline is held by another run waits so long before the next try. */
  readonly heldMs: number;
  /** Pauses before a scheduled request that failed of a passing cause is tried again, one for each further try. */
  readonly againMs: readonly number[];
  /** A run without progress for so long is stuck. */
  readonly stuckMs: number;
  /** Between looks for what people should hear of. */
  readonly lookMs: number;
  /** A service that ends waits so long for its runs to end in good order. */
  readonly endMs: number;
  /** Between writes of log lines. */
  readonly logMs: number;
  /** How long log lines are kept, and how long ticks and audit lines. */
  readonly keepLogMs: number;
  readonly keepMs: number;
}

export const usualTimes: Times = {
  pollMs: seconds(1),
  heartbeatMs: seconds(1),
  leaseMs: seconds(30),
  reapMs: seconds(3),
  heldMs: seconds(5),
  againMs: [minutes(5), minutes(15), minutes(30), hours(1), hours(2)],
  stuckMs: minutes(15),
  lookMs: minutes(1),
  endMs: seconds(12),
  logMs: 300,
  keepLogMs: days(90),
  keepMs: days(400),
};
