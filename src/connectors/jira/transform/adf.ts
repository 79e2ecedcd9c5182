/**
 * Atlassian Document Format (the rich text of Jira Cloud's API v3) as plain text.
 * Node types: https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/
 */

import { isObject, type JsonObject, names, own } from '../../../core/record-object.ts';
import type { Json } from '../../../core/request.ts';

/** Nodes nested deeper than this are left out; the editor itself allows far fewer. */
const DEEPEST = 200;

const INLINE = names(
  'text hardBreak mention emoji inlineCard date status placeholder mediaInline inlineExtension',
);

/** A node whose content is being read: the text so far, and what the next piece must know. */
interface Frame {
  readonly node: JsonObject;
  readonly type: string;
  readonly content: readonly Json[];
  next: number;
  out: string;
  /** The last piece was a block: the next one begins a line. */
  ended: boolean;
  /** Pieces so far: the number of a list item, the place of a cell. */
  pieces: number;
}

const nothing: readonly Json[] = [];

/** The plain text of a document; text passes through (v2 servers). Pure, iterative, never throws: an unknown node gives the text it has. */
export const adfText = (document: Json): string => {
  if (typeof document === 'string') return document;
  const root = frame({ type: 'doc', content: [document] });
  const stack: Frame[] = [root];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (top.next < top.content.length) {
      const child = top.content[top.next++];
      if (typeof child === 'string') append(top, child, false);
      else if (isObject(child) && stack.length <= DEEPEST) stack.push(frame(child));
    } else {
      stack.pop();
      const parent = stack.at(-1);
      if (parent !== undefined) append(parent, finished(top, parent), !INLINE.has(top.type), top.type);
    }
  }
  return root.out.trimEnd();
};

const frame = (node: JsonObject): Frame => {
  const type = own(node, 'type');
  const content = own(node, 'content');
  return {
    node,
    type: typeof type === 'string' ? type : '',
    content: Array.isArray(content) ? content : nothing,
    next: 0,
    out: '',
    ended: false,
    pieces: 0,
  };
};

const append = (to: Frame, piece: string, block: boolean, type = ''): void => {
  if (type === 'tableCell' || type === 'tableHeader') to.out += to.pieces > 0 ? ` | ${piece}` : piece;
  else to.out += to.pieces > 0 && (block || to.ended) ? `\n${piece}` : piece;
  to.ended = block;
  to.pieces++;
};

const attribute = (node: JsonObject, ...names: readonly string[]): string => {
  const attrs = own(node, 'attrs');
  if (!isObject(attrs)) return '';
  for (const name of names) {
    const value = own(attrs, name);
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value === 'number') return String(value);
  }
  return '';
};

/** The text of a node whose content has been read. */
const finished = (done: Frame, parent: Frame): string => {
  const { node, out } = done;
  switch (done.type) {
    case 'text':
    case 'paragraph':
    case 'heading':
    case 'doc':
      break;
    case 'hardBreak':
      return '\n';
    case 'mention':
      return atSign(attribute(node, 'text', 'id'));
    case 'emoji':
      return attribute(node, 'text', 'shortName');
    case 'inlineCard':
    case 'blockCard':
    case 'embedCard':
      return attribute(node, 'url');
    case 'date':
      return dayOf(attribute(node, 'timestamp'));
    case 'rule':
      return '---';
    case 'media':
    case 'mediaInline':
      return `[${attribute(node, 'alt', '__fileName') || 'media'}]`;
    case 'listItem':
      return parent.type === 'orderedList'
        ? hanging(`${(Number(attribute(parent.node, 'order')) || 1) + parent.pieces}. `, out)
        : hanging('- ', out);
    case 'taskItem':
      return hanging(attribute(node, 'state') === 'DONE' ? '[x] ' : '[ ] ', out);
    case 'decisionItem':
      return hanging('- ', out);
    case 'blockquote':
      return `> ${out.replaceAll('\n', '\n> ')}`;
    case 'tableCell':
    case 'tableHeader':
      return out.replaceAll('\n', ' ');
    case 'expand':
    case 'nestedExpand': {
      const title = attribute(node, 'title');
      return title === '' ? out : `${title}\n${out}`;
    }
  }
  const text = own(node, 'text');
  const words = typeof text === 'string' ? text : done.type === 'text' ? '' : attribute(node, 'text');
  return words + out;
};

const atSign = (name: string): string => (name === '' || name.startsWith('@') ? name : `@${name}`);

/** A list item under its marker: further lines stand below its text. */
const hanging = (marker: string, text: string): string =>
  marker + text.replaceAll('\n', `\n${' '.repeat(marker.length)}`);

/** The UTC day of epoch milliseconds as text; the text itself if it is none. */
const dayOf = (timestamp: string): string => {
  const date = new Date(timestamp === '' ? Number.NaN : Number(timestamp));
  return Number.isNaN(date.getTime()) ? timestamp : date.toISOString().slice(0, 10);
};
