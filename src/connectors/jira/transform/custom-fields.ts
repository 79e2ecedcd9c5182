import { isObject, type JsonObject, names, own } from '../../../core/record-object.ts';
import type { Json } from '../../../core/request.ts';

/**
 * The value of a custom field as people filter by it: an option by its label, a user by the account id, several as a list, a cascading
 * choice as `[parent, child]`. Recognised by its shape, so that it does not depend on the catalogue. Anything else stays as it is.
 */
export const customValue = (value: Json): Json =>
  Array.isArray(value) ? (value.some(isObject) ? value.map(single) : value) : single(value);

const single = (value: Json): Json => {
  if (!isObject(value)) return value;
  const accountId = own(value, 'accountId');
  if (typeof accountId === 'string' && accountId !== '') return accountId;
  if (!isOption(value)) return value;
  const child = own(value, 'child');
  return isObject(child) ? [own(value, 'value'), own(child, 'value') ?? null] : own(value, 'value');
};

const optionKeys = names('self value id child disabled optionId');

/** `{self, value, id, child?, disabled?}` and nothing else: another object with a `value` must not be shortened. */
const isOption = (value: JsonObject): boolean => {
  const child = own(value, 'child');
  return (
    typeof own(value, 'value') === 'string' &&
    (!isObject(child) || isOption(child)) &&
    Object.keys(value).every((key) => optionKeys.has(key))
  );
};
