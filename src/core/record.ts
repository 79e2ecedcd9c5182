/**
 * Records of parsed JSON: objects, in which any key is data (`toString` and `__proto__` included), lists whose elements become
 * rows one by one (an element that cannot be read costs itself, not its list and not its record), and a record while it is read.
 */

import { BadData } from './errors.ts';
import { ExactNumber, membersToJson, toJson } from './json.ts';
import type { BadPart, Json, Mapped, TakeBadPart } from './stream.ts';

export type JsonObject = Readonly<Record<string, Json>>;

export const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

/** The value under a key of the object itself, never an inherited one: a changelog item has a key `toString`. */
export const own = (object: JsonObject, key: string): Json => {
  const value = object[key];
  // What an object inherits is functions, and under `__proto__` what it inherits them from: nothing that JSON knows.
  return typeof value === 'function' || value === Object.prototype ? undefined : value;
};

/** A scalar as text; '' for an object or a list, whose own `toString` may be anything. */
export const wordOf = (value: Json): string => (isObject(value) || Array.isArray(value) ? '' : String(value));

/** The members under keys that are not known, without nulls; undefined where there are none. */
export const unknownIn = (
  object: JsonObject,
  known: ReadonlySet<string>,
  isNews: (value: Json) => boolean = () => true,
): JsonObject | undefined => {
  let found: Record<string, Json> | undefined;
  for (const key of Object.keys(object)) {
    if (known.has(key)) continue;
    const value = object[key];
    if (value === null || value === undefined || !isNews(value)) continue;
    found ??= {};
    put(found, key, value);
  }
  return found;
};

/** Sets a key as data; `__proto__` would otherwise call a setter and be lost. */
export const put = (object: Record<string, Json>, key: string, value: Json): void => {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
};

/** Names written as words: `names('id key', 'self')`. */
export const names = (...words: readonly string[]): ReadonlySet<string> =>
  new Set(words.join(' ').split(' '));

type ReadPart<T> = (element: Json, index: number) => readonly T[];

export type PartsOf<T> = [
  child: string,
  elements: readonly Json[],
  read: ReadPart<T>,
  given?: (index: number) => Json,
];

/** Throws what is wrong with a part: for lists that are read whole or not at all. */
const throwBad: TakeBadPart = ({ error }) => {
  throw error;
};

/**
 * What `read` makes of each element. An element for which it throws `BadData` is left out and given to `bad`, with what
 * `given` says of it for a replay.
 */
export const eachPart = <T>(
  child: string,
  elements: readonly Json[],
  read: ReadPart<T>,
  bad: TakeBadPart = throwBad,
  given?: (index: number) => Json,
): readonly T[] => {
  // Most lists are empty.
  if (elements.length === 0) return [];
  const all: T[] = [];
  for (let index = 0; index < elements.length; index += 1) {
    const part = elements[index];
    try {
      for (const one of read(part, index)) all.push(one);
    } catch (error) {
      if (!(error instanceof BadData)) throw error;
      bad({ child, part, error, given: given?.(index) ?? null });
    }
  }
  return all;
};

/** What the step gives, or the `BadData` that it throws; every other error is a defect. */
export function unlessBad<T>(step: () => T): T | BadData {
  try {
    return step();
  } catch (error) {
    if (error instanceof BadData) return error;
    throw error;
  }
}

/** A reading within another: of an element of a list. Only errors and notes need the list and the index. */
interface Inside {
  readonly of: Reading;
  readonly list: string;
  readonly index: number;
  readonly ownExtra: boolean;
}

/**
 * One record while it is being read: names it in errors, keeps what no column holds, notes what changed its type.
 * Lives as long as the transform of that record.
 */
export class Reading {
  readonly #stream: string;
  readonly #noun: string;
  readonly #record: Json;
  /** The part of paths that columns are spoken of without, e.g. `fields.`. */
  readonly #prefix: string;
  readonly #inside: Inside | undefined;
  /** The reading of the record itself, which collects the notes. */
  readonly #whole: Reading;
  /** The reading whose `_extra` gets what is kept here. */
  readonly #keeper: Reading;
  #notes: Set<string> | undefined;
  #badParts: BadPart[] | undefined;
  #extra: Record<string, Json> | undefined;

  constructor(stream: string, noun: string, record: Json, prefix = '', inside?: Inside) {
    this.#stream = stream;
    this.#noun = noun;
    this.#record = record;
    this.#prefix = prefix;
    this.#inside = inside;
    this.#whole = inside === undefined ? this : inside.of.#whole;
    this.#keeper = inside === undefined || inside.ownExtra ? this : inside.of.#keeper;
  }

  /**
   * The element of a list of this record; what it keeps lands in this record's `_extra`, unless it becomes a row
   * with an `_extra` of its own.
   */
  element(list: string, index: number, ownExtra = false): Reading {
    const prefix = ownExtra ? `${list}[${index}].` : this.#prefix;
    const inside = { of: this, list, index, ownExtra };
    return new Reading(this.#stream, this.#noun, this.#record, prefix, inside);
  }

  /** The error that rejects the record: `tracker.issues: issue PROJ-7 has no fields.updated`. */
  reject(code: string, path: string, what: string, cause?: unknown): BadData {
    const field = this.#path(path);
    const message = `${this.#stream}: ${this.#noun} ${nameOf(this.#record)} ${what.replace('%', () => field)}`;
    return new BadData(code, message, { field, cause });
  }

  /** An unexpected type: the column stays null, the raw value is kept with the reason, and the note is made once. */
  flip(path: string, raw: Json, expected: string): null {
    const reason = `expected ${expected}, got ${kindOf(raw)}`;
    this.#keeper.#put(this.#key(path), { _raw: raw, _reason: reason });
    // Without the index: one note a field, however many elements have it.
    this.note(`${this.#list()}${path}: ${reason}`);
    return null;
  }

  /** Something worth a line in `ops.schema_changes`, made once a record. Not for what differs from record to record. */
  note(note: string): void {
    const whole = this.#whole;
    whole.#notes ??= new Set();
    whole.#notes.add(note);
  }

  /** Takes a part of the record that is rejected by itself. */
  takeBad(bad: BadPart): void {
    const whole = this.#whole;
    whole.#badParts ??= [];
    whole.#badParts.push(bad);
  }

  /** `eachPart` of a list of this record. */
  parts<T>(...[child, elements, read, given]: PartsOf<T>): readonly T[] {
    return elements.length === 0 ? [] : eachPart(child, elements, read, (bad) => this.takeBad(bad), given);
  }

  /** Keeps a value that has no column; that of an element with the place of the element. */
  keep(key: string, value: Json): void {
    if (this.#keeper === this) this.#put(key, value);
    else this.#keeper.#put(this.#key(key), value);
  }

  #put(key: string, value: Json): void {
    this.#extra ??= {};
    put(this.#extra, key, value);
  }

  /**
   * Keeps every key that is neither known nor null, under its name with the prefix `as`; `isNoted`: with a note for each
   * name, for sources that add fields at any time.
   */
  keepUnknown(holder: JsonObject, known: ReadonlySet<string>, as = '', isNoted = false): void {
    // Without a list of the entries: this runs for each record and each of its parts.
    for (const name in holder) {
      if (known.has(name) || !Object.hasOwn(holder, name)) continue;
      const value = holder[name];
      if (value === null || value === undefined) continue;
      this.keep(as + name, value);
      if (isNoted) this.note(`${this.#list()}${as}${shown(name)}: a field that is not known`);
    }
  }

  /** JSON text of a value of this record. Rejects the record where `toJson` cannot take it. */
  json(path: string, value: Json): string {
    try {
      return toJson(value);
    } catch (error) {
      throw this.because(error, path);
    }
  }

  /** JSON text of several values; the error names the one at fault. */
  jsonObject(prefix: string, values: JsonObject): string {
    return this.jsonMembers(prefix, Object.keys(values), Object.values(values));
  }

  /** The same of keys, which differ, and their values. */
  jsonMembers(prefix: string, keys: readonly string[], values: readonly Json[]): string {
    try {
      return membersToJson(keys, values);
    } catch (error) {
      for (const [at, key] of keys.entries()) this.json(prefix + key, values[at]);
      // Each is good by itself: together they are one level too deep, or a key is at fault.
      throw this.because(error, prefix);
    }
  }

  /** The `_extra` column. */
  extra(): string | null {
    return this.#extra === undefined ? null : this.jsonObject(this.#prefix, this.#extra);
  }

  notes(): readonly string[] {
    return this.#notes === undefined ? [] : [...this.#notes];
  }

  /** What a mapped record says besides its rows: notes, and parts that are rejected by themselves. */
  remarks(): Pick<Mapped, 'notes' | 'badParts'> {
    const notes = this.notes();
    const badParts = this.#badParts;
    return { ...(notes.length > 0 && { notes }), ...(badParts && { badParts }) };
  }

  /** A fault in a value as the rejection of the record; anything else as it is. */
  because(error: unknown, path: string): unknown {
    return error instanceof BadData
      ? this.reject(error.code, path, `has a bad %: ${error.message}`, error)
      : error;
  }

  /** How notes begin that are about each element of a list. */
  #list(): string {
    return this.#inside === undefined ? '' : `${this.#inside.list}[].`;
  }

  /** What a path is called in `_extra`. */
  #key(path: string): string {
    const field = this.#path(path);
    return field.startsWith(this.#prefix) ? field.slice(this.#prefix.length) : `record.${field}`;
  }

  #path(path: string): string {
    if (this.#inside === undefined) return path;
    const element = `${this.#inside.list}[${this.#inside.index}]`;
    return path === '' ? element : `${element}.${path}`;
  }
}

/** A name of the source as a note may show it: short, escaped. */
export const shown = (name: string): string =>
  /^[\w.-]{1,60}$/.test(name) ? name : JSON.stringify(name.slice(0, 60));

/** What kind of JSON a value is, in words. */
export const kindOf = (value: Json): string => {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'an object';
  if (typeof value === 'string') return 'text';
  return typeof value === 'boolean' ? 'true or false' : 'a number';
};

/** What people call the record: its key or id, if that can be shown. */
const nameOf = (record: Json): string => {
  if (!isObject(record)) return `(${kindOf(record)})`;
  for (const key of ['key', 'id', 'change_id', 'entity_id', 'accountId', 'groupId', 'name']) {
    const value = own(record, key);
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value);
      return /^[\w:.@-]{1,80}$/.test(text) ? text : JSON.stringify(text.slice(0, 80));
    }
  }
  return '(without id)';
};
