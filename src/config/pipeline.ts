/** What a pipeline file says: plain data, which `readConfig` checks. */
import type { OnSuccess } from '../core/dag-engine.ts';
import type { GivenValues, Settings, ValuesOf } from './settings.ts';

/** A time that comes again. Five cron fields, read in the IANA time zone: data windows do not depend on it, only the start does. */
export interface Schedule {
  readonly cron: string;
  readonly timeZone: string;
}

/** Something a pipeline does, and when. */
export interface Job {
  readonly does: 'sync' | 'full' | 'reconcile';
  readonly on: Schedule;
  /** Not started at its own time, but as a part of `nightly` when it is due then. A job without it starts by itself. */
  readonly within?: 'nightly';
}

/** Where a connector says what is wrong with its settings. */
export interface Report {
  /** `instead`: another setting that would do. */
  problem(key: string, what: string, instead?: string): void;
  warn(key: string, what: string): void;
}

/** What the configuration needs to know of a connector. */
export interface Configurable<S extends Settings = Settings> {
  readonly name: string;
  /** One sentence for people. */
  readonly about: string;
  readonly settings: S;
  /** Rules between settings. A value that is missing or wrong is undefined. */
  check?(values: Partial<ValuesOf<S>>, report: Report): void;
  /** Settings that begin a login where the source asks for one: `init` asks for them until one is given. */
  readonly logins?: readonly (keyof S & string)[];
  /** Kinds of sites that `init` knows by a name of their own, each with the settings that it gives, as `--set` has them. */
  readonly kinds?: Readonly<Record<string, readonly string[]>>;
  /** Whether deletions are found by a reconcile: some stream says whether one record still exists. */
  readonly reconciles?: boolean;
}

/** A connector with its settings, as calling it gives them. */
export interface SourceOf<C extends Configurable> {
  readonly connector: C;
  readonly given: GivenValues;
  /** All settings come from variables that begin with it, e.g. TRACKER; without any the pipeline is not configured. */
  readonly prefix?: string;
}

/** A pipeline: one source, which streams, when, and what follows. */
export interface PipelineOptions<C extends Configurable = Configurable> {
  /** As in `tidemark sync NAME`, `bi`'s column `source` and `ops.sources.name`: small letters, digits, - and _. */
  readonly name: string;
  /** One sentence for people. Default: the connector's. */
  readonly about?: string;
  readonly source: SourceOf<C>;
  /**
   * When it runs by itself, as five cron fields. Without `sync` it runs as a part of `nightly`. `reconcile`: Sundays unless set; false: never.
   * `timeZone`: an IANA name; default TIDEMARK_TIME_ZONE, else UTC.
   */
  readonly schedule?: {
    readonly sync?: string;
    readonly full?: string;
    readonly reconcile?: string | false;
    readonly timeZone?: string;
  };
  /** Streams that runs leave out. */
  readonly exclude?: readonly string[];
  readonly onSuccess?: OnSuccess;
}

/** The run over several pipelines, one after the other. */
export interface NightlyOptions {
  /** One sentence for people. */
  readonly about?: string;
  /** Five cron fields. Default: TIDEMARK_SCHEDULE, else 02:00 every night. */
  readonly schedule?: string;
  /** An IANA name. Default: TIDEMARK_TIME_ZONE, else UTC. */
  readonly timeZone?: string;
  /** Names of its pipelines, in their order. Default: every one without a `schedule.sync` of its own. */
  readonly pipelines?: readonly string[];
  /** Triggered when every part of it succeeded. */
  readonly onSuccess?: OnSuccess;
}

export type PipelineDefinition<C extends Configurable = Configurable> =
  | (PipelineOptions<C> & { readonly is: 'pipeline' })
  | (NightlyOptions & { readonly is: 'nightly' });

/** Declares a pipeline, e.g. as the default export of `pipelines/tracker.ts`. */
export const pipeline = <C extends Configurable>(options: PipelineOptions<C>): PipelineDefinition<C> => ({
  ...options,
  is: 'pipeline',
});

/** Declares when several pipelines run together, e.g. as the default export of `pipelines/nightly.ts`. */
export const nightly = (options: NightlyOptions = {}): PipelineDefinition<never> => ({
  ...options,
  is: 'nightly',
});
