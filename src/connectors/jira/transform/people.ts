/** People as records name them: the list of users leaves out deleted and app accounts, and may be closed to us. */

import { isObject } from '../../../core/record.ts';
import type { Json } from '../../../core/stream.ts';
import type { Row, RowOf } from '../../../core/table.ts';
import type { mentionedUsers } from '../tables.ts';
import { identityOf } from './values.ts';

/** Longer ids are nobody's. */
const longestId = 255;

/** The rows that were made last, by id: records name the same few people again and again, and one row serves them all. */
const made = new Map<string, RowOf<typeof mentionedUsers>>();
const mostMade = 10_000;

/**
 * Adds the person; none for what is no person with an id and a name. The place of a board has `key`, `name` and
 * `displayName`, too: only people are `active` or not.
 */
const addPerson = (found: Row[], value: Json): void => {
  if (!isObject(value) || typeof value.displayName !== 'string') return;
  const { accountId, displayName } = value;
  const active = typeof value.active === 'boolean' ? value.active : null;
  const id = typeof accountId === 'string' || active !== null ? identityOf(value) : undefined;
  if (id === undefined || id.length > longestId) return;
  const time_zone = wordIn(value.timeZone);
  const account_type = wordIn(value.accountType);
  const last = made.get(id);
  if (
    last?.display_name === displayName &&
    last.active === active &&
    last.time_zone === time_zone &&
    last.account_type === account_type
  ) {
    found.push(last);
    return;
  }
  const person = { id, display_name: displayName, active, time_zone, account_type };
  if (made.size >= mostMade) made.clear();
  made.set(id, person);
  found.push(person);
};

const wordIn = (said: Json): string | null => (typeof said === 'string' ? said : null);

/** Adds who wrote these changes, comments or worklogs, and who edited them. */
export const addAuthors = (found: Row[], records: readonly Json[]): void => {
  for (const record of records) {
    if (!isObject(record)) continue;
    addPerson(found, record.author);
    addPerson(found, record.updateAuthor);
  }
};

/** Who wrote these changes, comments or worklogs, and who edited them. */
export const authorsIn = (records: readonly Json[]): readonly Row[] => {
  const found: Row[] = [];
  addAuthors(found, records);
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
