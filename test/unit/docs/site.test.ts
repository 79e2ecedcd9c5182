import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import vm from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildSite } from '../../../docs/site/build.ts';
import { deadLinks } from '../../../docs/site/links.ts';
import { htmlOf, pages } from '../../../docs/site/pages.ts';
import { textOf } from '../../support/pages.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-site-'));
const built = (name: string): string => fs.readFileSync(path.join(folder, name), 'utf8');
beforeAll(() => void buildSite(folder));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

test('no link of the site leads nowhere, and one that does is found', () => {
  expect(deadLinks(folder)).toEqual([]);
  const page = path.join(folder, htmlOf('docs/concepts.md'));
  const whole = built('docs/concepts.html');
  fs.writeFileSync(
    page,
    `${whole}<a href="guides/nowhere.html">a</a><a href="#nothing">b</a><a href="#glossary">c</a>`,
  );
  expect(deadLinks(folder)).toEqual([
    'docs/concepts.html: guides/nowhere.html',
    'docs/concepts.html: #nothing',
  ]);
  fs.writeFileSync(page, whole);
});

test('beside each page is its Markdown, which llms.txt lists', () => {
  const list = built('llms.txt');
  for (const page of pages) {
    expect(built(page)).toBe(textOf(page));
    expect(built(htmlOf(page))).toContain(`<a href="${path.basename(page)}">This page as Markdown</a>`);
    expect(list).toContain(`](${page})`);
  }
  expect(pages.length).toBeGreaterThan(35);
});

test('the search finds a page without a server', () => {
  interface Browser {
    readonly MiniSearch: {
      readonly loadJSON: (
        text: string,
        options: object,
      ) => { readonly search: (query: string, how: object) => readonly { readonly id: string }[] };
    };
    readonly searchIndex: string;
    readonly searchOptions: object;
  }
  const window: Partial<Browser> = {};
  const context = vm.createContext({ window, self: window, globalThis: window });
  for (const name of ['minisearch.js', 'search-index.js']) vm.runInContext(built(`assets/${name}`), context);
  const { MiniSearch, searchIndex, searchOptions } = { ...context.window, ...context } as Browser;
  const index = MiniSearch.loadJSON(searchIndex, searchOptions);
  const best = (query: string) =>
    index.search(query, { prefix: true, combineWith: 'AND', boost: { title: 4, page: 2 } })[0]?.id;
  expect(best('deletion guard')).toContain('docs/guides/deletions.html');
  expect(best('restore')).toContain('docs/guides/backup.html');
});

test('no page asks another site for anything', () => {
  for (const page of pages) {
    const asked = [...built(htmlOf(page)).matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]*)"/g)];
    expect(asked.map(([, from = '']) => from).filter((from) => /^(https?:)?\/\//.test(from))).toEqual([]);
  }
});
