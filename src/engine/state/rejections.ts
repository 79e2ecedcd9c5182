import { TooManyRejects } from '../../core/errors.ts';

/** How many rejects a run bears (guarantee G12). */
export interface RejectLimits {
  readonly most: number;
  readonly share: number;
  /** The share counts from this many records on. */
  readonly sample: number;
}

export const usualLimits: RejectLimits = { most: 100, share: 0.01, sample: 200 };

/** Counts received and rejected records over all streams of a run. */
export interface Rejections {
  /** Takes a batch into account; gives the error to end the run with, if it is too much. */
  add(stream: string, received: number, rejected: number): TooManyRejects | undefined;
}

export function countRejections(limits: RejectLimits = usualLimits): Rejections {
  let received = 0;
  let rejected = 0;
  return {
    add(stream, more, bad) {
      received += more;
      rejected += bad;
      if (bad === 0) return undefined;
      const tooMany = rejected > limits.most;
      const tooLarge = received >= limits.sample && rejected > limits.share * received;
      if (!tooMany && !tooLarge) return undefined;
      return new TooManyRejects(
        `${stream}: ${rejected} of ${received} records were rejected (limit: ${limits.most} records or ${limits.share * 100} %); ` +
          'they are in ops.rejects (tidemark rejects list), the checkpoint did not move',
      );
    },
  };
}
