/** Rejects: records that could not become rows, why, and the record itself, shown as text. */

import { count, plural } from '../../../core/format.ts';
import { rejects } from '../../../queries/reject-list.ts';
import { address, at, button, facts, orDash, runLink, state } from '../components.ts';
import { type HtmlPart, html, lines } from '../html.ts';
import type { DashboardPage, PageRequest } from '../layout.ts';
import { isNumber } from './runs.ts';

/** How much of a record is shown. */
const shownBytes = 128 * 1024;

export async function rejectPage(asked: PageRequest): Promise<DashboardPage | undefined> {
  const { db, param, query, view } = asked;
  const rejectId = param('reject');
  if (!isNumber(rejectId)) return undefined;
  const [reject] = await rejects(db, { rejectId, all: true, limit: 1, excerptBytes: shownBytes });
  if (reject === undefined) return undefined;
  const { pipeline, stream, recordKey, part, bytes, excerpt } = reject;
  const isCut = bytes > shownBytes;
  const act = (does: string, word: string): HtmlPart => button(view, `/rejects/${rejectId}/${does}`, word);
  return {
    title: `Reject ${rejectId}`,
    at: '/rejects',
    body: html`<p><a href="/rejects">Rejects</a> / <a href="${address('/rejects', { pipeline, stream })}">${pipeline}.${stream}</a></p>
<h1>${recordKey || 'Record without key'}${part && ` (${part})`} <small>reject ${rejectId}</small></h1>
<p class="said">${reject.message}</p>
${
  reject.status === 'open' &&
  html`<p>${query.did === 'replay' && 'It was tried again, and still does not become a row. '}${reject.truncated ? 'It was too large to be kept whole: only the source can give it again.' : act('replay', 'Replay')} ${act('dismiss', 'Dismiss')}</p>
<p class="soft">Correct it at the source: the next sync that reads it resolves the reject. Replay tries the stored bytes again, which helps after
an update of Tidemark. A dismissed record counts no more, and stays dismissed while the source gives the same bytes.</p>`
}${reject.status === 'dismissed' && html`<p>${act('reopen', 'Open again')}</p>`}
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
