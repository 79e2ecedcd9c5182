import { TooManyRejects } from '../../core/errors.ts';
import type { Stream } from '../../core/stream.ts';
import type { Batch } from '../../load/batch.ts';

/**
 * A run bears this many rejects whatever their share, and this share of its records whatever their number
 * (guarantee G12).
 */
const mostRejects = 10;
const largestShare = 0.01;

/** What a batch has counted. */
type Counted = Pick<Batch, 'received' | 'rejects' | 'parts' | 'badParts'> & {
  readonly stream: Pick<Stream, 'name'>;
};

/**
 * Counts what was received and rejected over all streams of a run: records, and apart from them the parts of
 * records, of which there are many more.
 */
export class Rejections {
  readonly #sums = {
    records: { received: 0, rejected: 0 },
    'parts of records': { received: 0, rejected: 0 },
  };

  /** Takes a batch into account. Throws the error that ends the run where both limits are exceeded. */
  add({ stream, received, rejects, parts, badParts }: Counted): void {
    this.#add(stream.name, 'records', received, rejects.length);
    this.#add(stream.name, 'parts of records', parts, badParts);
  }

  #add(stream: string, of: 'records' | 'parts of records', received: number, rejected: number): void {
    const sum = this.#sums[of];
    sum.received += received;
    sum.rejected += rejected;
    if (rejected === 0 || sum.rejected <= Math.max(mostRejects, largestShare * sum.received)) return;
    throw new TooManyRejects(
      `${stream}: ${sum.rejected} of ${sum.received} ${of} were rejected (a run bears ${mostRejects}, or ${largestShare * 100} %); ` +
        'they are in ops.rejects (tidemark rejects list), the checkpoint did not move',
    );
  }
}
