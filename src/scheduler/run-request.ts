/** A request to run a pipeline: what is asked, what is answered, and why an ask is refused. */

import { Misconfigured, withCode } from '../core/errors.ts';
import type { RunStatus } from '../core/run.ts';
import type { Ask } from '../runs/ask.ts';

/** A thing that a DAG does at its times. */
export interface Timed {
  readonly does: 'sync' | 'full' | 'reconcile';
  readonly cron: string;
  readonly timeZone: string;
  /** Whether it is started by itself; else `nightly` does it when it is due then. */
  readonly starts: boolean;
}

/** A DAG, as the pipeline files and the configuration have it. */
export interface KnownDag {
  readonly name: string;
  readonly about: string;
  readonly configured: boolean;
  /** What would configure it. */
  readonly needs: string;
  readonly timed: readonly Timed[];
  /** Where its source is read; pipelines of the same site share its limits. */
  readonly site?: string | undefined;
  /** Names that a run may be restricted to; empty: it takes none. */
  readonly streams: readonly string[];
  /** False where nothing of it has a reconciliation. */
  readonly hasReconcile: boolean;
}

/** Which DAGs there are. */
export type DagCatalogue = readonly KnownDag[];

/** One request from the moment it was queued to its end; a run of the command line has the same shape. */
export interface DagRun {
  /** Given by the caller or made here; unique over all pipelines. */
  readonly runId: string;
  readonly pipeline: string;
  /** `replay` is a run of the command line only. */
  readonly does: Ask['does'] | 'replay';
  readonly trigger: 'schedule' | 'api' | 'manual';
  /** queued, interrupted and lost wait for a worker; stuck runs without progress. */
  readonly status: RunStatus | 'queued' | 'stopped' | 'stuck';
  /** As asked, e.g. `FROM=2024-01-01 TO=2024-02-01`. */
  readonly params: string;
  readonly queuedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** Rows of `ops.runs` it became; several for `nightly`, after a worker was lost, and after a retry. */
  readonly runs: readonly string[];
  /** The night that it is a part of. */
  readonly partOf: string | null;
  /** Of a night: how many of its parts have each status. */
  readonly parts: Readonly<Record<string, number>> | null;
  readonly received: number;
  readonly changed: number;
  readonly rejected: number;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** A stop was requested and it has not ended yet. */
  readonly stopping: boolean;
  /** It failed of a passing cause and is retried then. */
  readonly againAt: Date | null;
  /** The request that it repeats, and the newest one that repeats it. */
  readonly retryOf: string | null;
  readonly retriedBy: string | null;
}

/** A stream of a running request, or a slice of it that is being read. */
export interface Step {
  readonly pipeline: string;
  readonly stream: string;
  readonly slice: string | null;
  readonly status: string;
  readonly startedAt: Date | null;
  readonly received: number;
  readonly expected: number | null;
}

/** One line of a request's log. `seq` grows; a reader continues after the last one it saw. */
export interface LogLine {
  readonly seq: number;
  readonly at: Date;
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
}

/** As the API's `params` say it: `FROM=2024-01-01 TO=2024-02-01 STREAMS=issues`. */
export function paramsOf({ does, streams = [], window }: Ask): string {
  const day = (instant: Date): string => instant.toISOString().replace('T00:00:00.000Z', '');
  const parts = [
    window !== undefined && `FROM=${day(window.from)} TO=${day(window.to)}`,
    streams.length > 0 && `STREAMS=${streams.join(',')}`,
    does === 'full' && 'FULL=true',
    does === 'reconcile' && 'DOES=reconcile',
  ];
  return parts.filter((part) => part !== false).join(' ');
}

/** What a run of the command line is called among requests. */
export const manualId = (runId: string): string => `manual-${runId}`;

/** Run ids that callers may give. Those of the command line's runs are not among them. */
export const runIds = /^(?!manual-)[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/;

/** Throws NotFound. The name is not repeated: it may be anything. */
export function dagOf(catalogue: DagCatalogue, name: string): KnownDag {
  const found = catalogue.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw new NotFound(`there is no such DAG; there are ${catalogue.map((each) => each.name).join(', ')}`);
}

/** The ask, normalized. Throws NotFound, or Misconfigured with what is wrong with it. */
export function checked(catalogue: DagCatalogue, ask: Ask): Ask {
  const { pipeline, does, window, streams = [] } = ask;
  const dag = dagOf(catalogue, pipeline);
  const unknown = streams.find((name) => !dag.streams.includes(name));
  const problems = [
    !dag.configured && `${dag.name} is not configured here: it needs ${dag.needs}`,
    does === 'backfill' && !window && 'a backfill needs FROM and TO',
    does !== 'backfill' && window && `FROM and TO go with a backfill, not with ${does}`,
    window && window.from >= window.to && 'FROM is not before TO: the window [FROM, TO) is half open',
    window && window.from > new Date() && 'FROM lies in the future: there is nothing to read yet',
    does === 'reconcile' && !dag.hasReconcile && `there is no reconciliation of ${dag.name}`,
    unknown !== undefined && noStream(dag, unknown),
  ];
  const first = problems.find((each) => typeof each === 'string');
  if (first !== undefined) throw new Misconfigured(first);
  const { streams: _, ...all } = ask;
  // The order of streams means nothing, and no name means all.
  return streams.length === 0 ? all : { ...all, streams: [...new Set(streams)].sort() };
}

const noStream = ({ name, streams }: KnownDag, unknown: string): string =>
  streams.length === 0
    ? `${name} takes no STREAMS: it runs everything that is configured`
    : `STREAMS: ${name} has no stream ${JSON.stringify(unknown.slice(0, 40))}; it has ${streams.join(', ')}`;

/** No pipeline, or no run of it, of that name. HTTP 404. Messages of these errors are fit for an answer of the API. */
export class NotFound extends withCode('not_found') {}

/** The state of a run does not allow what was asked, or a run id is taken. HTTP 409. `active`: the run in the way of a start. */
export class Conflict extends withCode('conflict') {
  readonly active: DagRun | undefined;
  constructor(message: string, active?: DagRun) {
    super(message);
    this.active = active;
  }
}
