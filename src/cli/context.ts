import type { Config } from '../config/config.ts';
import type { Connector } from '../connectors/connector.ts';
import type { Embedded } from '../embedded/embedded.ts';
import type { ConnectOptions, Warehouse } from '../warehouse/connect.ts';
import type { StopSignal } from './exit.ts';
import type { Sink } from './terminal.ts';

/** The configuration, with the pipelines. */
export type Settings = Config<Connector>;

/** The parts that a command may need. Each is built at its first use and stopped by `main.ts` in reverse order. */
export interface Parts {
  /** The checked environment. Throws Misconfigured. */
  config(): Promise<Settings>;
  /**
   * The warehouse of `DATABASE_URL`, else the embedded one, which this starts. Its schema may be missing or old.
   * `retryMs`: how long to try a server that does not answer; default 30 s.
   */
  warehouse(retryMs?: number): Promise<Warehouse>;
  /** The embedded server of the home directory; undefined with `DATABASE_URL`. */
  embedded(): Promise<Embedded | undefined>;
  /** An embedded server in another home directory. */
  embeddedIn(home: string): Promise<Embedded>;
  /** A warehouse by its connection string. */
  connected(url: string, options: ConnectOptions): Promise<Warehouse>;
  /** Registers something to be stopped before the parts that were built earlier. */
  keep<T>(part: T, stop: (part: T) => Promise<unknown>): T;
}

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
