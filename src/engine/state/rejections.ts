import { TooManyRejects } from '../../core/errors.ts';

/**
 * A run bears this many rejects whatever their share, and this share of its records whatever their number
 * (guarantee G12).
 */
const mostRejects = 10;
const largestShare = 0.01;

/** Counts received and rejected records over all streams of a run. */
export interface Rejections {
  /** Takes a batch into account; gives the error that ends the run where both limits are exceeded. */
  add(stream: string, received: number, rejected: number): TooManyRejects | undefined;
}

export function countRejections(): Rejections {
  let received = 0;
  let rejected = 0;
  return {
    add(stream, more, bad) {
      received += more;
      rejected += bad;
      if (bad === 0 || rejected <= mostRejects || rejected <= largestShare * received) return undefined;
      return new TooManyRejects(
        `${stream}: ${rejected} of ${received} records were rejected (a run bears ${mostRejects}, or ${largestShare * 100} %); ` +
          'they are in ops.rejects (tidemark rejects list), the checkpoint did not move',
      );
    },
  };
}
