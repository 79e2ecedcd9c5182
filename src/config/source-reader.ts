/** Reads the settings of one pipeline's source: from its file, or from the variables that the file names. */
import { isThisMachine } from '../core/this-machine.ts';
import type { Configurable, Report, SourceOf } from './pipeline.ts';
import { isVariable, type Setting, variableOf } from './settings.ts';
import { didYouMean } from './suggest.ts';
import type { Variables } from './variables.ts';

/** What is wrong with a setting, and the key of another one that would do instead. */
interface Complaint {
  readonly what: string;
  readonly instead: string | undefined;
}

export class SourceReader implements Report {
  readonly #from: Variables;
  readonly #file: string;
  readonly #source: SourceOf<Configurable>;
  /** By key. */
  readonly complaints = new Map<string, Complaint>();

  constructor(from: Variables, file: string, source: SourceOf<Configurable>) {
    [this.#from, this.#file, this.#source] = [from, file, source];
  }

  /** The values of all settings; undefined: the source is not configured. Reports every problem. */
  read(): Readonly<Record<string, unknown>> | undefined {
    const { connector, given, prefix } = this.#source;
    const settings = Object.entries(connector.settings);
    const keys = Object.keys(connector.settings);
    for (const key of Object.keys(given).filter((key) => !keys.includes(key)))
      this.problem(key, `is no setting of ${connector.name}${didYouMean(key, keys)}`);
    const texts = new Map(settings.map(([key, setting]) => [key, this.#text(key, setting)]));
    const values = Object.fromEntries(
      settings.map(([key, setting]) => [key, this.#value(key, setting, texts.get(key))]),
    );
    const names = settings.filter(([key, { isRequired, schema }]) => {
      // What has a default says how a source is read, not which.
      return texts.get(key) !== undefined && (isRequired || schema.safeParse(undefined).data === undefined);
    });
    if (prefix !== undefined && names.length === 0) return undefined;
    for (const [key, { about, isRequired }] of settings)
      if (isRequired && texts.get(key) === undefined) this.problem(key, `is missing: ${about}`);
    connector.check?.(values, this);
    return values;
  }

  readonly problem = (key: string, what: string, instead?: string): void => {
    this.complaints.set(key, { what, instead });
    const or = instead === undefined ? '' : `; or set ${this.nameOf(instead)}`;
    this.#from.problem(this.nameOf(key), what + or);
  };

  readonly warn = (key: string, what: string): void => this.#from.warn(this.nameOf(key), what);

  /** The variable of the first setting that must be given, as the user knows it. */
  needs(): string {
    const settings = Object.entries(this.#source.connector.settings);
    const [key = ''] = settings.find(([, { isRequired }]) => isRequired) ?? settings[0] ?? [];
    return this.#variable(key) ?? this.nameOf(key);
  }

  readonly nameOf = (key: string): string => {
    const variable = this.#variable(key);
    if (variable === undefined) return `${this.#file}: ${key}`;
    return this.#source.prefix === undefined ? `${this.#file}: ${key} (${variable})` : variable;
  };

  #variable(key: string): string | undefined {
    const { given, prefix } = this.#source;
    if (isVariable(given[key])) return given[key].variable;
    return prefix === undefined || given[key] !== undefined ? undefined : variableOf(prefix, key);
  }

  /** The text of a setting; undefined where it is not given. */
  #text(key: string, { isSecret }: Setting): string | undefined {
    const variable = this.#variable(key);
    if (variable !== undefined) return isSecret ? this.#from.secret(variable) : this.#from.text(variable);
    const value = this.#source.given[key] ?? '';
    if (value === '' || (Array.isArray(value) && value.length === 0)) return undefined;
    const instead = `write secret('NAME') and set NAME in the environment, in .env or by NAME_FILE`;
    if (isSecret) this.problem(key, `a secret does not belong into a file that is shared: ${instead}`);
    else if (Array.isArray(value)) {
      if (!value.some((item) => String(item).includes(','))) return value.join(',');
      this.problem(key, 'has an item with a comma in it');
    } else if (typeof value !== 'object') return String(value);
    else this.problem(key, `is an object; write text, a number, a list, env('NAME') or secret('NAME')`);
    return undefined;
  }

  /** What must be given and is not is undefined here: `read` reports it with what it is for. */
  #value(key: string, setting: Setting, text: string | undefined): unknown {
    const problem = (what: string) => this.problem(key, what);
    const value = this.#from.read(this.nameOf(key), this.#variable(key), setting, text, problem);
    const url = typeof value === 'string' ? URL.parse(value) : null;
    if (url?.protocol === 'http:' && !isThisMachine(url.hostname))
      this.warn(key, `credentials go to ${url.host} unencrypted; use https where the server has it`);
    return value;
  }
}
