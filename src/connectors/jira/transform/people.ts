/** People as records name them: the list of users leaves out deleted and app accounts, and may be closed to us. */

import { isObject, type JsonObject, own } from '../../../core/record-object.ts';
import type { Json } from '../../../core/request.ts';
import type { Row } from '../../../core/table.ts';
import { identityOf } from './values.ts';

/** Longer ids are nobody's. */
const longestId = 255;

/** The row of `tracker.mentioned_users`; none for what is no person with an id and a name. */
export const personIn = (value: Json): readonly Row[] => {
  if (!isObject(value) || typeof own(value, 'displayName') !== 'string') return [];
  const id = identityOf(value);
  if (id === undefined || id.length > longestId) return [];
  const word = (name: string): string | null => {
    const found = own(value, name);
    return typeof found === 'string' ? found : null;
  };
  const active = own(value, 'active');
  return [
    {
      ...{ id, display_name: word('displayName'), time_zone: word('timeZone') },
      account_type: word('accountType'),
      active: typeof active === 'boolean' ? active : null,
    },
  ];
};

/** Who wrote a change, a comment or a worklog, and who edited it. */
export const authorsIn = (record: Json): readonly Row[] =>
  isObject(record) ? ['author', 'updateAuthor'].flatMap((name) => personIn(own(record, name))) : [];

/** Everybody in the fields of an issue, and in the lists that came with it. */
export const peopleIn = (issue: JsonObject, fields: JsonObject): readonly Row[] => [
  ...Object.values(fields).flatMap((value) => (Array.isArray(value) ? value : [value]).flatMap(personIn)),
  ...listIn(issue, 'changelog', 'histories').flatMap(authorsIn),
  ...listIn(fields, 'comment', 'comments').flatMap(authorsIn),
  ...listIn(fields, 'worklog', 'worklogs').flatMap(authorsIn),
];

const listIn = (holder: JsonObject, key: string, name: string): readonly Json[] => {
  const envelope = own(holder, key);
  const list = isObject(envelope) ? own(envelope, name) : envelope;
  return Array.isArray(list) ? list : [];
};
