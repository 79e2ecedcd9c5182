/** What a pipeline file says: plain data, no engine, no source code behind it. */

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

/** What is triggered at the workflow engine when a run succeeded and every receipt of it holds. */
export interface Handoff {
  readonly dag: string;
  /** Whether its end is waited for and stored with our run. Default: no. */
  readonly wait?: boolean;
  /** Parameters besides RUN_ID, FROM and TO. */
  readonly params?: Readonly<Record<string, string>>;
}

export interface Pipeline {
  /** As in `tidemark sync NAME` and `ops.sources.name`. */
  readonly name: string;
  /** One sentence for people. */
  readonly about: string;
  /** Which kind of source it reads. */
  readonly source: 'tracker' | 'ads' | 'workflow';
  /** The variable without which it is not configured. */
  readonly needs: string;
  readonly jobs: readonly Job[];
  readonly onSuccess?: Handoff;
}

/** The one that runs all others. */
export interface Nightly {
  readonly name: 'nightly';
  readonly about: string;
  readonly jobs: readonly Job[];
  /** Triggered when every part of it succeeded. */
  readonly onSuccess?: Handoff;
}
