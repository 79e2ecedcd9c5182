/** Which DAGs there are, as the pipeline files and the configuration have it. */

import { Misconfigured } from '../core/errors.ts';

import { type Ask, NotFound } from './run-request.ts';

/** A thing that a DAG does at its times. */
export interface Timed {
  readonly does: 'sync' | 'full' | 'reconcile';
  readonly cron: string;
  readonly timeZone: string;
  /** Whether it is started by itself; else `nightly` does it when it is due then. */
  readonly starts: boolean;
}

export interface KnownDag {
  readonly name: string;
  readonly about: string;
  readonly configured: boolean;
  /** What would configure it. */
  readonly needs: string;
  readonly timed: readonly Timed[];
  /** Names that a run may be restricted to; empty: it takes none. */
  readonly streams: readonly string[];
  /** False where nothing of it has a reconciliation. */
  readonly hasReconcile?: boolean;
  /** The pipelines that it writes to: itself, or for `nightly` every configured one. */
  readonly parts: readonly string[];
}

export interface Catalogue {
  readonly dags: readonly KnownDag[];
}

/** Throws NotFound. The name is not repeated: it may be anything. */
export function dagOf({ dags }: Catalogue, name: string): KnownDag {
  const found = dags.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw new NotFound(`there is no such DAG; there are ${dags.map((each) => each.name).join(', ')}`);
}

/** Throws NotFound, or Misconfigured with what is wrong with the ask. */
export function checkAsk(catalogue: Catalogue, ask: Ask): void {
  const dag = dagOf(catalogue, ask.pipeline);
  if (!dag.configured) throw new Misconfigured(`${dag.name} is not configured here: it needs ${dag.needs}`);
  const { window, streams = [], does } = ask;
  if (does === 'backfill' && window === undefined) throw new Misconfigured('a backfill needs FROM and TO');
  if (does !== 'backfill' && window !== undefined)
    throw new Misconfigured(`FROM and TO go with a backfill, not with ${does}`);
  if (window !== undefined && !(window.from < window.to))
    throw new Misconfigured(
      'FROM is not before TO: the window is half open, [FROM, TO), and must not be empty',
    );
  if (window !== undefined && window.from > new Date())
    throw new Misconfigured('FROM lies in the future: there is nothing to read yet');
  if (does === 'reconcile' && dag.hasReconcile === false)
    throw new Misconfigured(`there is no reconciliation of ${dag.name}`);
  if (streams.length > 0 && dag.streams.length === 0)
    throw new Misconfigured(`${dag.name} takes no STREAMS: it runs everything that is configured`);
  const unknown = streams.find((name) => !dag.streams.includes(name));
  if (unknown === undefined) return;
  const named = JSON.stringify(unknown.slice(0, 40));
  throw new Misconfigured(`STREAMS: ${dag.name} has no stream ${named}; it has ${dag.streams.join(', ')}`);
}
