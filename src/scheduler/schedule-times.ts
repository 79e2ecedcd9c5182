import { days, hours, minutes, seconds } from '../core/time.ts';

/** How long things take and wait, in milliseconds. All of it is measured by the database clock or by one that only grows. */
export interface Times {
  /** Between looks for work, and for schedules that came due. */
  readonly pollMs: number;
  /** Between signs of life of a worker; a wish to stop is heard as often. */
  readonly heartbeatMs: number;
  /** A worker that gave no sign for so long has lost its runs. */
  readonly leaseMs: number;
  /** Between looks for workers that died. */
  readonly reapMs: number;
  /** A run whose worker died for the second time waits so long, for the third twice as long; the first is taken up at once. */
  readonly backoffMs: number;
  /** A run whose pipeline is held by another one waits so long before it tries again. */
  readonly heldMs: number;
  /** So long after each failure of what may pass the schedule's request is asked for again; after as many tries more it is left. */
  readonly againMs: readonly number[];
  /** A run that does not get ahead for so long is stuck. */
  readonly stuckMs: number;
  /** Between looks for what people are to be told. */
  readonly lookMs: number;
  /** A service that ends waits so long for its runs to end in good order; then it leaves them to whoever takes them up. */
  readonly endMs: number;
  /** Lines of the log are written so often. */
  readonly logMs: number;
  /** How long log lines, and how long ticks and audit lines are kept. */
  readonly keepLogMs: number;
  readonly keepMs: number;
}

export const usualTimes: Times = {
  pollMs: seconds(1),
  heartbeatMs: seconds(1),
  leaseMs: seconds(30),
  reapMs: seconds(3),
  backoffMs: seconds(30),
  heldMs: seconds(5),
  againMs: [minutes(5), minutes(15), minutes(30), hours(1), hours(2)],
  stuckMs: minutes(15),
  lookMs: minutes(1),
  endMs: seconds(12),
  logMs: 300,
  keepLogMs: days(90),
  keepMs: days(400),
};

/** So many deaths of its worker a run survives: with the next one it is parked as failed. */
export const mostLosses = 3;
