/** Messages about the state of a pipeline: what changed, since when, the probable cause, and the next command. */

/** The state of a pipeline. */
export type Health = 'ok' | 'failed' | 'partly_failed' | 'needs_attention' | 'stale' | 'stuck';

/** What a message is about. */
export type Event = Exclude<Health, 'ok'> | 'recovered' | 'reminder';

/** A run by its number, for `tidemark runs`, or a request by its id, for `tidemark remote`; an id may be a number, too. */
export type RunRef = { readonly run: string } | { readonly request: string };

/** One message; plain values, no secret. Instants are ISO 8601 UTC. */
export interface Message {
  readonly event: Event;
  readonly pipeline: string;
  readonly state: Health;
  readonly before: Health;
  readonly since: string;
  /** The number of the run, or the id of the request; null where there is none (stale, because no run came). */
  readonly run: string | null;
  /** In one sentence. */
  readonly title: string;
  /** The probable cause, in one sentence; null where none is known. */
  readonly cause: string | null;
  /** The next command to run. */
  readonly next: string;
}

const titles: Readonly<Record<Event, string>> = {
  failed: 'failed',
  partly_failed: 'is partly failed: some streams are not complete',
  needs_attention: 'needs a look: the deletion guard held, and nothing was deleted',
  stale: 'is stale: its last complete run is older than promised',
  stuck: 'is stuck: its run makes no progress',
  recovered: 'is well again',
  reminder: 'is still',
};

/** The next command where no run is known. */
const commands: Readonly<Record<Health, string>> = {
  ok: 'tidemark status',
  failed: 'tidemark runs',
  partly_failed: 'tidemark streams',
  needs_attention: 'tidemark status',
  stale: 'tidemark sync',
  stuck: 'tidemark status',
};

const nextCommand = (pipeline: string, state: Health, ref: RunRef | null): string => {
  if (state === 'stale') return `${commands.stale} ${pipeline}`;
  if (state === 'ok' || ref === null) return commands[state];
  return 'run' in ref ? `tidemark runs ${ref.run}` : `tidemark remote log ${pipeline} ${ref.request}`;
};

/** The message of a change from `before` to `state`. */
export function messageOf(facts: {
  readonly pipeline: string;
  readonly state: Health;
  readonly before: Health;
  readonly since: Date;
  readonly which: RunRef | null;
  readonly cause: string | null;
  readonly isReminder: boolean;
}): Message {
  const { pipeline, state, before, since, which, cause, isReminder } = facts;
  const event: Event = isReminder ? 'reminder' : state === 'ok' ? 'recovered' : state;
  const still = isReminder ? ` ${state.replace('_', ' ')}` : '';
  return {
    ...{ event, pipeline, state, before, cause, since: since.toISOString() },
    run: which && ('run' in which ? which.run : which.request),
    title: `${pipeline} ${titles[event]}${still}`,
    next: nextCommand(pipeline, state, which),
  };
}
