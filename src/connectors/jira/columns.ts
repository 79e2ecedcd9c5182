/** Columns of the tracker's tables that are read in its own ways, and what all its tables have in common. */

import { kind, type RecordTable, records } from '../../core/record-table.ts';
import type { Columns } from '../../core/table.ts';
import * as core from '../../core/table.ts';
import { document, personId, plainText } from './transform/values.ts';

export { field, from, type RecordTable as Readable, transformOf } from '../../core/record-table.ts';

/** The id of a user. */
export const person = kind(core.text, personId);
/** Rich text, as plain text and as its original document. */
export const plain = kind(core.text, plainText);
export const original = kind(core.json, document);

/** Addresses and pictures, which follow from the id or say how something is painted. */
const ignoredEverywhere = ['self', 'expand', 'avatarUrls', 'iconUrl', 'statusColor'];

/** A table of schema `tracker`. Members that no column reads are kept in `_extra`. */
export const readable = (name: string, about: string, content: Columns): RecordTable =>
  records(`tracker.${name}`, about, content, { ignoredEverywhere });
