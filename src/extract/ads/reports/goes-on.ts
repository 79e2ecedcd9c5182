/** Whether an answer that is taken for the end of a report says itself that there is more. */

import { UnexpectedContent } from '../../../core/errors.ts';
import { isObject } from '../../../core/json-object.ts';
import type { Json } from '../../../core/request.ts';
import { at } from '../../lists.ts';
import type { Scheme } from '../../paging.ts';

/** `next`, `next_offset`, `nextPageToken`, `cursor`, `page_token`: what leads on where there is something behind. */
const leadsOn = /^next|^cursor$|^(page|scroll|continu\w+)_?token$/i;
/** Of answers that say it by true or false. */
const saysMore = /^(has_?more|more|has_?next)$/i;

/**
 * The scheme, but an end that the answer contradicts is `UnexpectedContent`: the contract does not show how reports are cut into pages, and the
 * first page of one that goes on in a way nobody knows must not pass for all of it.
 */
export const toItsEnd = (scheme: Scheme): Scheme => ({
  ...scheme,
  next(body, sent, count, repeated) {
    const next = scheme.next(body, sent, count, repeated);
    const sign = next === undefined ? signOfMore(body) : undefined;
    if (sign === undefined) return next;
    throw new UnexpectedContent(`${sent.endpoint}: the report goes on (it says ${sign}), in a way that is not known`);
  },
});

const signOfMore = (body: Json): string | undefined =>
  [body, at(body, 'paging'), at(body, 'pagination'), at(body, 'meta')].flatMap(signsIn)[0];

const signsIn = (holder: Json): readonly string[] =>
  isObject(holder)
    ? Object.entries(holder).flatMap(([key, value]) =>
        (saysMore.test(key) && value === true) || (leadsOn.test(key) && isThere(value)) ? [key] : [],
      )
    : [];

const isThere = (value: Json): boolean => (typeof value === 'string' && value !== '') || typeof value === 'number';
