/** How wide text is in a terminal, and the words that every part of the program uses for people. */

export {
  clock,
  count,
  duration,
  escaped,
  minute,
  plural,
  relative,
  withoutSecrets,
} from '../core/format.ts';

const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** How many columns of a terminal the text takes: combined characters count once, East Asian ones and emoji twice. */
export function width(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += wide.test(segment) ? 2 : 1;
  return columns;
}

/** At most `columns` wide, cut with an ellipsis. */
export function clip(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const next = width(segment);
    if (used + next > columns - 1) break;
    kept += segment;
    used += next;
  }
  return columns > 0 ? `${kept}…` : '';
}
