/** Reads variables from the environment and `.env`. Collects problems and warnings, so that all are reported at once. */
import fs from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { saidBy } from '../core/errors.ts';

type Values = Readonly<Record<string, string | undefined>>;

export class Variables {
  readonly cwd: string;
  readonly problems: string[] = [];
  readonly warnings: string[] = [];
  /** Highest precedence first. */
  readonly #layers: readonly Values[];

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

  /** The value without surrounding blanks; undefined if absent or empty. Of two names in one layer the first wins. */
  text(...names: readonly string[]): string | undefined {
    for (const values of this.#layers)
      for (const name of names) {
        const value = values[name]?.trim();
        if (value) return value;
      }
    return undefined;
  }

  /** As `text`, or the content of the file that NAME_FILE names. A file that cannot be read is a problem. */
  secret(name: string, ...aliases: readonly string[]): string | undefined {
    for (const values of this.#layers) {
      const value = [...aliases, name].map((each) => values[each]?.trim()).find(Boolean);
      const file = values[`${name}_FILE`]?.trim();
      if (value && file) this.problem(name, `both ${name} and ${name}_FILE are set; keep one`);
      if (value) return value;
      if (file) return this.#file(`${name}_FILE`, path.resolve(this.cwd, file));
    }
    return undefined;
  }

  /** Whether NAME or NAME_FILE is set, valid or not. */
  isSet(name: string): boolean {
    return this.text(name, `${name}_FILE`) !== undefined;
  }

  /** Every name that is set. */
  names(): readonly string[] {
    return this.#layers.flatMap((values) => Object.keys(values).filter((name) => values[name]));
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

  #dotenv(): Values {
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
