import fs from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { saidBy } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';

/** Variables of the environment and of `.env`, with their mistakes collected instead of thrown one by one. */

/** Where a variable came from: names as the user wrote them. */
export interface Found {
  readonly value: string;
  /** For messages: `environment`, `.env`, or a file. */
  readonly where: string;
}

/** The variables of a part of the configuration; each secret can be given as NAME_FILE too. */
export interface Names {
  readonly secrets: readonly string[];
  readonly plain: readonly string[];
}

/** Reads one variable after the other; keeps what is wrong and what is doubtful. */
export interface Variables {
  /** The value without surrounding blanks; undefined if absent or empty. `alias`: another name, which wins where both are set in one place. */
  text(name: string, alias?: string): string | undefined;
  /** As `text`, or from the file that NAME_FILE names. */
  secret(name: string, alias?: string): Secret | undefined;
  problem(name: string, what: string): void;
  warn(name: string, what: string): void;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** Every name that is set, in either place. */
  readonly names: readonly string[];
}

/** @param cwd the directory that may hold `.env`, and that relative paths are relative to */
export function variables(env: NodeJS.ProcessEnv, cwd: string): Variables {
  const problems: string[] = [];
  const warnings: string[] = [];
  const problem = (name: string, what: string): void => void problems.push(`${name}: ${what}`);
  const warn = (name: string, what: string): void => void warnings.push(`${name}: ${what}`);
  const layers: readonly Layer[] = [
    { where: 'the environment', values: env },
    { where: '.env', values: dotenv(cwd, problem, warn) },
  ];

  const text = (name: string, alias = name): string | undefined => {
    for (const { values } of layers) {
      const value = values[alias]?.trim() || values[name]?.trim();
      if (value) return value;
    }
    return undefined;
  };

  const secret = (name: string, alias = name): Secret | undefined => {
    const pointer = `${name}_FILE`;
    for (const { values, where } of layers) {
      const other = alias === name ? undefined : values[alias]?.trim();
      if (other) return new Secret(other);
      const value = values[name]?.trim();
      const file = values[pointer]?.trim();
      if (value && file) {
        problem(name, `both ${name} and ${pointer} are set in ${where}; keep one`);
        return new Secret(value);
      }
      if (value) return new Secret(value);
      if (file) return fromFile(pointer, path.resolve(cwd, file));
    }
    return undefined;
  };

  const fromFile = (pointer: string, file: string): Secret | undefined => {
    try {
      const { mode } = fs.statSync(file);
      if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
        warn(pointer, `${file} can be read by others (mode ${(mode & 0o777).toString(8)}); chmod 600 it`);
      }
      const value = fs.readFileSync(file, 'utf8').trim();
      if (value) return new Secret(value);
      problem(pointer, `${file} is empty`);
    } catch (error) {
      problem(
        pointer,
        `cannot read ${file} (${error instanceof Error && 'code' in error ? String(error.code) : 'unknown'})`,
      );
    }
    return undefined;
  };

  const names = [
    ...new Set(layers.flatMap(({ values }) => Object.keys(values).filter((name) => values[name]))),
  ];
  return { text, secret, problem, warn, problems, warnings, names };
}

interface Layer {
  readonly where: string;
  readonly values: Readonly<Record<string, string | undefined>>;
}

type Tell = (name: string, what: string) => void;

function dotenv(cwd: string, problem: Tell, warn: Tell): Layer['values'] {
  const file = path.join(cwd, '.env');
  try {
    const text = fs.readFileSync(file, 'utf8');
    if (text.includes('\0')) problem('.env', `${file} is not UTF-8 text; save it as UTF-8`);
    // A byte order mark, as editors on Windows write it, would be a part of the first name.
    const values = parseEnv(text.replace(/^\ufeff/, ''));
    // A token with a # in it would be another one, and a filter another selection, without a word.
    for (const [, name = '', before] of text.matchAll(
      /^\s*(?:export\s+)?(\w+)\s*=\s*([^'"`#\s][^#\r\n]*)(?<=\S)#/gm,
    ))
      if (values[name] === before)
        warn(name, 'ends in .env before its #, where a comment begins; quotes keep it whole');
    return values;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    problem('.env', `cannot read ${file} (${saidBy(error)})`);
    return {};
  }
}
