/**
 * Atlassian Document Format (the rich text of Jira Cloud's API v3) as plain text.
 * Node types: https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/
 */

import { isObject, type JsonObject, names, own, wordOf } from '../../../core/record-object.ts';
import type { Json } from '../../../core/request.ts';

/** Nodes nested deeper than this are left out; the editor itself allows far fewer. */
const deepest = 200;

const inline = names(
  'text hardBreak mention emoji inlineCard date status placeholder mediaInline inlineExtension',
);

/**
 * The text of a node. `inside`: that of its content; `index`: how many siblings come before it in `parent`.
 */
type Render = (inside: string, node: JsonObject, index: number, parent: JsonObject) => string;

const fromAttribute =
  (...names: readonly string[]): Render =>
  (_, node) =>
    attribute(node, ...names);
const media: Render = (_, node) => `[${attribute(node, 'alt') || 'media'}]`;
const cell: Render = (inside) => inside.replaceAll('\n', ' ');
const titled: Render = (inside, node) => [attribute(node, 'title'), inside].filter(Boolean).join('\n');

const renders: ReadonlyMap<string, Render> = new Map<string, Render>([
  ['hardBreak', () => '\n'],
  ['mention', (_, node) => attribute(node, 'text', 'id').replace(/^(?=[^@])/, '@')],
  ['emoji', fromAttribute('text', 'shortName')],
  ...['inlineCard', 'blockCard', 'embedCard'].map((type) => [type, fromAttribute('url')] as const),
  ['date', (_, node) => dayOf(attribute(node, 'timestamp'))],
  ['rule', () => '---'],
  ['media', media],
  ['mediaInline', media],
  ['listItem', (inside, _, index, parent) => hanging(listMarker(index, parent), inside)],
  ['taskItem', (inside, node) => hanging(attribute(node, 'state') === 'DONE' ? '[x] ' : '[ ] ', inside)],
  ['decisionItem', (inside) => hanging('- ', inside)],
  ['blockquote', (inside) => `> ${inside.replaceAll('\n', '\n> ')}`],
  ['tableCell', cell],
  ['tableHeader', cell],
  ['expand', titled],
  ['nestedExpand', titled],
]);

/** Also for types that are not known: their own text, then what is in them. */
const renderText: Render = (inside, node) => {
  const text = own(node, 'text');
  return (typeof text === 'string' ? text : attribute(node, 'text')) + inside;
};

/** The plain text of a document; text is returned as it is. Pure, never throws. */
export const adfText = (document: Json): string =>
  typeof document === 'string' ? document : contentText({ content: [document] }, 0).trimEnd();

/** The text of a node's content. A block begins on a line of its own; cells are divided by bars. */
const contentText = (node: JsonObject, depth: number): string => {
  const content = own(node, 'content');
  if (!Array.isArray(content) || depth > deepest) return '';
  let text = '';
  let index = 0;
  let afterBlock = false;
  for (const child of content) {
    if (!isObject(child)) continue;
    const type = wordOf(own(child, 'type'));
    const render = renders.get(type) ?? renderText;
    const isBlock = !inline.has(type);
    const divider = render === cell ? ' | ' : isBlock || afterBlock ? '\n' : '';
    text += (index === 0 ? '' : divider) + render(contentText(child, depth + 1), child, index, node);
    afterBlock = isBlock;
    index += 1;
  }
  return text;
};

/** The first of these attributes that is text or a number, as text; '' where there is none. */
const attribute = (node: JsonObject, ...names: readonly string[]): string => {
  const attributes = own(node, 'attrs');
  if (!isObject(attributes)) return '';
  const values = names.map((name) => own(attributes, name));
  return String(
    values.find((value) => typeof value === 'number' || (typeof value === 'string' && value)) ?? '',
  );
};

const listMarker = (index: number, list: JsonObject): string =>
  own(list, 'type') === 'orderedList' ? `${(Number(attribute(list, 'order')) || 1) + index}. ` : '- ';

/** A list item: its further lines are indented to its first. */
const hanging = (marker: string, text: string): string =>
  marker + text.replaceAll('\n', `\n${' '.repeat(marker.length)}`);

/** The UTC day of epoch milliseconds as text; the text itself where it is none. */
const dayOf = (timestamp: string): string => {
  const date = new Date(timestamp === '' ? Number.NaN : Number(timestamp));
  return Number.isNaN(date.getTime()) ? timestamp : date.toISOString().slice(0, 10);
};
