import { isObject, type JsonObject, names, own } from '../../../core/record-object.ts';
import type { Json } from '../../../core/request.ts';
import { identityOf } from './people.ts';

/**
 * The value of a custom field as people filter by it: an option by its label, a user by the account id, several as a list, a cascading
 * choice as `[parent, child]`. Recognised by shape, so it is the same whether or not the field is in the catalogue. Anything else is kept
 * as it is.
 */
export const customValue = (value: Json): Json =>
  Array.isArray(value) ? (value.some(isObject) ? value.map(single) : value) : single(value);

const single = (value: Json): Json => {
  if (!isObject(value)) return value;
  if (isUser(value)) return identityOf(value);
  if (!isOption(value)) return value;
  const label = own(value, 'value');
  const child = own(value, 'child');
  return isObject(child) ? [label, own(child, 'value') ?? null] : label;
};

const OPTION_KEYS = names('self value id child disabled optionId');

/** `{self, value, id, child?, disabled?}` and nothing else: another object with a `value` is not ours to shorten. */
const isOption = (value: JsonObject): boolean => {
  if (typeof own(value, 'value') !== 'string') return false;
  const child = own(value, 'child');
  if (isObject(child) && !isOption(child)) return false;
  return Object.keys(value).every((key) => OPTION_KEYS.has(key));
};

/** `{accountId, displayName, …}`, or a server's `{key, name, displayName, emailAddress | avatarUrls | active}`. */
const isUser = (value: JsonObject): boolean =>
  (typeof own(value, 'accountId') === 'string' && own(value, 'accountId') !== '') ||
  (typeof own(value, 'displayName') === 'string' &&
    identityOf(value) !== undefined &&
    (Object.hasOwn(value, 'emailAddress') ||
      Object.hasOwn(value, 'avatarUrls') ||
      Object.hasOwn(value, 'active')));
