/** What people are told when the state of a pipeline changes: what, since when, why probably, and what to type next. */

/** The state of a pipeline as people know it. */
export type Health = 'ok' | 'failed' | 'partly_failed' | 'needs_attention' | 'stale' | 'stuck';

/** What a message is about. */
export type Event = Exclude<Health, 'ok'> | 'recovered' | 'reminder';

/** A run by its number, which `tidemark runs` knows, or a request by its id, which `tidemark remote` does: a caller may give it a number, too. */
export type Which = { readonly run: string } | { readonly request: string };

/** One message; plain values, no secret. Instants are ISO 8601 UTC. */
export interface Message {
  readonly event: Event;
  readonly pipeline: string;
  readonly state: Health;
  readonly before: Health;
  readonly since: string;
  /**
   * The run, as `tidemark runs` knows it, or the request that is stuck or parked, as `tidemark remote` does; null where it was found out without one
   * (stale, because none came).
   */
  readonly run: string | null;
  /** In one sentence. */
  readonly title: string;
  /** Why probably, in one sentence; null where nothing is known. */
  readonly cause: string | null;
  /** The next command to run. */
  readonly next: string;
}

const titles: Readonly<Record<Event, (pipeline: string, state: Health) => string>> = {
  failed: (pipeline) => `${pipeline} failed`,
  partly_failed: (pipeline) => `${pipeline} is partly failed: some streams are not complete`,
  needs_attention: (pipeline) =>
    `${pipeline} needs a look: more rows would have been deleted than is believable`,
  stale: (pipeline) => `${pipeline} is stale: its last complete run is older than promised`,
  stuck: (pipeline) => `${pipeline} is stuck: its run makes no progress`,
  recovered: (pipeline) => `${pipeline} is well again`,
  reminder: (pipeline, state) => `${pipeline} is still ${state.replace('_', ' ')}`,
};

const commands: Readonly<Record<Health, (pipeline: string, which: Which | null) => string>> = {
  ok: () => 'tidemark status',
  failed: (pipeline, which) => (which === null ? 'tidemark runs' : showing(pipeline, which)),
  partly_failed: (pipeline, which) => (which === null ? 'tidemark streams' : showing(pipeline, which)),
  needs_attention: (pipeline, which) => (which === null ? 'tidemark status' : showing(pipeline, which)),
  stale: (pipeline) => `tidemark sync ${pipeline}`,
  stuck: (pipeline, which) => (which === null ? 'tidemark status' : showing(pipeline, which)),
};

const showing = (pipeline: string, which: Which): string =>
  'run' in which ? `tidemark runs ${which.run}` : `tidemark remote log ${pipeline} ${which.request}`;

const idOf = (which: Which): string => ('run' in which ? which.run : which.request);

/** The message of a change from `before` to `state`. */
export function messageOf(facts: {
  readonly pipeline: string;
  readonly state: Health;
  readonly before: Health;
  readonly since: Date;
  readonly which: Which | null;
  readonly cause: string | null;
  readonly reminder?: boolean;
}): Message {
  const { pipeline, state, before, since, which, cause, reminder } = facts;
  const event: Event = reminder ? 'reminder' : state === 'ok' ? 'recovered' : state;
  return {
    event,
    pipeline,
    state,
    before,
    since: since.toISOString(),
    run: which && idOf(which),
    title: titles[event](pipeline, state),
    cause,
    next: commands[state](pipeline, which),
  };
}
