/** What to do about sentences that a vendor writes. Each connector has a table of them. */

import type { Headers } from './headers.ts';

/**
 * `says`: a sentence in the body of an error, or `name: value` of a header. `advice`: the cause, and what to do. `login`: the sentence is
 * about the login whatever the status, so the answer counts as a 401.
 */
export type Advice = readonly [says: RegExp, advice: string, about?: 'login'];

/** The first row whose sentence the answer has. Pages of HTML are searched like JSON. */
export const adviceOn = (table: readonly Advice[] = [], headers: Headers, raw = ''): Advice | undefined => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return table.find(([says]) => says.test([...lines, raw].join('\n')));
};
