/** The pages that say one thing: sign in, and why not. */

import { html } from '../html.ts';
import type { Page } from '../layout.ts';

/** Where to go after signing in: a path of ours, whatever the address says. */
export const nextOf = (given: string | undefined): string =>
  given !== undefined && /^\/(?![/\\])[^\\\s]*$/.test(given) && !given.startsWith('/login') ? given : '/';

export const signIn = (next: string, wrong?: string): Page => ({
  title: 'Sign in',
  live: false,
  alone: true,
  body: html`<div class="door"><h1>Sign in</h1>
<form method="post" action="/login"><input type="hidden" name="next" value="${next}">
<input type="text" name="username" value="tidemark" autocomplete="username" hidden><label>API token<input type="password" name="token" required autofocus autocomplete="current-password" maxlength="4096" spellcheck="false"></label>
${wrong !== undefined && html`<p class="said" role="alert">${wrong}</p>`}
<button>Sign in</button></form>
<p class="soft">It is the value of <code>TIDEMARK_API_TOKEN</code>. A session lasts twelve hours.</p></div>`,
});

/** Why a request was not answered. */
export const refusal = (status: number, message: string): Page => ({
  title: `${status}`,
  live: false,
  body: html`<div class="door"><h1>${titles[status] ?? 'That did not work'}</h1><p class="said">${message}</p><p><a href="/">Overview</a></p></div>`,
});

const titles: Readonly<Record<number, string>> = {
  401: 'Sign in first',
  403: 'Refused',
  404: 'Not here',
  409: 'Not now',
  421: 'Another address',
  429: 'Too many tries',
  500: 'That did not work',
  503: 'Not at the moment',
};
