/** A line of bars as small as a word. */

import { type Html, html } from '../html.ts';

/** Values oldest first; the highest fills the height. `label` says the same in words. */
export function spark(label: string, values: readonly number[]): Html {
  if (values.length === 0) return html`<span class="nil">–</span>`;
  const most = Math.max(1, ...values);
  const room = 100 / Math.max(values.length, 12);
  const start = 100 - room * values.length;
  return html`<svg class="spark" role="img" height="22" aria-label="${label}"><title>${label}</title>${values.map(
    (value, place) => {
      const height = value === 0 ? 1 : 2 + (18 * value) / most;
      return html`<rect class="${value === 0 ? 'zero' : 'mark'}" x="${(start + place * room + room * 0.12).toFixed(2)}%" y="${(21 - height).toFixed(1)}" width="${(room * 0.76).toFixed(2)}%" height="${height.toFixed(1)}"/>`;
    },
  )}</svg>`;
}
