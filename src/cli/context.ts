import type { Parts } from '../runs/assemble.ts';
import type { StopSignal } from './exit.ts';
import type { Sink } from './terminal.ts';

/** What every verb gets. */
export interface Context {
  readonly parts: Parts;
  /** Data. */
  readonly out: Sink;
  /** Talk. */
  readonly err: Sink;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** Talk on stderr; silent with `--quiet` and `--json`. */
  readonly say: (text: string) => void;
  /** A warning on stderr, never silent; with `--verbose` also the causes of the error. */
  readonly warn: (text: string, error?: unknown) => void;
  readonly signal: AbortSignal;
  /** The signal that asked to stop, if one did. */
  readonly received: () => StopSignal | undefined;
  readonly version: string;
  readonly host: Pick<NodeJS.Process, 'env' | 'cwd'>;
  /** The answer of the user; hidden: it is not shown while it is typed. Absent without a terminal and with `--json`. */
  readonly ask?: (question: string, isHidden: boolean) => Promise<string>;
}

/** A verb does its work and returns the exit code; it throws what goes wrong. */
export type Verb<Options = object> = (context: Context, options: Options) => Promise<number>;
