import type { Clock } from './clock.ts';
import type { Fault } from './faults.ts';

/** One request as it arrived, and what became of it. */
export interface LoggedRequest {
  /** 1, 2, 3 … in the order of arrival. */
  readonly number: number;
  /** The simulator's clock. */
  readonly at: Date;
  readonly method: string;
  readonly path: string;
  /** The route with its placeholders, e.g. `/rest/agile/1.0/sprint/{sprintId}/issue`; the path itself where there is none. */
  readonly endpoint: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON body; the text where it is no JSON; undefined without a body. */
  readonly body: unknown;
  /** Names of the faults that touched it. */
  readonly faults: readonly string[];
  /** The status that was answered; undefined if none was. */
  readonly status: number | undefined;
  /** Bytes of the answer's body as made by the routes. */
  readonly bytes: number;
}

/** Which requests a rule is for. All that is given must fit. */
export interface When {
  /** The route as written in `LoggedRequest.endpoint`; `{id}` and other placeholder names are all the same. */
  readonly endpoint?: string;
  readonly method?: string;
  /** The first fitting request that the rule acts on; 1 is the next one. */
  readonly nth?: number;
  /** On how many fitting requests it acts; default 1, Infinity for all. */
  readonly times?: number;
  readonly match?: (request: LoggedRequest) => boolean;
}

/** Something that happens at the source just before a request is answered. */
export type Mutation<S> = (scene: {
  readonly state: S;
  readonly clock: Clock;
  readonly request: LoggedRequest;
}) => void;

/** A rule of the script; `fired` counts the requests it acted on. */
export interface Rule {
  readonly fired: number;
  /** Takes the rule out of the script. */
  cancel(): void;
}

/** One act of the script. */
export interface Fired {
  /** The fault's name, or `mutation`. */
  readonly name: string;
  /** Number of the request. */
  readonly request: number;
}

export interface Script<S> {
  /** Adds a rule. A bare number is the number of the request since the start of the simulator. */
  at(when: number | When, ...actions: readonly (Fault | Mutation<S>)[]): Rule;
  /** Everything that has happened by the script, oldest first. A test whose fault is not in here has proved nothing. */
  readonly fired: readonly Fired[];
  /** Takes all rules out; what has fired stays known. */
  clear(): void;
}

interface Entry<S> {
  readonly when: When;
  readonly number: number | undefined;
  readonly actions: readonly (Fault | Mutation<S>)[];
  matched: number;
  fired: number;
}

/** An answer can be replaced once and sent once: a second fault that would do so has not happened. */
const excluded = (fault: Fault, before: readonly Fault[]): boolean =>
  before.some(
    (one) =>
      (one.send !== undefined && fault.send !== undefined) ||
      (one.instead !== undefined && fault.instead !== undefined),
  );

const plain = (endpoint: string): string => endpoint.replaceAll(/\{[^}]*\}/g, '{}');

/** The script and the function by which the server plays it: mutations are done at once, the faults are given back. */
export const createScript = <S>(
  state: S,
  clock: Clock,
): { readonly script: Script<S>; readonly play: (request: LoggedRequest) => readonly Fault[] } => {
  let entries: readonly Entry<S>[] = [];
  const fired: Fired[] = [];

  const fits = (entry: Entry<S>, request: LoggedRequest): boolean => {
    const { when } = entry;
    if (entry.number !== undefined) return entry.number === request.number;
    if (when.endpoint !== undefined && plain(when.endpoint) !== plain(request.endpoint)) return false;
    if (when.method !== undefined && when.method !== request.method) return false;
    if (when.match !== undefined && !when.match(request)) return false;
    entry.matched += 1;
    const first = when.nth ?? 1;
    return entry.matched >= first && entry.matched < first + (when.times ?? 1);
  };

  const play = (request: LoggedRequest): readonly Fault[] => {
    const faults: Fault[] = [];
    for (const entry of entries) {
      if (!fits(entry, request)) continue;
      const possible = entry.actions.filter((one) => typeof one === 'function' || !excluded(one, faults));
      if (possible.length > 0) entry.fired += 1;
      for (const action of possible) {
        if (typeof action === 'function') action({ state, clock, request });
        else faults.push(action);
        fired.push({
          name: typeof action === 'function' ? 'mutation' : action.name,
          request: request.number,
        });
      }
    }
    return faults;
  };

  const script: Script<S> = {
    at: (when, ...actions) => {
      const number = typeof when === 'number' ? when : undefined;
      const entry: Entry<S> = {
        when: typeof when === 'number' ? {} : when,
        number,
        actions,
        matched: 0,
        fired: 0,
      };
      entries = [...entries, entry];
      return {
        get fired() {
          return entry.fired;
        },
        cancel: () => {
          entries = entries.filter((one) => one !== entry);
        },
      };
    },
    fired,
    clear: () => {
      entries = [];
    },
  };
  return { script, play };
};
