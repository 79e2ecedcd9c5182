/** Rejects: records that could not become rows, why, and the record itself, shown as text. */

import { count, plural } from '../../../core/format.ts';
import { type ListedReject, rejects } from '../../../queries/reject-list.ts';
import { address, ago, at, facts, link, orDash, runLink, state, table } from '../components.ts';
import { html, lines } from '../html.ts';
import { type DashboardPage, live, type PageRequest } from '../layout.ts';
import { isNumber } from './runs.ts';

const perPage = 50;
/** How much of a record is shown. */
const shownBytes = 128 * 1024;

export async function rejectsPage({ db, view, query }: PageRequest): Promise<DashboardPage> {
  const { pipeline, stream, code, all } = query;
  const number = /^[1-9]\d{0,5}$/.test(query.page ?? '') ? Number(query.page) : 1;
  const filter = { pipeline, stream, code, all: all !== undefined };
  const offset = (number - 1) * perPage;
  const found = await rejects(db, { ...filter, limit: perPage + 1, offset, excerptBytes: 0 });
  const to = (more: Readonly<Record<string, string | undefined>>): string =>
    address('/rejects', { pipeline, stream, code, all, ...more });
  const narrowed = [pipeline, stream, code].filter((each) => each !== undefined);
  const isAll = all !== undefined;
  return {
    title: 'Rejects',
    at: '/rejects',
    body: html`<h1>Rejects</h1><p class="soft">Records that could not become rows, kept byte for byte.
A good later version resolves them; <code>npx tidemark rejects replay</code> tries them again.</p>
<p>${isAll ? 'All' : 'Open'}${narrowed.map((each) => ` · ${each}`)} ·
<a href="${to({ all: isAll ? undefined : '1' })}">${isAll ? 'only open ones' : 'also settled ones'}</a>${
      narrowed.length > 0 && html` · <a href="/rejects">of every stream</a>`
    }</p>
${live(
  'rejects',
  table(
    'Rejects, last seen first',
    [
      ['Record', ({ rejectId, ...of }) => link(`/rejects/${rejectId}`, nameOf(of) || 'without key')],
      ['Stream', ({ pipeline, stream }) => link(to({ pipeline, stream }), `${pipeline}.${stream}`), 'wide'],
      ['Code', ({ code }) => link(to({ code }), code), 'wide'],
      ['Why', (each) => each.message, 'wraps'],
      ['Seen', (each) => ago(each.lastSeenAt, view.now)],
      ['State', (each) => state(each.status), 'wide'],
    ],
    found.slice(0, perPage),
    narrowed.length === 0 ? 'No rejects: every record became a row.' : 'No reject matches.',
  ),
)}
<p>${number > 1 && html`<a href="${to({ page: String(number - 1) })}">Newer</a> `}${
      found.length > perPage && html`<a href="${to({ page: String(number + 1) })}">Older</a>`
    }</p>`,
  };
}

/** The record, and which part of it was rejected, if it was not the record itself. */
const nameOf = ({ recordKey, part }: Pick<ListedReject, 'recordKey' | 'part'>): string =>
  part === '' ? recordKey : `${recordKey} (${part})`;

export async function rejectPage({ db, param }: PageRequest): Promise<DashboardPage | undefined> {
  const rejectId = param('reject');
  if (!isNumber(rejectId)) return undefined;
  const [reject] = await rejects(db, { rejectId, all: true, limit: 1, excerptBytes: shownBytes });
  if (reject === undefined) return undefined;
  const { pipeline, stream, bytes, excerpt } = reject;
  const isCut = bytes > shownBytes;
  return {
    title: `Reject ${rejectId}`,
    at: '/rejects',
    body: html`<p><a href="/rejects">Rejects</a> / <a href="${address('/rejects', { pipeline, stream })}">${pipeline}.${stream}</a></p>
<h1>${nameOf(reject) || 'Record without key'} <small>reject ${rejectId}</small></h1>
<p class="said">${reject.message}</p>
${facts({
  State: state(reject.status),
  Code: html`<code>${reject.code}</code>`,
  Field: orDash(reject.field),
  'Found while': reject.stage === 'encode' ? 'encoding the row' : 'reading the record',
  'First seen': html`${at(reject.firstSeenAt)} in run ${runLink(reject.firstRunId)}`,
  'Last seen': html`${at(reject.lastSeenAt)} in run ${runLink(reject.lastRunId)}`,
  Seen: plural(reject.attempts, 'time'),
  Slice: html`<code>${JSON.stringify(reject.slice)}</code>`,
})}
<h2>Record <small>${plural(bytes, 'byte')}${isCut && `, the first ${count(shownBytes)} are shown`}${reject.truncated && ', cut when it was stored'}</small></h2>
<pre><code>${lines(isCut ? excerpt : indented(excerpt))}</code></pre>
<p class="soft">As text, control characters written out. The exact bytes are in <code>ops.rejects.payload</code>.</p>`,
  };
}

/** `JSON.rawJSON` and the source of a number are in V8, not yet in the compiler's library. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };

/**
 * JSON with line breaks between its members, numbers exactly as they were written; anything else as it is.
 */
export function indented(text: string): string {
  const exact = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === 'number' && context?.source !== undefined ? rawJSON(context.source) : value;
  try {
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
  }
}
