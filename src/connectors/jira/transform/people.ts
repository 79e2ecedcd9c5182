import { isObject, type JsonObject, own } from '../../../core/record-object.ts';
import type { Reading } from '../../../core/record-reader.ts';
import { soundText } from '../../../core/record-values.ts';

/** What identifies a person, best first: `accountId` of the cloud, `key` and `name` of servers that know no account ids. */
const identities = ['accountId', 'key', 'name'] as const;

/** The id of a user object; undefined where it has none. */
export const identityOf = (user: JsonObject): string | undefined => {
  for (const key of identities) {
    const value = own(user, key);
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
};

/** The id of the person under a key. Null where nobody is there: unassigned, anonymous, account deleted. */
export const personId = (r: Reading, holder: JsonObject, key: string, path = key): string | null => {
  const value = own(holder, key);
  if (value === undefined || value === null) return null;
  const identity = isObject(value) ? identityOf(value) : undefined;
  return identity === undefined ? r.flip(path, value, 'a user with an id') : soundText(r, path, identity);
};
