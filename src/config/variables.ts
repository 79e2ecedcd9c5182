/** Reads variables from the environment and `.env`. Collects problems and warnings, so that all are reported at once. */
import fs from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import type { z } from 'zod';
import { saidBy } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import { isThisMachine } from '../core/this-machine.ts';

type Texts = Readonly<Record<string, string | undefined>>;

/** Without surrounding blanks; undefined if absent or empty. Other programs name proxies in lower case, which counts first. */
const textIn = (texts: Texts, name: string): string | undefined =>
  (name.endsWith('_PROXY') && texts[name.toLowerCase()]?.trim()) || texts[name]?.trim() || undefined;

export class Variables {
  readonly cwd: string;
  readonly problems: string[] = [];
  readonly warnings: string[] = [];
  /** Highest precedence first. */
  readonly #layers: readonly Texts[];

  /** `cwd`: the directory that may hold `.env`; relative paths are relative to it. */
  constructor(env: NodeJS.ProcessEnv, cwd: string) {
    this.cwd = cwd;
    this.#layers = [env, this.#dotenv()];
  }

  problem(name: string, what: string): void {
    this.problems.push(`${name}: ${what}`);
  }

  warn(name: string, what: string): void {
    this.warnings.push(`${name}: ${what}`);
  }

  /** The value; undefined if absent or empty. */
  text(name: string): string | undefined {
    return this.#layers.map((texts) => textIn(texts, name)).find(Boolean);
  }

  /** As `text`, or the content of the file that NAME_FILE names. A file that cannot be read is a problem. */
  secret(name: string): string | undefined {
    for (const texts of this.#layers) {
      const [value, file] = [textIn(texts, name), textIn(texts, `${name}_FILE`)];
      if (value && file) this.problem(name, `both ${name} and ${name}_FILE are set; keep one`);
      if (value) return value;
      if (file) return this.#file(`${name}_FILE`, path.resolve(this.cwd, file));
    }
    return undefined;
  }

  /** Whether NAME or NAME_FILE is set, valid or not. */
  isSet(name: string): boolean {
    return (this.text(name) ?? this.text(`${name}_FILE`)) !== undefined;
  }

  /**
   * Whether a source is configured: `base` is set, and then everything in `required` (name → what it is), or it is reported.
   * `others`: variables that make no sense without `base`.
   */
  hasSource(source: string, base: string, others: readonly string[], required: Texts = {}): boolean {
    if (this.isSet(base)) {
      for (const [name, what] of Object.entries(required))
        if (!this.isSet(name)) this.problem(name, `is missing${what}`);
      return true;
    }
    if (others.some((name) => this.isSet(name)))
      this.problem(base, `is missing, though other variables of the ${source} are set`);
    return false;
  }

  /** Every name that is set. */
  names(): readonly string[] {
    return this.#layers.flatMap((texts) => Object.keys(texts).filter((name) => texts[name]));
  }

  #file(name: string, file: string): string | undefined {
    try {
      const mode = fs.statSync(file).mode & 0o777;
      if (process.platform !== 'win32' && (mode & 0o077) !== 0)
        this.warn(name, `${file} can be read by others (mode ${mode.toString(8)}); chmod 600 it`);
      const value = fs.readFileSync(file, 'utf8').trim();
      if (value) return value;
      this.problem(name, `${file} is empty`);
    } catch (error) {
      this.problem(name, `cannot read ${file} (${saidBy(error)})`);
    }
    return undefined;
  }

  #dotenv(): Texts {
    const file = path.join(this.cwd, '.env');
    if (!fs.existsSync(file)) return {};
    try {
      // A byte order mark, as editors on Windows write it, would become part of the first name.
      const text = fs.readFileSync(file, 'utf8').replace(/^\ufeff/, '');
      if (text.includes('\0')) this.problem('.env', `${file} is not UTF-8 text; save it as UTF-8`);
      const values = parseEnv(text);
      // Otherwise a token with a # in it would be cut without notice.
      const cut = /^\s*(?:export\s+)?(\w+)\s*=\s*([^'"`#\s][^#\r\n]*)(?<=\S)#/gm;
      for (const [, name = '', before] of text.matchAll(cut))
        if (values[name] === before)
          this.warn(name, 'ends in .env before its #, where a comment begins; quotes keep it whole');
      return values;
    } catch (error) {
      this.problem('.env', `cannot read ${file} (${saidBy(error)})`);
      return {};
    }
  }
}

/** Schemas by variable name. Each accepts undefined: it is optional or has a default. */
type Shape = Readonly<Record<string, z.ZodType>>;

type Values<S extends Shape, P extends Shape> = {
  readonly [K in keyof S]: Secret | undefined;
} & { readonly [K in keyof P]: z.output<P[K]> };

/** A part of the configuration. */
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
  const read = (from: Variables): T => {
    const values: Record<string, unknown> = {};
    for (const [name, schema] of Object.entries({ ...plain, ...secrets })) {
      const isSecret = Object.hasOwn(secrets, name);
      const value = parsed(from, name, schema, isSecret ? from.secret(name) : from.text(name));
      values[name] = isSecret && typeof value === 'string' ? new Secret(value) : value;
    }
    return build(values as Values<S, P>, from);
  };
  return { secrets: Object.keys(secrets), plain: Object.keys(plain), read };
}

function parsed(from: Variables, name: string, schema: z.ZodType, text: string | undefined): unknown {
  const { success, data, error } = schema.safeParse(text);
  if (!success) from.problem(name, error.issues[0]?.message ?? 'is not valid');
  const url = success && /_(BASE|TOKEN)_URL$/.test(name) ? URL.parse(String(data)) : null;
  if (url?.protocol === 'http:' && !isThisMachine(url.hostname))
    from.warn(name, `credentials go to ${url.host} unencrypted; use https where the server has it`);
  return success ? data : schema.safeParse(undefined).data;
}
