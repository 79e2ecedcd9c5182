/**
 * Atlassian Document Format (the rich text of Jira Cloud's API v3) as plain text.
 * Node types: https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/
 */

import { isObject, type JsonObject, names, own, wordOf } from '../../../core/record.ts';
import type { Json } from '../../../core/stream.ts';

/** Nodes nested deeper than this are left out; the editor itself allows far fewer. */
const deepest = 200;

const inline = names(
  'text hardBreak mention emoji inlineCard date status placeholder mediaInline inlineExtension',
);

/**
 * The text of a node. `inside`: that of its content; `index`: how many siblings come before it in `parent`.
 */
type Render = (inside: string, node: JsonObject, index: number, parent: JsonObject) => string;

const cell: Render = (inside) => inside.replaceAll('\n', ' ');
const task: Render = (inside, node) => hanging(attribute(node, 'state') === 'DONE' ? '[x] ' : '[ ] ', inside);

/** What the attributes say, then what is in the node: of cards, macros, statuses, and types that are not known. */
const described = (inside: string, node: JsonObject): string => {
  const attributes = own(node, 'attrs');
  if (!isObject(attributes)) return inside;
  return [labelsIn(attributes, '').join(' '), inside].filter(Boolean).join(isInline(node) ? ' ' : '\n');
};
const media: Render = (inside, node) =>
  `[${described('', node) || `media ${attribute(node, 'id')}`.trimEnd()}]${inside}`;
/** For all other types, known or not. */
const renderText: Render = (inside, node) => {
  const text = own(node, 'text');
  return typeof text === 'string' ? text + inside : described(inside, node);
};

const renders: ReadonlyMap<string, Render> = new Map<string, Render>([
  ['hardBreak', () => '\n'],
  ['mention', (_, node) => attribute(node, 'text', 'id').replace(/^(?=[^@])/, '@')],
  ['emoji', (_, node) => attribute(node, 'text', 'shortName')],
  ['date', (_, node) => dayOf(attribute(node, 'timestamp'))],
  ['rule', () => '---'],
  ['media', media],
  ['mediaInline', media],
  ['listItem', (inside, _, index, parent) => hanging(listMarker(index, parent), inside)],
  ['taskItem', task],
  ['blockTaskItem', task],
  ['decisionItem', (inside) => hanging('- ', inside)],
  ['blockquote', (inside) => `> ${inside.replaceAll('\n', '\n> ')}`],
  [
    'panel',
    (inside, node) => [attribute(node, 'panelIconText', 'panelIcon'), inside].filter(Boolean).join(' '),
  ],
  ['tableCell', cell],
  ['tableHeader', cell],
]);

/** The plain text of a document; text is returned as it is. Pure, never throws. */
export const adfText = (document: Json): string =>
  typeof document === 'string' ? document : contentText({ content: [document] }, 0).trimEnd();

const typeOf = (node: JsonObject): string => wordOf(own(node, 'type'));
const isInline = (node: JsonObject): boolean => inline.has(typeOf(node));

/** The text of a node's content. A block begins on a line of its own; cells are divided by bars. */
const contentText = (node: JsonObject, depth: number): string => {
  const content = own(node, 'content');
  if (!Array.isArray(content) || depth > deepest) return '';
  const children = content.every(isObject) ? content : content.filter(isObject);
  let text = '';
  let linked = '';
  let afterBlock = false;
  for (let index = 0; index < children.length; index += 1) {
    const child = children[index] as JsonObject;
    const render = renders.get(typeOf(child)) ?? renderText;
    const isBlock = !isInline(child);
    const divider = render === cell ? ' | ' : isBlock || afterBlock ? '\n' : '';
    const words = render(contentText(child, depth + 1), child, index, node);
    text += (index === 0 ? '' : divider) + words;
    afterBlock = isBlock;
    // Words of one link may be several nodes: the address comes after the last one.
    const link = linkOf(child);
    linked = link === '' ? '' : linked + words;
    if (link === '' || link === linkOf(children[index + 1] ?? {})) continue;
    if (!linked.includes(link) && link !== `mailto:${linked}`) text += ` (${link})`;
    linked = '';
  }
  return text;
};

/** Where a node leads, with the title of the link: `https://example.com "Title"`; '' where it is no link. */
const linkOf = (node: JsonObject): string => {
  const marks = own(node, 'marks');
  const link = Array.isArray(marks)
    ? marks.filter(isObject).find((mark) => typeOf(mark) === 'link')
    : undefined;
  const title = link === undefined ? '' : attribute(link, 'title');
  return link === undefined ? '' : attribute(link, 'href') + (title && ` "${title}"`);
};

/** Members that name something for people, or lead to it. */
const labels = names('text title extensionTitle name alt label url href jql');
/** Objects whose inner ones only say where a picture is: a card's data (JSON-LD), what a macro is. */
const closed = names('data macroMetadata');

/** Names in attributes, then addresses, each once. A macro has them in `parameters.macroParams.title.value`. */
const labelsIn = (value: Json, name: string, depth = 0): readonly string[] => {
  if (typeof value === 'string') return labels.has(name) || isAddress(value) ? [value] : [];
  if (depth > 8) return [];
  if (Array.isArray(value)) return value.flatMap((each) => labelsIn(each, name, depth + 1));
  if (!isObject(value)) return [];
  const inner = Object.entries(value).filter(([key]) => !closed.has(name) || labels.has(key));
  const found = inner.flatMap(([key, each]) => labelsIn(each, key === 'value' ? name : key, depth + 1));
  return [...new Set(found)].filter(Boolean).sort((a, b) => Number(isAddress(a)) - Number(isAddress(b)));
};

const isAddress = (text: string): boolean => /^https?:/.test(text);

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
