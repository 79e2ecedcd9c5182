/** Markdown to HTML, with links between pages, ids of headings as GitHub makes them, and the sections for the search. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { Marked, type Tokens } from 'marked';
import { htmlOf, pages } from './pages.ts';

/** What the search finds: a heading with the text below it. */
export interface Section {
  /** Address in the site, with its anchor. */
  readonly id: string;
  readonly page: string;
  readonly title: string;
  readonly text: string;
}

export interface Page {
  readonly title: string;
  /** The first sentence below the title, as plain text. */
  readonly about: string;
  readonly html: string;
  readonly sections: readonly Section[];
  /** Files besides pages that it links to or shows, by their paths below the repository. */
  readonly files: readonly string[];
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const isOutside = (href: string): boolean => /^[a-z]+:/i.test(href);

/** Ids of headings, each once in a page. */
function slugs(): (text: string) => string {
  const taken = new Map<string, number>();
  return (text) => {
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const before = taken.get(slug) ?? 0;
    taken.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  };
}

/** The text that a reader sees of some Markdown. */
const plain = (markdown: string): string =>
  markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*|]|^#+ |^-+$/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/**
 * `file`: its path below the repository `root`. A link to another page becomes one to its HTML; a linked file is named in `files`; a link
 * to a folder becomes its text.
 */
export function rendered(root: string, file: string, markdown: string): Page {
  const files = new Set<string>();
  const sections: { id: string; title: string; text: string }[] = [];
  const slug = slugs();
  /** The address in the site; undefined for a folder. */
  const target = (href: string): string | undefined => {
    if (isOutside(href) || href.startsWith('#')) return href;
    const [to = '', anchor] = href.split('#');
    const found = path.posix.join(path.posix.dirname(file), to);
    const end = anchor === undefined ? '' : `#${anchor}`;
    if (pages.includes(found)) return `${path.posix.relative(path.posix.dirname(file), htmlOf(found))}${end}`;
    const at = path.join(root, found);
    if (existsSync(at) && statSync(at).isDirectory()) return undefined;
    // Where there is no such file, the check of links says so.
    if (existsSync(at)) files.add(found);
    return `${to}${end}`;
  };
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const id = slug(text);
        const html = this.parser.parseInline(tokens);
        sections.push({ id, title: plain(text), text: '' });
        return `<h${depth} id="${escaped(id)}"><a href="#${escaped(id)}">${html}</a></h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const to = target(href);
        const html = this.parser.parseInline(tokens);
        return to === undefined ? html : `<a href="${escaped(to)}">${html}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        return `<img src="${escaped(target(href) ?? href)}" alt="${escaped(text)}">`;
      },
    },
  });
  const tokens = marked.lexer(markdown);
  const html = marked
    .parser(tokens)
    .replaceAll('<table>', '<div class="table"><table>')
    .replaceAll('</table>', '</table></div>');
  let at = -1;
  for (const token of tokens) {
    if (token.type === 'heading') at += 1;
    const section = sections[at];
    if (section !== undefined && token.type !== 'heading') section.text += ` ${plain(token.raw)}`;
  }
  const title = sections[0]?.title ?? file;
  const first = tokens.find(({ type }) => type === 'paragraph');
  return {
    title,
    about: /^.*?\.(?= |$)/.exec(plain(first?.raw ?? ''))?.[0] ?? '',
    html,
    sections: sections.map(({ id, ...section }) => ({
      ...section,
      id: `${htmlOf(file)}#${id}`,
      page: title,
    })),
    files: [...files],
  };
}
