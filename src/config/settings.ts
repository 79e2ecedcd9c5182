/** The settings of a connector: declared once, given in a pipeline file or by variables of the environment. */
import { z } from 'zod';
import { Secret } from '../core/secret.ts';
import * as values from './values.ts';

/** One setting. `schema` reads its text; undefined where it is not given. */
export interface Setting<T = unknown, Required extends boolean = boolean> {
  /** What it is, for people: in messages, in `tidemark init` and in docs. */
  readonly about: string;
  readonly schema: z.ZodType<T>;
  readonly isSecret: boolean;
  readonly isRequired: Required;
}

/** A setting that must be given, unless one of these is called. */
export interface Declared<T> extends Setting<T, true> {
  optional(): Setting<T | undefined, false>;
  default(value: T): Setting<T, false>;
}

function declared<T>(schema: z.ZodType<T>, about: string, isSecret = false): Declared<T> {
  const one = <V>(schema: z.ZodType<V>) => ({ about, schema, isSecret, isRequired: false }) as const;
  return {
    about,
    schema,
    isSecret,
    isRequired: true,
    optional: () => one(schema.optional()),
    default: (value) => one(schema.optional().transform((given) => given ?? value)),
  };
}

/** Builders of settings; each takes what the setting is, for people. */
export const setting = {
  text: (about: string) => declared(z.string(), about),
  /** The base URL of a server, without a slash at its end, a query and credentials. */
  url: (about: string) => declared(values.baseUrl, about),
  integer: (about: string, least: number, most: number) => declared(values.integer(least, most), about),
  /** Requests a second; decimals allowed. */
  rate: (about: string) => declared(values.rate, about),
  /** Text separated by commas; empty where it is not given. */
  list: (about: string) => declared(values.list, about).default([]),
  oneOf: <const W extends string>(about: string, ...choices: readonly W[]) =>
    declared(values.oneOf(...choices), about),
  /** A day (midnight UTC) or an instant, not in the future. */
  instant: (about: string) => declared(values.pastInstant, about),
  /** A password or a token. It is given by a variable or a file, never in a pipeline file, and never printed. */
  secret: (about: string, schema: z.ZodType<string> = z.string()) =>
    declared(
      schema.transform((text) => new Secret(text)),
      about,
      true,
    ),
  /** Any text that the schema reads. */
  of: <T>(about: string, schema: z.ZodType<T>) => declared(schema, about),
};

export type Settings = Readonly<Record<string, Setting>>;

/** What a connector gets: the values of its settings. */
export type ValuesOf<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

/** The value of a variable of the environment or of `.env`; of a secret also of the file that NAME_FILE names. */
export interface Variable<Kind extends 'plain' | 'secret' = 'plain' | 'secret'> {
  readonly variable: string;
  readonly kind: Kind;
}

/** In a pipeline file: the value of this variable of the environment or of `.env`. */
export const env = (variable: string): Variable<'plain'> => ({ variable, kind: 'plain' });

/** In a pipeline file: the secret in this variable, or in the file that `<variable>_FILE` names. */
export const secret = (variable: string): Variable<'secret'> => ({ variable, kind: 'secret' });

type GivenFor<T> = [Exclude<T, undefined>] extends [Secret]
  ? Variable<'secret'>
  : Variable | (T extends Date ? string : T);

/** What a pipeline file gives: text, numbers and lists as they are, or the variables that hold them. */
export type GivenOf<S extends Settings> = {
  readonly [K in keyof S as S[K]['isRequired'] extends true ? K : never]: GivenFor<ValuesOf<S>[K]>;
} & {
  readonly [K in keyof S as S[K]['isRequired'] extends true ? never : K]?: GivenFor<ValuesOf<S>[K]>;
};

export type GivenValues = Readonly<Record<string, unknown>>;

export const isVariable = (given: unknown): given is Variable =>
  typeof given === 'object' && given !== null && typeof Reflect.get(given, 'variable') === 'string';

/** The variable of a setting where all come from the environment: TRACKER and baseUrl give TRACKER_BASE_URL. */
export const variableOf = (prefix: string, key: string): string =>
  `${prefix}_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
