/**
 * A row whose record came without some of its lists says so in its hash: it differs from the hash of the record by one bit for each child that
 * is lacking. So the record counts as changed when it comes with them, and as unchanged when it comes without them once more.
 */

import type { Stream } from '../core/stream.ts';
import { bitsOf, childrenOf } from './layout.ts';

/** The hash of a row that lacks these children. */
export const lackingHash = (stream: Stream, hash: bigint, lacking: readonly string[]): bigint =>
  hash ^ BigInt(bitsOf(childrenOf(stream.children), lacking));

/** The children that a stored row lacks of the record that has this hash; undefined where it is of another record. */
export function lackedIn(stream: Stream, stored: bigint, hash: bigint): readonly string[] | undefined {
  const children = childrenOf(stream.children);
  const bits = stored ^ hash;
  if (bits < 0n || bits >= 1n << BigInt(children.length)) return undefined;
  return children.flatMap(([name], i) => (((bits >> BigInt(i)) & 1n) === 1n ? [name] : []));
}
