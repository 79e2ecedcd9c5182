/** What a checkpoint speaks for: which of the source's records were read, and by what they became rows. */

import type { Stream } from '../core/stream.ts';

export interface Coverage {
  /** As the checkpoint keeps it. */
  readonly words: string;
  /** What the words begin with that is the configuration's and the program's own, and none of the source's. */
  readonly ours: string;
  /** False where the source told only part of what records are read by. */
  readonly whole: boolean;
}

/** What a walk over all of the stream would speak for now. Throws what the source's answer asks for. */
export async function coverageOf({ windows, days }: Stream, signal: AbortSignal): Promise<Coverage> {
  const selection = windows?.scope ?? days?.scope ?? '';
  const reading = await windows?.reading?.(signal);
  if (reading === undefined) return { words: selection, ours: selection, whole: true };
  const ours = `${selection}\nread by ${reading.edition}; `;
  return { words: `${ours}${reading.words}`, ours, whole: reading.whole };
}

/**
 * Whether everything was read that is asked for, and as it would be read now; `scope` is the checkpoint's. On the word of a source that tells
 * only part of that, nothing is read again: the checkpoint then keeps the part (`closeIfLast`), and all is read when the source tells more.
 */
export const isCovered = (scope: string, { words, ours, whole }: Coverage): boolean =>
  scope === words || (!whole && scope.startsWith(ours));
