/** Reads variables from the environment and `.env`. Collects problems and warnings, so that all are reported at once. */
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import type { z } from 'zod';
import { Misconfigured, saidBy } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';

type Texts = Readonly<Record<string, string | undefined>>;

/** Without surrounding blanks; undefined if absent or empty. Other programs name proxies in lower case, which counts first. */
const textIn = (texts: Texts, name: string): string | undefined =>
  (name.endsWith('_PROXY') && texts[name.toLowerCase()]?.trim()) || texts[name]?.trim() || undefined;

/** A value of the configuration, for people; of a secret only whether it is set. */
export interface Shown {
  /** The variable, or the file of the pipeline and the key. */
  readonly name: string;
  /** Absent: the pipeline file itself holds it. */
  readonly variable: string | undefined;
  readonly isSecret: boolean;
  readonly value: string;
  /** environment, .env, the file of a secret, a pipeline file or default. */
  readonly from: string;
}

/** Secrets are `***`, lists are separated by commas. */
function shownValue(value: unknown): string {
  if (value instanceof Date) return value.toISOString().replace('T00:00:00.000Z', '');
  return value === undefined ? '' : String(value);
}

export class Variables {
  readonly cwd: string;
  readonly problems: string[] = [];
  readonly warnings: string[] = [];
  /** What was read, in its order, for `tidemark config`. */
  readonly shown: Shown[] = [];
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
      const value = textIn(texts, name);
      const file = textIn(texts, `${name}_FILE`);
      if (value && file) this.problem(name, `both ${name} and ${name}_FILE are set; keep one`);
      if (value) return value;
      if (file) return this.file(`${name}_FILE`, path.resolve(this.cwd, file));
    }
    return undefined;
  }

  /** Whether NAME or NAME_FILE is set, valid or not. */
  isSet(name: string): boolean {
    return (this.text(name) ?? this.text(`${name}_FILE`)) !== undefined;
  }

  /** Where the value of a variable comes from, for people. */
  originOf(name: string): string {
    const isIn = (texts: Texts) => textIn(texts, name) ?? textIn(texts, `${name}_FILE`);
    const layer = this.#layers.find(isIn);
    if (layer === undefined) return 'default';
    const where = layer === this.#layers[0] ? 'environment' : '.env';
    return textIn(layer, name) === undefined ? `${where}, the file of ${name}_FILE` : where;
  }

  /** The value of a variable by the schema, which accepts undefined: it is optional or has a default. That is taken for a wrong one, a problem. */
  value<T>(name: string, schema: z.ZodType<T>): T {
    return this.read(name, name, { schema, isSecret: false }, this.text(name));
  }

  /** The same of a secret. */
  secretValue(name: string, wanted: z.ZodType<string | undefined>): Secret | undefined {
    const schema = wanted.transform((text) => (text === undefined ? undefined : new Secret(text)));
    return this.read(name, name, { schema, isSecret: true }, this.secret(name));
  }

  /**
   * The value of a text, and in place of a wrong one, which is a problem, that of no text; undefined where the schema wants a text and there is
   * none. Notes it for people under `name`. `variable`: where the text is from; undefined: a pipeline file.
   */
  read<T>(
    name: string,
    variable: string | undefined,
    { schema, isSecret }: { readonly schema: z.ZodType<T>; readonly isSecret: boolean },
    text: string | undefined,
    problem = (what: string) => this.problem(name, what),
  ): T {
    const { success, data, error } = schema.safeParse(text);
    if (!success && text !== undefined) problem(error.issues[0]?.message ?? 'is not valid');
    const value = success ? data : schema.safeParse(undefined).data;
    const origin = text === undefined ? 'default' : 'pipeline file';
    const from = variable === undefined ? origin : this.originOf(variable);
    this.shown.push({ name, variable, isSecret, value: shownValue(value), from });
    return value as T;
  }

  /** Every name that is set. */
  names(): readonly string[] {
    return this.#layers.flatMap((texts) => Object.keys(texts).filter((name) => texts[name]));
  }

  /** The content of a file that holds a secret. One that cannot be read is a problem. */
  file(name: string, file: string): string | undefined {
    try {
      const { mode, uid } = fs.statSync(file);
      // What another user owns (a Secret of Kubernetes, a credential of systemd) can be read only by way of its group, or of an ACL that shows there.
      const others = uid === process.getuid?.() ? 0o077 : 0o007;
      if (process.platform !== 'win32' && (mode & others) !== 0)
        this.warn(name, `${file} can be read by others (mode ${(mode & 0o777).toString(8)}); chmod 600 it`);
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

/**
 * The text of an `.env` in which the variable has this value: in place of its last line, a comment too, else at the end. Every other variable
 * stays as it is. Throws Misconfigured where that cannot be done.
 */
export function withVariable(text: string, name: string, value: string): string {
  const lines = ['', `'`, '"', '`'].map((quote) => `${name}=${quote}${value}${quote}`);
  // Quotes in later lines must not count.
  const line = lines.find((each) => parseEnv(`${each}\n#'"\``)[name] === value);
  const place = RegExp(`^([^]*^)?[ \\t]*(?:#[ \\t]*)?${name}[ \\t]*=.*$`, 'm');
  const after = place.test(text)
    ? text.replace(place, (_, head = '') => `${head}${line}`)
    : `${text.replace(/(?<=[^\n])$/, '\n')}${line}\n`;
  const isSame = isDeepStrictEqual({ ...parseEnv(after) }, { ...parseEnv(text), [name]: value });
  // What was no UTF-8 would not be written as it was.
  if (line !== undefined && isSame && !text.includes('\ufffd')) return after;
  throw new Misconfigured(`${name} cannot be written into .env; set it in the environment`);
}
