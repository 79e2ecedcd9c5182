/** The frame around every page, and the pages that say one thing. */

import type { NightNeeds, Runner } from '../../scheduler/control.ts';
import type { ReadSettings, ServerDeps } from '../api/deps.ts';
import type { AssetPath } from './assets.ts';
import { type Html, type HtmlPart, html } from './html.ts';

/** What a page needs to know of its request. */
export interface PageContext {
  readonly now: Date;
  readonly version: string;
  readonly asset: AssetPath;
  /** Hidden field of this session's forms. */
  readonly csrf: string;
  /** Whether this session may start and stop runs. */
  readonly mayChange: boolean;
  /** Whether there is a session that can be ended. */
  readonly isSignedIn: boolean;
  /** Open rejects; undefined: not counted. */
  readonly rejects?: number;
}

/** What the dashboard is built from. Runs are started and stopped by `control` alone. Without `tokens` it answers this machine only, without signing in. */
export interface DashboardDeps extends Pick<ServerDeps, 'control' | 'db' | 'tokens' | 'version' | 'trouble'> {
  readonly now: () => Date;
  /** Asks the sources what they need tonight. */
  readonly tonight: () => Promise<NightNeeds>;
  readonly settings: ReadSettings;
  readonly replay: Runner['replay'];
  /** Sends a test message to each channel, and notes how that went. */
  readonly sendTests: () => Promise<readonly unknown[]>;
}

/** A request for a page, with everything that makes the page. */
export interface PageRequest extends DashboardDeps {
  readonly view: PageContext;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly all: (name: string) => readonly string[];
  readonly param: (name: string) => string;
  /** Aborts when the reader leaves. */
  readonly signal: AbortSignal;
}

export interface DashboardPage {
  readonly title: string;
  /** The entry of the navigation that it belongs to. */
  readonly at?: string;
  readonly body: HtmlPart;
  /** Without updates: a sign-in or a message. */
  readonly isAlone?: boolean;
}

/** The navigation in its order: the address of a page and its name. */
const places = {
  '/': 'Overview',
  '/streams': 'Streams',
  '/runs': 'Runs',
  '/plan': 'Plan',
  '/backfill': 'Backfill',
  '/rejects': 'Rejects',
  '/deletions': 'Deletions',
  '/alerts': 'Alerts',
  '/audit': 'Audit',
  '/settings': 'Settings',
  '/api': 'API',
};

/** A whole document. */
export function layout(view: PageContext, page: DashboardPage): string {
  const { asset, now, version } = view;
  const hasSession = view.csrf !== '';
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
${page.isAlone !== true && html`<script defer src="${asset('uplot.js')}"></script><script type="module" src="${asset('live.js')}"></script>`}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
  <nav aria-label="Pages"><ul><li><a href="/"><b>Tidemark</b></a></li>
  ${hasSession && Object.entries(places).map(([path, name]) => place(path, name, view, page))}</ul>
  ${view.isSignedIn && html`<ul><li><button form="action" formaction="/logout">Sign out</button></li></ul>`}</nav>
</header>
<main id="main" tabindex="-1">
${page.body}
</main>
<footer class="soft">Tidemark ${version} · <span id="zone">times are UTC</span> · <span id="updated" role="status">as of ${now.toISOString().slice(11, 19)}</span></footer>
<form id="action" method="post" hidden>${csrf(view)}</form>
</body>
</html>
`.text;
}

const place = (path: string, name: string, { rejects = 0 }: PageContext, page: DashboardPage): Html =>
  html`<li><a href="${path}"${page.at === path && html` aria-current="page"`}>${name}${
    path === '/rejects' &&
    html`<span id="open-rejects" data-live>${rejects > 0 && html` <mark>${rejects}</mark>`}</span>`
  }</a></li>`;

/** The hidden field that every form carries. */
export const csrf = (view: PageContext): Html => hidden('_csrf', view.csrf);

export const hidden = (name: string, value: HtmlPart): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** A part of a page that the script replaces when it has changed. `isGoing`: it changes all the time. */
export const live = (id: string, body: HtmlPart, isGoing = false): Html =>
  html`<section id="${id}" data-live${isGoing && html` data-going`}>${body}</section>`;

/** A page with one message, e.g. why a request was refused. */
export const message = (title: string, text: string): DashboardPage => ({
  title,
  isAlone: true,
  body: html`<article class="message"><h1>${title}</h1><p>${text}</p><p><a href="/">Overview</a></p></article>`,
});

export const signIn = (next: string, wrong?: string): DashboardPage => ({
  title: 'Sign in',
  isAlone: true,
  body: html`<article class="message"><h1>Sign in</h1>
<form method="post" action="/login">${hidden('next', next)}
<input type="text" name="username" value="tidemark" autocomplete="username" hidden><label>API token
<input type="password" name="token" required autofocus autocomplete="current-password" maxlength="4096"></label>
${wrong !== undefined && html`<p class="said" role="alert">${wrong}</p>`}
<button>Sign in</button></form>
<p class="soft">It is the value of <code>TIDEMARK_API_TOKEN</code>. A session lasts twelve hours.</p></article>`,
});
