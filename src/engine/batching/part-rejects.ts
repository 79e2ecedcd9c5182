/** Parts of records that cannot become rows, as rejects with their exact bytes. */

import { pathOf, storableJson, toJson, valueSlice } from '../../core/json.ts';
import { unlessBad } from '../../core/record.ts';
import type { BadPart, Slice } from '../../core/stream.ts';
import type { BadBytes, Reject } from '../../load/batch.ts';
import type { Element } from './bulk-lists.ts';

/** The reject of a part of this record. */
export const partRejected = (bad: BadBytes, key: string, record: Element, slice: Slice): Reject => {
  const { child, error, stage = 'transform' } = bad;
  const { code, field } = error;
  const message = `${error.message} (part of ${key})`;
  const payload = bad.payload ?? bytesIn(bad, [record]) ?? record.bytes();
  const text = unlessBad(() => storableJson(toJson(bad.given ?? null)));
  const part = { child, given: typeof text === 'string' ? text : null };
  return { key, payload, stage, code, field, message, slice, part };
};

/**
 * The bytes of a part as they stand in those of its record, which is one of these; those of the record where its place
 * is not known. Undefined where it is in none of them.
 */
export const bytesIn = ({ part }: BadPart, records: readonly Element[]): Buffer | undefined => {
  const found = records.find(({ record }) => pathOf(record, part) !== undefined);
  if (found === undefined) return undefined;
  const path = pathOf(found.source, part);
  const bytes = found.bytes();
  return (path && valueSlice(bytes, path)) ?? bytes;
};
