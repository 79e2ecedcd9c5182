/**
 * HTML as text that escapes by default: whatever is put into a template is text, unless it is `Html` already.
 */

import { escaped } from '../../core/format.ts';

/** Markup that is safe to send. Made by `html` and `lines` only. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What a template takes. Null, undefined and false are nothing; the parts of a list are joined. */
export type HtmlPart = Html | string | number | null | undefined | false | readonly HtmlPart[];

/**
 * A template: `html`<p>${text}</p>``. Text may be put into elements and quoted attributes. Control characters
 * and characters that
 * reorder a line are written out (`\x1b`), `& < > " '` as entities.
 */
export const html = (strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html =>
  new Html(strings.reduce((text, piece, at) => `${text}${rendered(parts[at - 1])}${piece}`));

/** Text of several lines: line ends and tabs are kept, everything else is as in `html`. */
export const lines = (text: string): Html =>
  new Html(
    text
      .replaceAll('\r\n', '\n')
      .split(/([\n\t])/)
      .map((piece) => (piece === '\n' || piece === '\t' ? piece : entities(escaped(piece))))
      .join(''),
  );

const rendered = (part: HtmlPart): string => {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(rendered).join('');
  return entities(escaped(String(part)));
};

const entity: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const entities = (text: string): string => text.replace(/[&<>"']/g, (found) => entity[found] ?? '&#39;');
