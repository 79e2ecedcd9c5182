import { isObject, type JsonObject, own } from '../../../core/record-object.ts';
import type { Reading } from '../../../core/record-reader.ts';
import { soundText } from '../../../core/record-values.ts';
import type { JsonText } from '../../../core/table.ts';
import { adfText } from './adf.ts';

/** A description or body: as plain text, and the original where it was a document. */
export interface RichText {
  readonly text: string | null;
  readonly adf: JsonText | null;
}

const none: RichText = { text: null, adf: null };

/** Reads text (v2 servers) or an ADF document (v3). */
export const richText = (r: Reading, holder: JsonObject, key: string, path = key): RichText => {
  const value = own(holder, key);
  if (value === undefined || value === null) return none;
  if (typeof value === 'string') return { text: soundText(r, path, value), adf: null };
  if (!isObject(value) || !(own(value, 'type') === 'doc' || Array.isArray(own(value, 'content')))) {
    r.flip(path, value, 'text or a document');
    return none;
  }
  // First the original: it refuses what is too deep to be read to its end.
  const adf = r.json(path, value);
  return { text: soundText(r, path, adfText(value)), adf };
};
