/** People as records name them: the list of users leaves out deleted and app accounts, and may be closed to us. */

import { isObject } from '../../../core/record-object.ts';
import type { Json } from '../../../core/request.ts';
import type { Row } from '../../../core/table.ts';
import { identityOf } from './values.ts';

/** Longer ids are nobody's. */
const longestId = 255;

/**
 * Adds the row of `tracker.mentioned_users`; none for what is no person with an id and a name. The place of a board
 * has `key`, `name` and `displayName`, too: only people are `active` or not.
 */
const addPerson = (found: Row[], value: Json): void => {
  if (!isObject(value) || typeof value.displayName !== 'string') return;
  const { accountId, active, displayName, timeZone, accountType } = value;
  const id = typeof accountId === 'string' || typeof active === 'boolean' ? identityOf(value) : undefined;
  if (id === undefined || id.length > longestId) return;
  const flag = typeof active === 'boolean' ? active : null;
  const about = { time_zone: wordIn(timeZone), account_type: wordIn(accountType) };
  found.push({ id, display_name: displayName, active: flag, ...about });
};

const wordIn = (said: Json): string | null => (typeof said === 'string' ? said : null);

/** Who wrote these changes, comments or worklogs, and who edited them. */
export const authorsIn = (records: readonly Json[]): readonly Row[] => {
  const found: Row[] = [];
  for (const record of records)
    if (isObject(record)) for (const by of [record.author, record.updateAuthor]) addPerson(found, by);
  return found;
};

/** Adds the person, or the people of a list, under a member of a record. */
export const addPeople = (found: Row[], value: Json): void => {
  if (Array.isArray(value)) for (const one of value) addPerson(found, one);
  else addPerson(found, value);
};

/** Everybody in the members of a record: the lead of a project. */
export const peopleIn = (record: Json): readonly Row[] => {
  const found: Row[] = [];
  if (isObject(record)) for (const value of Object.values(record)) addPeople(found, value);
  return found;
};
