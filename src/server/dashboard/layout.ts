/** The frame around every page. */

import type { AssetPath } from './assets.ts';
import { Html, html, type Part } from './html.ts';

/** What a page needs to know of its request. */
export interface View {
  readonly now: Date;
  readonly version: string;
  readonly asset: AssetPath;
  /** Hidden field of this session's forms. */
  readonly csrf: string;
  /** Whether this session's forms would be taken. */
  readonly mayChange: boolean;
  /** Whether there is a session that can be left. */
  readonly signedIn: boolean;
  /** Open dead letters, shown beside their page. */
  readonly rejects?: number;
}

export interface Page {
  readonly title: string;
  /** Which entry of the navigation it belongs to. */
  readonly at?: string;
  readonly body: Part;
  /** Without navigation: nobody is signed in. */
  readonly alone?: boolean;
  /** Follows what happens; default true. */
  readonly live?: boolean;
  /** Address of the event stream of a log that this page shows. */
  readonly log?: string;
}

const places = [
  ['/', 'Overview'],
  ['/streams', 'Streams'],
  ['/runs', 'Runs'],
  ['/backfill', 'Backfill'],
  ['/rejects', 'Rejects'],
  ['/schema-changes', 'Schema changes'],
] as const;

/** A whole document. */
export function layout(view: View, page: Page): string {
  const { asset } = view;
  const live = page.live ?? true;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · Tidemark</title>
<link rel="icon" href="${asset('icon.svg')}">
<link rel="stylesheet" href="${asset('pico.css')}">
<link rel="stylesheet" href="${asset('uplot.css')}">
<link rel="stylesheet" href="${asset('style.css')}">
<script defer src="${asset('uplot.js')}"></script>
<script type="module" src="${asset('plots.js')}"></script>
<script type="module" src="${asset('log.js')}"></script>
${live && html`<script type="module" src="${asset('live.js')}"></script>`}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
  <a class="mark" href="/"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M2 9c3.3-3 6.7-3 10 0s6.7 3 10 0"/><path d="M2 16c3.3-3 6.7-3 10 0s6.7 3 10 0"/></svg>Tidemark</a>
  ${page.alone !== true && navigation(view, page)}
  ${view.signedIn && html`<form method="post" action="/logout" class="leave">${csrf(view)}<button class="quiet">Sign out</button></form>`}
</header>
<main id="main" tabindex="-1"${page.log !== undefined && html` data-log="${page.log}"`}>
${page.body}
</main>
<footer><p>Tidemark ${view.version} · times are UTC · <span id="pulse" role="status">as of <time datetime="${view.now.toISOString()}">${view.now.toISOString().slice(11, 19)}</time></span></p></footer>
</body>
</html>
`.text;
}

const navigation = (view: View, page: Page): Html =>
  html`<nav aria-label="Pages"><ul>${places.map(
    ([path, name]) =>
      html`<li><a href="${path}"${page.at === path && html` aria-current="page"`}>${name}${
        path === '/rejects' &&
        (view.rejects ?? 0) > 0 &&
        html` <span class="badge" id="open-rejects">${view.rejects}<span class="vh"> open</span></span>`
      }</a></li>`,
  )}<li><a href="/api">API</a></li></ul></nav>`;

/** The hidden field that every form of a page carries. */
export const csrf = (view: View): Html => html`<input type="hidden" name="csrf" value="${view.csrf}">`;

/** A part of a page that is replaced when what it shows has changed. */
export const live = (id: string, body: Part, attributes: Html = new Html('')): Html =>
  html`<section id="${id}" data-live ${attributes}>${body}</section>`;
