/** Dead letters: what could not become rows, why, and the record itself, shown as text whatever is in it. */

import { count, plural } from '../../../core/format.ts';
import { openRejects, type Reject, rejects } from '../../../queries/reject-list.ts';
import { address } from '../address.ts';
import type { DashboardDeps } from '../deps.ts';
import { sliceName } from '../figures/slices.ts';
import { facts, table } from '../figures/table.ts';
import { ago, at, orDash, state } from '../format.ts';
import { html, lines } from '../html.ts';
import { live, type Page, type View } from '../layout.ts';

/** What the address may say. */
export interface RejectsAsked {
  readonly pipeline?: string | undefined;
  readonly stream?: string | undefined;
  readonly code?: string | undefined;
  readonly all?: string | undefined;
  readonly page?: string | undefined;
}

const perPage = 50;
/** So much of a record is shown. */
const shownBytes = 128 * 1024;

export async function rejectsPage({ db }: DashboardDeps, view: View, asked: RejectsAsked): Promise<Page> {
  const number = /^\d{1,6}$/.test(asked.page ?? '') ? Math.max(1, Number(asked.page)) : 1;
  const [found, open] = await Promise.all([
    rejects(db, {
      pipeline: asked.pipeline,
      stream: asked.stream,
      code: asked.code,
      all: asked.all !== undefined,
      limit: perPage + 1,
      offset: (number - 1) * perPage,
      excerptBytes: 0,
    }),
    openRejects(db),
  ]);
  const shown = found.slice(0, perPage);
  const link = (more: RejectsAsked): string => address('/rejects', { ...asked, page: undefined, ...more });
  const narrowed = [asked.pipeline, asked.stream, asked.code].filter((each) => each !== undefined);
  return {
    title: 'Rejects',
    at: '/rejects',
    body: html`<h1>Rejects</h1><p class="lead">Records that could not become rows, kept byte for byte. A good later version resolves them; <code>npx tidemark rejects replay</code> tries them again.</p>
${live(
  'rejects',
  html`${open.length > 0 && html`<p>${open.map(({ stream, rejects: many }) => html`<a class="chip" href="/rejects?stream=${stream}">${stream} <b>${count(many)}</b></a> `)}</p>`}
<p class="soft">${asked.all === undefined ? html`Open ones${narrowed.map((each) => html` · ${each}`)} · <a href="${link({ all: '1' })}">also those that are settled</a>` : html`All${narrowed.map((each) => html` · ${each}`)} · <a href="${link({ all: undefined })}">only open ones</a>`}${narrowed.length > 0 && html` · <a href="/rejects">every stream</a>`}</p>
${table(
  'Rejects, the last seen first',
  [
    {
      name: 'Record',
      cell: (each: Reject) =>
        html`<a href="/rejects/${each.rejectId}">${each.recordKey === '' ? 'without key' : each.recordKey}</a>`,
    },
    {
      wide: true,
      name: 'Stream',
      cell: (each) => html`<span class="soft">${each.pipeline}.</span>${each.stream}`,
    },
    {
      name: 'Reason',
      cell: (each) => html`<a class="soft" href="${link({ code: each.code })}"><code>${each.code}</code></a>`,
      wide: true,
    },
    { name: 'Why', cell: (each) => each.message, wraps: true },
    { name: 'Seen', cell: (each) => ago(each.lastSeenAt, view.now) },
    { name: 'Runs', number: true, wide: true, cell: (each) => count(each.attempts) },
    ...(asked.all === undefined ? [] : [{ name: 'State', cell: (each: Reject) => state(each.status) }]),
  ],
  shown,
  narrowed.length === 0 ? 'No issues found: every record became a row.' : 'No reject fits.',
)}`,
)}
<p>${number > 1 && html`<a class="button" href="${link({ page: String(number - 1) })}">Newer</a> `}${found.length > perPage && html`<a class="button" href="${link({ page: String(number + 1) })}">Older</a>`}</p>`,
  };
}

/** Undefined: there is no such reject. */
export async function rejectPage({ db }: DashboardDeps, rejectId: string): Promise<Page | undefined> {
  const [reject] = await rejects(db, { rejectId, all: true, limit: 1, excerptBytes: shownBytes });
  if (reject === undefined) return undefined;
  return {
    title: `Reject ${reject.rejectId}`,
    at: '/rejects',
    live: false,
    body: html`<p class="crumbs"><a href="/rejects">Rejects</a> / <a href="/rejects?pipeline=${reject.pipeline}&stream=${reject.stream}">${reject.pipeline}.${reject.stream}</a></p>
<h1>${reject.recordKey === '' ? `Record without key` : reject.recordKey} <small>reject ${reject.rejectId}</small></h1>
<p class="said">${reject.message}</p>
${facts([
  ['State', state(reject.status)],
  ['Reason', html`<code>${reject.code}</code>`],
  ['Field', orDash(reject.field)],
  ['Found while', reject.stage === 'encode' ? 'encoding the row' : 'reading the record'],
  [
    'First seen',
    html`${at(reject.firstSeenAt)} <span class="soft">run <a href="/runs/${reject.firstRunId}">${reject.firstRunId}</a></span>`,
  ],
  [
    'Last seen',
    html`${at(reject.lastSeenAt)} <span class="soft">run <a href="/runs/${reject.lastRunId}">${reject.lastRunId}</a></span>`,
  ],
  ['Met in', plural(reject.attempts, 'run')],
  ['Where', whereOf(reject.slice)],
])}
<h2>The record <small>${plural(reject.bytes, 'byte')}${reject.bytes > shownBytes && `, the first ${count(shownBytes)} are shown`}${reject.truncated && ', cut when it was stored'}</small></h2>
<pre class="code payload" tabindex="0"><code>${lines(reject.bytes > shownBytes ? reject.excerpt : indented(reject.excerpt))}</code></pre>
<p class="soft">As text, control characters written out. The exact bytes are in <code>ops.rejects.payload</code>.</p>`,
  };
}

/** The slice in which it was met: as it is stored, see `ops.rejects.slice`. */
function whereOf(slice: unknown): string {
  if (typeof slice !== 'object' || slice === null) return 'everything';
  const { partition, window }: { partition?: unknown; window?: unknown } = slice;
  const { field, from, to }: { field?: unknown; from?: unknown; to?: unknown } =
    typeof window === 'object' && window !== null ? window : {};
  const side = (value: unknown): Date | null => (typeof value === 'string' ? new Date(value) : null);
  return sliceName({
    partition,
    field: typeof field === 'string' ? field : null,
    from: side(from),
    to: side(to),
  });
}

/** JSON with line breaks between its members, without touching a number or a string; anything else as it is. */
export function indented(text: string): string {
  let depth = 0;
  let quoted = false;
  let out = '';
  const line = (): string => `\n${'  '.repeat(Math.max(0, depth))}`;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? '';
    if (quoted) {
      out += sign;
      if (sign === '\\') out += text[++at] ?? '';
      else if (sign === '"') quoted = false;
      continue;
    }
    if (sign === '"') {
      quoted = true;
      out += sign;
    } else if (sign === '{' || sign === '[') {
      const closing = text[at + 1];
      if (closing === '}' || closing === ']') {
        out += sign + closing;
        at++;
      } else {
        depth++;
        out += sign + line();
      }
    } else if (sign === '}' || sign === ']') {
      depth--;
      out += line() + sign;
    } else if (sign === ',') out += sign + line();
    else if (sign === ':') out += ': ';
    else if (!/\s/.test(sign)) out += sign;
  }
  return /^\s*[[{]/.test(text) && depth === 0 && !quoted ? out : text;
}
