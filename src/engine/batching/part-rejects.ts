/** Parts of records that cannot become rows, as rejects with their exact bytes. */

import { pathOf, storableJson, toJson, valueSlice } from '../../core/json.ts';
import { unlessBad } from '../../core/record-parts.ts';
import type { Json } from '../../core/request.ts';
import type { BadPart, Slice } from '../../core/stream.ts';
import type { RejectPart } from '../../load/batch.ts';
import type { Element } from './bulk-lists.ts';

/** The record that parts belong to. `bytes`: its own, as they were received. */
interface Owner {
  readonly key: string;
  readonly record: Json;
  readonly bytes: () => Buffer;
  readonly slice: Slice;
}

/** Makes rejects of a record's parts. */
export const partsRejectedOf =
  ({ key, record, bytes, slice }: Owner): RejectPart =>
  ({ child, error, given, payload, ...bad }, stage) => {
    const { code, field } = error;
    const message = `${error.message} (part of ${key})`;
    const found = payload ?? bytesOf(bad, record, bytes());
    const text = unlessBad(() => storableJson(toJson(given ?? null)));
    const part = { child, given: typeof text === 'string' ? text : null };
    return { key, payload: found, stage, code, field, message, slice, part };
  };

/** The bytes of a part of the elements of a list; undefined where it is in none of them. */
export const bytesIn = (bad: BadPart, elements: readonly Element[]): Buffer | undefined => {
  const found = elements.find(({ record }) => pathOf(record, bad.part) !== undefined);
  return found && bytesOf(bad, found.source, found.bytes());
};

/** The bytes of a part as they stand in those of its record; those of the record where its place is not known. */
const bytesOf = (bad: Pick<BadPart, 'part'>, record: Json, bytes: Buffer): Buffer => {
  const path = 'part' in bad ? pathOf(record, bad.part) : undefined;
  return (path && valueSlice(bytes, path)) ?? bytes;
};
