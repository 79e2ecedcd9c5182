/** HTML as text that escapes by default: whatever is put into a template is text, unless it is `Html` already. */

import { escaped } from '../../core/format.ts';

/** Markup that is safe to send as it stands. Made by `html` and `verbatim` only. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What a template takes. Null, undefined and false are nothing; lists are put one after the other. */
export type Part = Html | string | number | null | undefined | false | readonly Part[];

/**
 * A template: `html`<p>${text}</p>``. Text may stand in elements and in quoted attributes. Control characters and what would reorder the line
 * are written out visibly (`\x1b`), `& < > " '` as entities.
 */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.reduce((text, piece, at) => `${text}${rendered(parts[at - 1])}${piece}`));

/** Text of several lines: line ends and tabs stay what they are, all else as in `html`. */
export const lines = (text: string): Html =>
  new Html(
    text
      .replaceAll('\r\n', '\n')
      .split(/([\n\t])/)
      .map((piece) => (piece === '\n' || piece === '\t' ? piece : entities(escaped(piece))))
      .join(''),
  );

/** A value as JSON in a quoted attribute, for scripts: entities only, since scripts must get what was meant. */
export const data = (value: unknown): Html => new Html(entities(JSON.stringify(value)));

const rendered = (part: Part): string => {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(rendered).join('');
  return entities(escaped(String(part)));
};

const names: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const entities = (text: string): string => text.replace(/[&<>"']/g, (sign) => names[sign] ?? sign);
