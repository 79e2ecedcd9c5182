/** What the transforms of the ads platform's entities share: unknown fields are kept and told, words of the source stay as they are. */

import { type JsonObject, own } from '../../../core/record-object.ts';
import { Reading } from '../../../core/record-reader.ts';
import { list, object, requireRecord, soundText, text } from '../../../core/record-values.ts';
import type { Json } from '../../../core/request.ts';
import type { Flow, Mapped, Slice } from '../../../core/stream.ts';
import type { Row } from '../../../core/table.ts';
import { type Instant, parseInstant } from '../../../core/time.ts';

type Content<R> = Omit<R, '_extra'>;

const childless = { children: {} };

/** A transform: reads one record into its row. `known`: the keys of the record that are read, or that say nothing. */
export const mapper = <R extends Row>(
  stream: string,
  noun: string,
  known: readonly string[],
  read: (r: Reading, record: JsonObject, slice: Slice) => Content<R>,
  childrenOf: (
    r: Reading,
    record: JsonObject,
    row: Content<R>,
  ) => Pick<Mapped, 'children' | 'partial'> = () => childless,
): Flow['via'] => {
  const keys = new Set(known);
  return (record, slice) => {
    const r = new Reading(stream, noun, record);
    const found = requireRecord(r, record);
    const content = read(r, found, slice);
    const { children, partial } = childrenOf(r, found, content);
    keepNews(r, found, keys);
    // Last: everything before it may keep something.
    const row = { ...content, _extra: r.extra() };
    const notes = r.notes();
    return { row, children, ...(partial !== undefined && { partial }), ...(notes.length > 0 && { notes }) };
  };
};

/** Keeps what is neither known nor null in `_extra`, and notes each field that is new: sources add some without a word. */
export const keepNews = (
  r: Reading,
  holder: JsonObject,
  known: ReadonlySet<string>,
  as = '',
  told = as,
): void => {
  for (const key of Object.keys(holder)) {
    const value = holder[key];
    if (known.has(key) || value === null || value === undefined) continue;
    r.keep(as + key, value);
    r.note(`${told}${shown(key)}: a field that is not known`);
  }
};

/** The same of an element of a list of the record: kept with its place, noted once however many elements have it. */
export const keepNewsIn = (
  r: Reading,
  list: string,
  index: number,
  element: JsonObject,
  known: ReadonlySet<string>,
): void => keepNews(r, element, known, `${list}[${index}].`, `${list}[].`);

/** A name of the source as a note may show it: short, escaped. */
export const shown = (key: string): string =>
  /^[\w.-]{1,60}$/.test(key) ? key : JSON.stringify(key.slice(0, 60));

/** An object within a record, what it has besides `known` kept as `key.…`. Absent: null. */
export const within = (
  r: Reading,
  holder: JsonObject,
  key: string,
  known: ReadonlySet<string>,
): JsonObject | null => {
  const found = object(r, holder, key);
  if (found !== null) keepNews(r, found, known, `${key}.`);
  return found;
};

/** Where a value may stand, and what errors call it. */
export interface Place {
  readonly holder: JsonObject;
  readonly key: string;
  readonly path: string;
}

/** The first of the places that holds anything. One column takes one value: what stands in the others is kept and noted. */
export const firstTold = (r: Reading, places: readonly [Place, ...Place[]]): Place => {
  const [first = places[0], ...others] = places.filter(
    ({ holder, key }) => (own(holder, key) ?? null) !== null,
  );
  for (const { holder, key, path } of others) {
    r.keep(path, own(holder, key));
    r.note(`${path}: told beside ${first.path}`);
  }
  return first;
};

/** A word out of a list that the source may lengthen at any time: kept as it is, a new one noted. */
export const word = (
  r: Reading,
  holder: JsonObject,
  key: string,
  known: ReadonlySet<string>,
  path = key,
): string | null => {
  const value = text(r, holder, key, path);
  if (value !== null && !known.has(value)) r.note(`${path}: a value that is not known: ${shown(value)}`);
  return value;
};

export const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

const none: readonly string[] = [];

/** A list of texts. Elements that are none are left out, and the list is kept as it came. */
export const texts = (r: Reading, holder: JsonObject, key: string, path = key): readonly string[] => {
  const found = list(r, holder, key, path);
  if (found.length === 0) return none;
  const good = found.filter((each) => typeof each === 'string');
  if (good.length < found.length) r.flip(path, found, 'a list of texts');
  return good.map((each) => soundText(r, path, each));
};

/** Whatever there is, as JSON text. */
export const whatever = (r: Reading, holder: JsonObject, key: string): string | null => {
  const value = own(holder, key);
  return value === undefined || value === null ? null : r.json(key, value);
};

/** An instant of a draft: nothing in one has been validated yet, so what is no instant is kept and noted, not rejected. */
export const draftInstant = (r: Reading, holder: JsonObject, key: string): Instant | null => {
  const value: Json = own(holder, key);
  if (value === undefined || value === null || value === '') return null;
  if (typeof value === 'string')
    try {
      return parseInstant(value);
    } catch {
      // Told below.
    }
  return r.flip(key, value, 'an instant');
};

/** The ad account whose list the record came from. A slice without it is a fault of ours, told as such. */
export const accountOf = (slice: Slice): string => {
  const id = slice.partition?.ad_account_id;
  if (id === undefined) throw new TypeError('the slice has no partition key ad_account_id');
  return id;
};

/** The same, for a record that may name its account itself: another one than its list's is kept and noted. */
export const owner = (r: Reading, record: JsonObject, slice: Slice): string => {
  const listed = accountOf(slice);
  const told = own(record, 'ad_account_id');
  if (told !== undefined && told !== null && told !== listed)
    r.flip('ad_account_id', told, 'the account of its list');
  return listed;
};
