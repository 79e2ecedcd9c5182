/** People as records name them: the list of users leaves out deleted and app accounts, and may be closed to us. */

import { isObject } from '../../../core/record-object.ts';
import type { Json } from '../../../core/request.ts';
import type { Row } from '../../../core/table.ts';
import { identityOf } from './values.ts';

/** Longer ids are nobody's. */
const longestId = 255;

/**
 * The row of `tracker.mentioned_users`; none for what is no person with an id and a name. The place of a board has
 * `key`, `name` and `displayName`, too: only people are `active` or not.
 */
const personIn = (value: Json): readonly Row[] => {
  if (!isObject(value) || typeof value.displayName !== 'string') return [];
  const { accountId, active, displayName, timeZone, accountType } = value;
  const id = typeof accountId === 'string' || typeof active === 'boolean' ? identityOf(value) : undefined;
  if (id === undefined || id.length > longestId) return [];
  const word = (said: Json): string | null => (typeof said === 'string' ? said : null);
  return [
    {
      ...{ id, display_name: word(displayName), active: typeof active === 'boolean' ? active : null },
      ...{ time_zone: word(timeZone), account_type: word(accountType) },
    },
  ];
};

/** Who wrote these changes, comments or worklogs, and who edited them. */
export const authorsIn = (records: readonly Json[]): readonly Row[] =>
  records.filter(isObject).flatMap(({ author, updateAuthor }) => [author, updateAuthor].flatMap(personIn));

/** Everybody in the members of a record: the lead of a project; the assignee of an issue, and people in custom fields. */
export const peopleIn = (record: Json): readonly Row[] =>
  Object.values(isObject(record) ? record : {}).flatMap((value) =>
    Array.isArray(value) ? value.flatMap(personIn) : personIn(value),
  );
