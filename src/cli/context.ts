import type { Config } from '../config/config.ts';
import type { SourceSettings } from '../connectors/index.ts';
import type { Source } from '../core/stream.ts';
import type { Embedded } from '../embedded/embedded.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Telling } from './progress/choose.ts';
import type { Stop } from './signals.ts';
import type { Sink } from './terminal.ts';
import type { Told } from './waiting.ts';

/** The configuration; sources by name, absent where not configured. */
export type Settings = Config<Readonly<Record<'tracker' | 'ads' | 'workflow', SourceSettings | undefined>>>;

/** The parts a command may need. Each is built when it is first asked for, once, and stopped by `main.ts` in reverse order. */
export interface Parts {
  /** The environment, checked. Throws Misconfigured. */
  config(): Promise<Settings>;
  /**
   * The warehouse as configured: `DATABASE_URL`, else the embedded one, which this starts. Its schema may be missing or old.
   * `patience`: how long to try a server that does not answer, ms; default 30 s, as a run at night should.
   */
  warehouse(patience?: number): Promise<Warehouse>;
  /** The embedded server of the home directory, for those who want to tell how to reach it; undefined with `DATABASE_URL`. */
  embedded(): Promise<Embedded | undefined>;
  /** An embedded warehouse in another home directory. */
  embeddedIn(home: string): Promise<Embedded>;
  /** A warehouse by its connection string. */
  connected(url: string, connections: number, patience?: number): Promise<Warehouse>;
  /**
   * A pipeline's source, opened anew for each run; `told` hears what it finds out. `config`: another than the environment's (the demo's).
   * Throws Misconfigured if it is not configured.
   */
  source(pipeline: string, told?: Told, config?: Settings): Promise<Source>;
  /** Something to be stopped with the parts, before those that were built earlier. */
  keep<T>(part: T, stop: (part: T) => Promise<unknown>): T;
}

/** What every verb is handed. */
export interface Context extends Telling {
  readonly parts: Parts;
  /** Data. */
  readonly out: Sink;
  /** Talk. */
  readonly err: Sink;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** Level of the log: `LOG_LEVEL`, or `debug` with `--verbose`; undefined writes none. */
  readonly logLevel: string | undefined;
  readonly signal: AbortSignal;
  /** The signal that asked to stop, if one did. */
  readonly received: () => Stop | undefined;
  readonly version: string;
}

/** A verb does its work and gives the exit code; what goes wrong it throws. */
export type Verb<Options> = (context: Context, options: Options) => Promise<number>;
