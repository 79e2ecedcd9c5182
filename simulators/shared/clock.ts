/** The simulator's own time: what its `Date` header says and what its writes are stamped with. */
export interface Clock {
  now(): Date;
  /** Moves the clock by `ms` (negative: back). */
  advance(ms: number): void;
  set(to: Date): void;
}

/** A clock that stands still until it is moved: every answer and every write of a test is repeatable. */
export const standingClock = (start: Date): Clock => {
  let at = start.getTime();
  return {
    now: () => new Date(at),
    advance: (ms) => {
      at += ms;
    },
    set: (to) => {
      at = to.getTime();
    },
  };
};

/** A clock that runs with the machine's, and can be put forward or back. */
export const runningClock = (): Clock => {
  let ahead = 0;
  return {
    now: () => new Date(Date.now() + ahead),
    advance: (ms) => {
      ahead += ms;
    },
    set: (to) => {
      ahead = to.getTime() - Date.now();
    },
  };
};
