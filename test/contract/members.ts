/** Records with every member that a vendor's document knows, and which of their members a transform makes nothing of. */
import type { Mapped } from '../../src/core/stream.ts';

/** As much of a JSON schema as the documents use to say what an object has. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

export type Schemas = Readonly<Record<string, Schema>>;

/** A member of a record that takes a value; everything else of a pattern is in the record as it is. */
export class Leaf {
  readonly type: string;

  constructor(type = 'string') {
    this.type = type;
  }
}

export type Pattern = Leaf | string | number | boolean | null | readonly Pattern[] | Members;
export interface Members {
  readonly [name: string]: Pattern;
}

/** A member that every object has besides, as a vendor may add it one day. */
const news = (object: string): Members => ({ [`newIn_${object}`]: new Leaf() });

/**
 * The record that a schema describes. `elsewhere`: schemas, by name, of records that have a stream of their own, with the members that count
 * where another record contains one.
 */
export const patternOf = (
  schemas: Schemas,
  schema: Schema,
  elsewhere: Readonly<Record<string, readonly string[]>> = {},
): Members => {
  const of = (part: Schema, name: string): Pattern => {
    const found = whole(schemas, part);
    const some = found.names.map((one) => elsewhere[one]).find((one) => one !== undefined);
    if (found.items !== undefined) return [of(found.items, name)];
    if (some !== undefined) return membersOf(found, (one) => some.includes(one));
    if (isObject(found)) return { ...membersOf(found), ...news(name) };
    return new Leaf(found.format?.startsWith('date') ? found.format : found.type);
  };
  const membersOf = (
    { properties = {} }: Schema,
    isWanted: (name: string) => boolean = () => true,
  ): Members =>
    Object.fromEntries(
      Object.entries(properties).flatMap(([name, one]) => (isWanted(name) ? [[name, of(one, name)]] : [])),
    );
  return { ...membersOf(whole(schemas, schema)), ...news('record') };
};

const isObject = ({ type, properties, additionalProperties }: Schema): boolean =>
  type === 'object' || properties !== undefined || typeof additionalProperties === 'object';

/** A schema with what it refers to and is made of, and the names of those. */
const whole = (schemas: Schemas, schema: Schema): Schema & { readonly names: readonly string[] } => {
  const name = schema.$ref?.split('/').at(-1);
  if (name !== undefined) {
    const found = whole(schemas, schemas[name] ?? {});
    return { ...found, names: [name, ...found.names] };
  }
  const parts = [...(schema.allOf ?? []), ...(schema.oneOf ?? [])].map((part) => whole(schemas, part));
  const properties = [schema, ...parts].flatMap((part) => Object.entries(part.properties ?? {}));
  return {
    ...Object.assign({}, ...parts, schema),
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
    names: parts.flatMap((part) => part.names),
  };
};

/** The pattern of a record that is like this one. */
export const patternLike = (example: unknown, name = 'record'): Pattern => {
  if (Array.isArray(example)) return example.map((one) => patternLike(one, name));
  if (typeof example === 'object' && example !== null)
    return {
      ...Object.fromEntries(Object.entries(example).map(([key, one]) => [key, patternLike(one, key)])),
      ...news(name),
    };
  if (typeof example === 'string' && /^\d{4}-\d\d-\d\dT/.test(example)) return new Leaf('date-time');
  return new Leaf(typeof example === 'string' && /^\d{4}-\d\d-\d\d$/.test(example) ? 'date' : typeof example);
};

/** The paths of members whose value no row depends on. */
export const lostBy = (via: (record: unknown) => Mapped, pattern: Pattern): readonly string[] => {
  const leaves = leavesOf(pattern);
  const recordWith = (other?: Leaf): unknown =>
    filled(pattern, (leaf) => valueFor(leaf, leaves, leaf === other));
  const usual = rowsOf(via(recordWith()));
  return [...leaves].flatMap(([leaf, path]) => (rowsOf(via(recordWith(leaf))) === usual ? [path] : []));
};

const leavesOf = (pattern: Pattern): ReadonlyMap<Leaf, string> => {
  const found = new Map<Leaf, string>();
  const look = (part: Pattern, path: readonly string[]): void => {
    if (part instanceof Leaf) found.set(part, path.join('.'));
    else if (typeof part === 'object' && part !== null)
      for (const [name, one] of Object.entries(part)) look(one, [...path, name]);
  };
  look(pattern, []);
  return found;
};

const filled = (pattern: Pattern, value: (leaf: Leaf) => unknown): unknown => {
  if (pattern instanceof Leaf) return value(pattern);
  if (Array.isArray(pattern)) return pattern.map((one: Pattern) => filled(one, value));
  if (typeof pattern !== 'object' || pattern === null) return pattern;
  return Object.fromEntries(Object.entries(pattern).map(([name, one]) => [name, filled(one, value)]));
};

const DAY = 86_400_000;

/** A value of its own for each leaf, except true and false. All texts are digits: an id may be text that is stored as a number. */
const valueFor = (leaf: Leaf, leaves: ReadonlyMap<Leaf, string>, isOther: boolean): unknown => {
  const place = 1 + [...leaves.keys()].indexOf(leaf) + (isOther ? leaves.size : 0);
  if (leaf.type === 'boolean') return isOther;
  if (leaf.type === 'integer' || leaf.type === 'number') return place;
  if (leaf.type === 'date-time') return new Date(place * DAY).toISOString();
  if (leaf.type === 'date') return new Date(place * DAY).toISOString().slice(0, 10);
  return String(place);
};

const rowsOf = ({ row, children, nestedLists = [] }: Mapped): string =>
  JSON.stringify([row, children, nestedLists.map(({ child }) => child)], (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
