/**
 * Builds the site of the documentation from the Markdown of the repository: `npm run site` writes it to `site/`. It needs no server: its pages,
 * with the search, can be opened from the disk. Beside each page is its Markdown, and `llms.txt` lists these.
 */
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import MiniSearch from 'minisearch';
import { deadLinks } from './links.ts';
import { type Page, rendered } from './markdown.ts';
import { groups, htmlOf, pages } from './pages.ts';

const root = path.resolve(import.meta.dirname, '../..');
const { resolve } = createRequire(import.meta.url);
const { description } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** What the pages of the search need to know of its index, too: see search.js. */
const searched = { fields: ['title', 'page', 'text'], storeFields: ['title', 'page'] };

/** Writes the site into a folder, which is emptied. */
export function buildSite(folder: string): ReadonlyMap<string, Page> {
  rmSync(folder, { recursive: true, force: true });
  const put = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
  const built = new Map(
    pages.map((name) => [name, rendered(root, name, readFileSync(path.join(root, name), 'utf8'))]),
  );
  for (const [name, page] of built) {
    put(htmlOf(name), layout(name, page, built));
    put(name, readFileSync(path.join(root, name), 'utf8'));
    for (const file of page.files) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      copyFileSync(path.join(root, file), path.join(folder, file));
    }
  }
  put('llms.txt', llms(built));
  const index = new MiniSearch(searched);
  index.addAll([...built.values()].flatMap(({ sections }) => sections));
  const shared = `window.searchOptions = ${JSON.stringify(searched)};\nwindow.searchIndex = ${JSON.stringify(JSON.stringify(index))};\n`;
  put('assets/search-index.js', shared);
  const library = resolve('minisearch').replace(/dist.*/, 'dist/umd/index.js');
  copyFileSync(library, path.join(folder, 'assets/minisearch.js'));
  copyFileSync(resolve('@picocss/pico/css/pico.min.css'), path.join(folder, 'assets/pico.css'));
  for (const name of ['style.css', 'search.js'])
    cpSync(path.join(import.meta.dirname, name), path.join(folder, 'assets', name));
  return built;
}

/** One page: the menu, the search, and the text. */
function layout(name: string, { title, html }: Page, built: ReadonlyMap<string, Page>): string {
  const own = path.posix.dirname(htmlOf(name));
  const to = (address: string): string => path.posix.relative(own, address);
  const entry = (page: string): string => {
    const current = page === name ? ' aria-current="page"' : '';
    return `<li><a href="${to(htmlOf(page))}"${current}>${page === 'README.md' ? 'Tidemark' : built.get(page)?.title}</a></li>`;
  };
  const menu = groups.map(
    (group) => `<section><h2>${group.title}</h2><ul>${group.pages.map(entry).join('')}</ul></section>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title === 'Tidemark' ? title : `${title} · Tidemark`}</title>
<link rel="stylesheet" href="${to('assets/pico.css')}">
<link rel="stylesheet" href="${to('assets/style.css')}">
<link rel="alternate" type="text/markdown" href="${path.posix.basename(name)}">
</head>
<body>
<a class="skip" href="#text">To the text</a>
<header>
<a class="home" href="${to('index.html')}">Tidemark</a>
<search><input type="search" id="query" placeholder="Search ( / )" aria-label="Search" autocomplete="off" data-root="${to('') || '.'}"><ol id="found" hidden></ol></search>
<button id="toggle" aria-expanded="false" aria-controls="menu">Menu</button>
</header>
<div class="frame">
<nav id="menu" aria-label="Pages">${menu.join('\n')}</nav>
<main id="text">
${html}
<footer><a href="${path.posix.basename(name)}">This page as Markdown</a></footer>
</main>
</div>
<script src="${to('assets/minisearch.js')}" defer></script>
<script src="${to('assets/search-index.js')}" defer></script>
<script src="${to('assets/search.js')}" defer></script>
</body>
</html>
`;
}

/** The list of pages for programs that read text: llmstxt.org. */
function llms(built: ReadonlyMap<string, Page>): string {
  const entry = (name: string): string => {
    const { title = name, about = '' } = built.get(name) ?? {};
    return `- [${title}](${name})${about === '' ? '' : `: ${about}`}`;
  };
  const lists = groups.map(({ title, pages: own }) => `## ${title}\n\n${own.map(entry).join('\n')}\n`);
  return `# Tidemark\n\n> ${description}\n\n${lists.join('\n')}`;
}

if (process.argv[1] === import.meta.filename) {
  const folder = path.resolve(process.argv[2] ?? 'site');
  const begun = performance.now();
  const built = buildSite(folder);
  const dead = deadLinks(folder);
  const files = globSync('**/*', { cwd: folder }).map((name) => statSync(path.join(folder, name)));
  const size = files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0) / 1e6;
  for (const link of dead) console.error(`dead link: ${link}`);
  console.log(
    `site: ${built.size} pages, ${size.toFixed(1)} MB, ${dead.length} dead links, ${((performance.now() - begun) / 1000).toFixed(1)} s`,
  );
  process.exitCode = dead.length === 0 ? 0 : 1;
}
