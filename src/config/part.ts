/** A part of the configuration: its variables as zod schemas, and what they make together. */
import type { z } from 'zod';
import { Secret } from '../core/secret.ts';
import { isThisMachine } from '../core/this-machine.ts';
import type { Variables } from './variables.ts';

/** Schemas by variable name. Each accepts undefined: it is optional or has a default. */
type Shape = Readonly<Record<string, z.ZodType>>;

type Values<S extends Shape, P extends Shape> = {
  readonly [K in keyof S]: Secret | undefined;
} & { readonly [K in keyof P]: z.output<P[K]> };

export interface Part<T> {
  /** Names of secrets; each can also be given as NAME_FILE. */
  readonly secrets: readonly string[];
  /** Names of all other variables. */
  readonly plain: readonly string[];
  /** Reports every problem to `from`; what it returns is to be used only if there was none. */
  read(from: Variables): T;
}

/** `build` gets every value; one that is wrong has been reported and is its default. */
export function part<S extends Shape, P extends Shape, T>(variables: {
  readonly secrets: S;
  readonly plain: P;
  readonly build: (values: Values<S, P>, from: Variables) => T;
}): Part<T> {
  const { secrets, plain, build } = variables;
  return {
    secrets: Object.keys(secrets),
    plain: Object.keys(plain),
    read: (from) => {
      const hidden = Object.entries(secrets).map(([name, schema]) => {
        const text = parsed(from, name, schema, from.secret(name));
        return [name, typeof text === 'string' ? new Secret(text) : undefined];
      });
      const open = Object.entries(plain).map(([name, schema]) => [
        name,
        parsed(from, name, schema, from.text(name)),
      ]);
      return build(Object.fromEntries([...hidden, ...open]) as Values<S, P>, from);
    },
  };
}

function parsed(from: Variables, name: string, schema: z.ZodType, text: string | undefined): unknown {
  const { success, data, error } = schema.safeParse(text);
  if (!success) from.problem(name, error.issues[0]?.message ?? 'is not valid');
  const url = success && /_(BASE|TOKEN)_URL$/.test(name) ? URL.parse(String(data)) : null;
  if (url?.protocol === 'http:' && !isThisMachine(url.hostname))
    from.warn(name, `credentials go to ${url.host} unencrypted; use https where the server has it`);
  return success ? data : schema.safeParse(undefined).data;
}

/**
 * Whether a source is configured: `base` is set, and then everything in `required` (name → what it is), or it is reported.
 * `others`: variables that make no sense without `base`.
 */
export function isConfigured(
  from: Variables,
  source: string,
  base: string,
  others: readonly string[],
  required: Readonly<Record<string, string>>,
): boolean {
  if (!from.isSet(base)) {
    if (others.some((name) => from.isSet(name)))
      from.problem(base, `is missing, though other variables of the ${source} are set`);
    return false;
  }
  for (const [name, what] of Object.entries(required))
    if (!from.isSet(name)) from.problem(name, `is missing${what}`);
  return true;
}
