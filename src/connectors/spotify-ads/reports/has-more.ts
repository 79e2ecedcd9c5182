/** Whether an answer that is taken for the end of a report says itself that there is more. */

import { UnexpectedContent } from '../../../core/errors.ts';
import { isObject } from '../../../core/json-object.ts';
import type { Json } from '../../../core/request.ts';
import { at } from '../../../reading/offset-list.ts';
import type { Scheme } from '../../../reading/paginators.ts';

/** `next`, `next_cursor`, `nextPageToken`, `cursor`, `page_token`: what leads on where there is something behind. */
const leadsOn =
  /^(next(_?(page|cursor|link|url|href|uri))?(_?token)?|cursor|(page|scroll|continu\w+)_?token)$/i;
/** Of answers that say it by true or false. */
const saysMore = /^(has_?more|more|has_?next(_?page)?)$/i;

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
    throw new UnexpectedContent(
      `${sent.endpoint}: the report goes on (it says ${sign}), in a way that is not known`,
    );
  },
});

/** Nothing where the answer says itself that this is the end, whatever else stands in it. */
const signOfMore = (body: Json): string | undefined => {
  const told = [body, at(body, 'paging'), at(body, 'pagination'), at(body, 'meta')].flatMap((holder) =>
    isObject(holder) ? Object.entries(holder) : [],
  );
  const said = told.filter(([name, value]) => saysMore.test(name) && typeof value === 'boolean');
  if (said.length > 0) return said.find(([, value]) => value === true)?.[0];
  return told.find(([name, value]) => leadsOn.test(name) && isThere(value))?.[0];
};

const isThere = (value: Json): boolean =>
  (typeof value === 'string' && value !== '') || typeof value === 'number';
