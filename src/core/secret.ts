import { inspect } from 'node:util';

/** A value that must not be shown: printed, logged, spread, compared or serialised it is `***`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself; call it only where it is used. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '***';
  }

  toJSON(): string {
    return '***';
  }

  [inspect.custom](): string {
    return 'Secret(***)';
  }
}
