/** Reading the list out of an answer of the tracker. */

import { listNamed } from '../../reading/offset-list.ts';

export { at, idBy, textAt } from '../../reading/offset-list.ts';

/** A bare array, `values`, `issues`, or the single array of the envelope; throws as `listNamed`. */
export const listOf = (endpoint: string) => listNamed(endpoint, 'values', 'issues');
