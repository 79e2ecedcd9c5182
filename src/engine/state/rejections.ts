import { TooManyRejects } from '../../core/errors.ts';

/**
 * A run bears this many rejects whatever their share, and this share of its records whatever their number
 * (guarantee G12).
 */
const mostRejects = 10;
const largestShare = 0.01;

/**
 * Counts what was received and rejected over all streams of a run: records, and apart from them the parts of
 * records, of which there are many more.
 */
export class Rejections {
  readonly #sums = { records: { received: 0, rejected: 0 }, parts: { received: 0, rejected: 0 } };

  /** Takes a batch into account; gives the error that ends the run where both limits are exceeded. */
  add(
    stream: string,
    received: number,
    rejected: number,
    of: 'records' | 'parts' = 'records',
  ): TooManyRejects | undefined {
    const sum = this.#sums[of];
    sum.received += received;
    sum.rejected += rejected;
    if (rejected === 0 || sum.rejected <= Math.max(mostRejects, largestShare * sum.received))
      return undefined;
    const what = of === 'records' ? 'records' : 'parts of records';
    return new TooManyRejects(
      `${stream}: ${sum.rejected} of ${sum.received} ${what} were rejected (a run bears ${mostRejects}, or ${largestShare * 100} %); ` +
        'they are in ops.rejects (tidemark rejects list), the checkpoint did not move',
    );
  }
}
