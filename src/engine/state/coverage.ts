/** What a checkpoint covers: which records were read, and by which fields and mapping they became rows. */

import { plural } from '../../core/format.ts';
import type { Stream } from '../../core/stream.ts';

export interface Coverage {
  /** As the checkpoint keeps it. */
  readonly words: string;
  /**
   * What the words begin with that is the configuration's and the program's own, and none of the source's.
   */
  readonly ours: string;
  /** False where the source gave only part of what records are read by. */
  readonly whole: boolean;
  /** Fields of a record that are asked for by name; undefined: all that there are. */
  readonly fields: readonly string[] | undefined;
}

/**
 * What a walk over all of the stream would cover now. `before`: the checkpoint's fields; where the source's
 * list lacks some of them it is requested again, because one answer may leave some out.
 */
export async function coverageOf(
  { windows, days }: Stream,
  signal: AbortSignal,
  before: readonly string[] | null = null,
): Promise<Coverage> {
  const selection = windows?.scope ?? days?.scope ?? '';
  const first = await windows?.reading?.(signal);
  const reading = lacks(first?.fields, before) ? await windows?.reading?.(signal, true) : first;
  if (reading === undefined) return { words: selection, ours: selection, whole: true, fields: undefined };
  const ours = `${selection}${readBy}${reading.edition}; `;
  return { words: `${ours}${reading.words}`, ours, whole: reading.whole, fields: reading.fields };
}

/**
 * Why everything is to be read again that was read once, for people; undefined where it was read as it is
 * asked for now. `scope` and `fields` are the checkpoint's. Where the source gives only part of
 * that, nothing is read again: the checkpoint then keeps the part (`closeIfLast`), and all is read when the
 * source gives more.
 */
export function whyAgain(
  { scope, fields }: { readonly scope: string; readonly fields: readonly string[] | null },
  { words, ours, whole, fields: asked }: Coverage,
): string | undefined {
  if (selectionOf(scope) !== selectionOf(words)) return 'what is to be read was configured anew';
  if (!scope.startsWith(ours)) return 'it now makes more of a record than when it was read';
  if (whole && scope !== words)
    return scope === ours
      ? 'some of it was read while the source gave only part of it'
      : 'the source has other fields of a kind that decides what its records become';
  const [first, ...more] = cameIntoSight(fields, asked);
  if (first === undefined) return undefined;
  return `${first}${more.length === 0 ? '' : ` and ${plural(more.length, 'other field')}`} came into sight`;
}

const readBy = '\nread by ';
const selectionOf = (scope: string): string =>
  scope.slice(0, scope.includes(readBy) ? scope.lastIndexOf(readBy) : undefined);

/**
 * Fields that are asked for now and were not when everything was last read, and that are no new ones: they
 * were hidden, or out of the list of fields for a night. No record counts as changed by that. A new field has
 * the highest number, and a record that gets a value in it is changed.
 */
function cameIntoSight(
  before: readonly string[] | null,
  now: readonly string[] | undefined,
): readonly string[] {
  if (before === null || now === undefined) return [];
  const old = new Set(before);
  const newest = before.reduce((highest, id) => Math.max(highest, numberOf(id) ?? 0), 0);
  return now.filter((id) => !old.has(id) && (numberOf(id) ?? 0) <= newest);
}

/** Whether fields of the checkpoint are no longer listed. Those after a minus were not requested. */
const lacks = (now: readonly string[] | undefined, before: readonly string[] | null): boolean =>
  now !== undefined && before?.some((id) => !id.startsWith('-') && !now.includes(id)) === true;

/** The number in an id such as `customfield_10016`. */
function numberOf(id: string): number | undefined {
  const digits = /\d+$/.exec(id)?.[0];
  return digits === undefined ? undefined : Number(digits);
}
