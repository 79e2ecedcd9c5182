import { TooManyRejects } from '../../core/errors.ts';

/**
 * A run bears this many rejects whatever their share, and this share of its records whatever their number
 * (guarantee G12).
 */
const mostRejects = 10;
const largestShare = 0.01;

/** Counts received and rejected records over all streams of a run. */
export class Rejections {
  #received = 0;
  #rejected = 0;

  /** Takes a batch into account; gives the error that ends the run where both limits are exceeded. */
  add(stream: string, received: number, rejected: number): TooManyRejects | undefined {
    this.#received += received;
    this.#rejected += rejected;
    if (rejected === 0 || this.#rejected <= Math.max(mostRejects, largestShare * this.#received))
      return undefined;
    return new TooManyRejects(
      `${stream}: ${this.#rejected} of ${this.#received} records were rejected (a run bears ${mostRejects}, or ${largestShare * 100} %); ` +
        'they are in ops.rejects (tidemark rejects list), the checkpoint did not move',
    );
  }
}
