/** What a checkpoint speaks for: which of the source's records were read, and by what they became rows. */

import type { Stream } from '../core/stream.ts';

export interface Coverage {
  /** As the checkpoint keeps it. */
  readonly words: string;
  /** What the words begin with that is the configuration's and the program's own, and none of the source's. */
  readonly ours: string;
  /** False where the source told only part of what records are read by. */
  readonly whole: boolean;
  /** Fields of a record that are asked for by name; undefined: all that there are. */
  readonly fields: readonly string[] | undefined;
}

/** What a walk over all of the stream would speak for now. Throws what the source's answer asks for. */
export async function coverageOf({ windows, days }: Stream, signal: AbortSignal): Promise<Coverage> {
  const selection = windows?.scope ?? days?.scope ?? '';
  const reading = await windows?.reading?.(signal);
  if (reading === undefined) return { words: selection, ours: selection, whole: true, fields: undefined };
  const ours = `${selection}\nread by ${reading.edition}; `;
  return { words: `${ours}${reading.words}`, ours, whole: reading.whole, fields: reading.fields };
}

/**
 * Whether everything was read that is asked for, and as it would be read now; `scope` and `fields` are the checkpoint's. On the word of a source that
 * tells only part of that, nothing is read again: the checkpoint then keeps the part (`closeIfLast`), and all is read when the source tells more.
 */
export const isCovered = (
  { scope, fields }: { readonly scope: string; readonly fields: readonly string[] | undefined },
  { words, ours, whole, fields: asked }: Coverage,
): boolean => (scope === words || (!whole && scope.startsWith(ours))) && !cameIntoSight(fields, asked);

/**
 * Whether a field is asked for now that was not when everything was last read, and that is no new one: it was hidden, or out of the list of fields for
 * a night. No record counts as changed by that. A new field has the highest number, and a record that gets a value in it is changed.
 */
function cameIntoSight(before: readonly string[] | undefined, now: readonly string[] | undefined): boolean {
  if (before === undefined || now === undefined) return false;
  const known = new Set(before);
  const newest = before.reduce((highest, id) => Math.max(highest, numberOf(id) ?? 0), 0);
  return now.some((id) => !known.has(id) && (numberOf(id) ?? 0) <= newest);
}

/** The number in an id such as `customfield_10016`. */
function numberOf(id: string): number | undefined {
  const digits = /\d+$/.exec(id)?.[0];
  return digits === undefined ? undefined : Number(digits);
}
